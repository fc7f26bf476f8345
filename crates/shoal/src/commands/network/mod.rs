//! `shoal network`

mod document;
mod kept;
mod named;
mod published;
mod small;
mod target;
mod temporary_array;
mod testbed;
mod text;

use std::time::{Duration, Instant};

use shoal_network::{Findings, LinkSpeed, NfsKind, Options, Protocol, TransferPlan};

pub(crate) use document::{NetworkDocument, NetworkPlanDocument};

use crate::args::{Cli, NetworkArgs, Preset};
use crate::exit::Failure;
use crate::host;
use crate::labbook;
use crate::output;
use crate::progress::count_bar;
use crate::report::ReportFile;
use document::PublishedDocument;
use named::Named;
use small::SmallDocument;
use target::Target;
use testbed::Testbed;

/// What is transferred unless told: two seconds of a gigabit link.
const SIZE_BYTES: u64 = 256 << 20;
/// What the study of EIDE disks transferred.
const EIDE_SIZE_BYTES: u64 = 3_280_000_000;
/// How long a link is looked at, each way.
const CALIBRATION: Duration = Duration::from_secs(2);
/// Transfers are whole blocks of any device.
const BLOCK_BYTES: u64 = 4096;

/// Measures an array from another host.
pub(crate) fn run(cli: &Cli, args: &NetworkArgs) -> Result<(), Failure> {
    let named = Named::of(cli, args)?;
    let options = options(args)?;
    let offer = named.offer();
    let plan = shoal_network::plan(&options, offer);
    named.check_room(options.size_bytes)?;
    let has_small = args.preset == Some(Preset::PiZero);
    let small_bytes = if has_small { small::bytes(&named, args.repeat) } else { 0 };
    let document = NetworkPlanDocument::of(named.description(), offer, &options, &plan, small_bytes);
    if args.dry_run {
        return output::document(cli, &document, text::plan_text);
    }
    if let Named::Target(target @ Target::Array { .. }) = &named
        && !args.force
    {
        return Err(Failure::Refused(format!(
            "{}: all that it holds would be lost: --force if nothing on it is needed, or mount it and give the directory",
            target.description()
        )));
    }
    let page = args.report.as_deref().map(ReportFile::open).transpose()?;
    announce(cli, &document);
    let (heading, start) = (host::heading(host::describe(host::io_engine_name(cli)?)), Instant::now());
    let (findings, small) = keep(cli, args, named, &options, plan)?;
    let published = args.preset.map(|preset| PublishedDocument {
        study: preset.study().to_owned(),
        figures: published::beside(preset, &findings, &small),
    });
    let elapsed_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let document = NetworkDocument::of(heading, elapsed_ns, findings, small, published);
    if let Some(page) = page {
        page.write(&document)?;
    }
    output::document(cli, &document, text::text)?;
    match document.findings.rows.len() {
        0 => Err(Failure::Shown("nothing could be measured: the reasons are above".to_owned())),
        _ => Ok(()),
    }
}

/// Measures what was named, and keeps what was found.
fn keep(
    cli: &Cli,
    args: &NetworkArgs,
    named: Named,
    options: &Options,
    plan: TransferPlan,
) -> Result<(Findings, Vec<SmallDocument>), Failure> {
    let mut recorder = labbook::begin(&args.keep, "network");
    let measured = measure(cli, args, named, options, plan);
    if let Ok((findings, _)) = &measured {
        recorder.add(&kept::target(findings));
    }
    labbook::end(recorder, &measured);
    measured
}

/// Measures what was named; an array that is made for that is gone afterwards.
fn measure(
    cli: &Cli,
    args: &NetworkArgs,
    named: Named,
    options: &Options,
    plan: TransferPlan,
) -> Result<(Findings, Vec<SmallDocument>), Failure> {
    let has_small = args.preset == Some(Preset::PiZero);
    let mut small = if has_small { small::measure_drives(cli, &named, args.repeat)? } else { Vec::new() };
    let (_temporary, target) = match named {
        Named::Target(target) => (None, target),
        Named::Drives(drives) => {
            let (temporary, target) = drives.make(cli)?;
            target.check_room(options.size_bytes)?;
            (Some(temporary), target)
        }
    };
    if has_small {
        small.extend(small::measure_served(cli, &target, args.repeat)?);
    }
    Ok((carry_out(cli, &target, options, plan)?, small))
}

/// Sets up the hosts, measures, and takes them away again.
fn carry_out(cli: &Cli, target: &Target, options: &Options, plan: TransferPlan) -> Result<Findings, Failure> {
    let testbed = Testbed::lay(target, options.size_bytes)?;
    let bar = count_bar(cli, plan.steps.len() as u64, "transfers");
    let mut tell = |what: &str, done: usize| {
        bar.set_message(what.to_owned());
        bar.set_position(done as u64);
    };
    let findings = shoal_network::run(&testbed.pair, &testbed.served, testbed.place(), options, plan, &mut tell);
    bar.finish_and_clear();
    findings.map_err(Failure::failed)
}

/// Says on the side what is about to be done.
fn announce(cli: &Cli, plan: &NetworkPlanDocument) {
    if !cli.quiet {
        text::plan_text(plan).lines().for_each(output::warn);
    }
}

/// What is asked for, with what a study did where that is wanted.
fn options(args: &NetworkArgs) -> Result<Options, Failure> {
    let preset = args.preset;
    let speeds = |bits: &[u64]| bits.iter().copied().filter_map(LinkSpeed::of).collect::<Vec<_>>();
    let mut links = match preset {
        _ if !args.link.is_empty() => args.link.clone(),
        Some(Preset::Eide) => speeds(&[1_000_000_000]),
        Some(Preset::PiZero) => speeds(&[100_000_000]),
        None => speeds(&[1_000_000_000, 100_000_000]),
    };
    links.sort_unstable_by(|one, other| other.cmp(one));
    links.dedup();
    let protocols = match preset {
        _ if !args.with.is_empty() => args.with.clone(),
        Some(Preset::Eide) => vec![Protocol::Nfs, Protocol::Ftp],
        Some(Preset::PiZero) => vec![Protocol::Smb],
        None => Protocol::OVER_LINKS.to_vec(),
    };
    let usual = if preset == Some(Preset::Eide) { EIDE_SIZE_BYTES } else { SIZE_BYTES };
    let size_bytes = args.size.unwrap_or(usual).next_multiple_of(BLOCK_BYTES);
    if size_bytes == 0 {
        return Err(Failure::usage("--size 0: a transfer of nothing has no rate"));
    }
    let seed = args.seed.unwrap_or_else(crate::seed::fresh);
    let nfs = NfsKind::of_this_machine();
    Ok(Options { links, protocols, nfs, size_bytes, repeats: args.repeat, calibration: CALIBRATION, seed })
}

impl Preset {
    /// The study's name.
    fn study(self) -> &'static str {
        match self {
            Self::Eide => "eide",
            Self::PiZero => "pi-zero",
        }
    }
}
