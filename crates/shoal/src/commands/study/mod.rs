//! `shoal study`

mod factors;
mod kept;
mod text;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use indicatif::HumanDuration;
use shoal_bench::Measurement;
use shoal_inventory::SimulatedDrives;
use shoal_labbook::DriveIdentity;
use shoal_study::bay::Bay;
use shoal_study::model::{FaultRecord, StudyReport};
use shoal_study::plan::{Cost, Factors, StudyPlan};
use shoal_study::run::{FaultStory, FaultWatch, Heading, Observations, Study, Subject, Watch};
use shoal_text::{format_count, format_size};
use shoal_volume::OpenOptions;

use crate::args::{ArrayArgs, Cli, EngineArg, StudyArgs};
use crate::attaching::check_overwritable;
use crate::bay::PathBay;
use crate::documents::{PlanDocument, PlannedDriveDocument};
use crate::exit::Failure;
use crate::kernel_bay::KernelBay;
use crate::labbook;
use crate::progress::{interrupt_flag, study_bar};
use crate::report::ReportFile;
use crate::setup::NO_KERNEL_FOR_SIMULATED;
use crate::simulated::{self, SimulatedBay};
use crate::{host, output};
use kept::Keeper;

/// What drives are taken to read and write before one has been measured: a good USB 2.0 stick.
const ASSUMED_BYTES_PER_S: u64 = 30_000_000;

/// The least of each drive that has room for the story of a member's failure and rebuild.
const STORY_BYTES_MIN: u64 = 16 << 20;

/// Measures drives and arrays of them, and says which to build.
pub(crate) fn run(cli: &Cli, args: &StudyArgs) -> Result<(), Failure> {
    let by_kernel = args.engine.engine == EngineArg::Kernel;
    if let Some(drives) = SimulatedDrives::named(&args.drives)? {
        if by_kernel {
            return Err(Failure::usage(NO_KERNEL_FOR_SIMULATED));
        }
        let factors = factors::from_args(&args.plan, &simulated::descriptions(&drives))?;
        let bay = SimulatedBay::new(drives, factors.seed);
        let identities = bay.drives().iter().map(|drive| Some(labbook::simulated(&drive.path))).collect();
        return run_on(cli, args, &bay, (factors, identities));
    }
    let bay = PathBay::new(cli.io_engine(), &args.drives)?;
    let factors = factors::from_args(&args.plan, bay.drives())?;
    // What makes no study is told before what the drives hold.
    StudyPlan::new(factors.clone(), bay.drives()).map_err(Failure::usage)?;
    check_overwritable(&args.drives, &ArrayArgs::default(), args.force)?;
    let identities = bay.identities().to_vec();
    if by_kernel {
        return run_on(cli, args, &KernelBay::new(bay, cli.setup()?)?, (factors, identities));
    }
    run_on(cli, args, &bay, (factors, identities))
}

fn run_on<B: Bay>(
    cli: &Cli,
    args: &StudyArgs,
    bay: &B,
    (factors, drives): (Factors, Vec<Option<DriveIdentity>>),
) -> Result<(), Failure> {
    let plan = StudyPlan::new(factors, bay.drives()).map_err(Failure::usage)?;
    let cost = cost(&plan, bay, ASSUMED_BYTES_PER_S, !args.no_fault);
    announce(&plan, bay, ASSUMED_BYTES_PER_S, &cost);
    if args.dry_run {
        return output::document(cli, &plan_document(&plan, bay, cost), |_| String::new());
    }
    let interrupt = interrupt_flag()?;
    let page = args.report.as_deref().map(ReportFile::open).transpose()?;
    let report = keep(cli, args, &plan, bay, drives, &interrupt)?;
    if let Some(page) = page {
        page.write(&report)?;
    }
    output::document(cli, &report, text::text)?;
    if report.complete {
        return Ok(());
    }
    if interrupt.load(Ordering::Relaxed) {
        return Err(labbook::stopped());
    }
    Err(Failure::Shown("the study is not complete: what was measured is above, with the reason".to_owned()))
}

/// Carries a plan out, and keeps what is measured.
fn keep<B: Bay>(
    cli: &Cli,
    args: &StudyArgs,
    plan: &StudyPlan,
    bay: &B,
    drives: Vec<Option<DriveIdentity>>,
    interrupt: &AtomicBool,
) -> Result<StudyReport, Failure> {
    let mut keeper = Keeper { recorder: labbook::begin(&args.keep, "study"), plan, drives };
    let mut measured = |subject: Subject, measurements: &[Measurement]| keeper.keep(subject, measurements);
    let carried = (ASSUMED_BYTES_PER_S, !args.no_fault);
    let report = carry_out(cli, plan, bay, carried, interrupt, &mut measured);
    report.iter().filter_map(|report| report.fault.as_ref()).for_each(|fault| keeper.keep_fault(fault));
    match &report {
        Ok(report) if !report.complete && interrupt.load(Ordering::Relaxed) => {
            labbook::end(keeper.recorder, &Err::<(), _>(labbook::stopped()));
        }
        _ => labbook::end(keeper.recorder, &report),
    }
    report
}

/// What a plan costs, with a member's failure and rebuild if that follows.
pub(crate) fn cost<B: Bay>(plan: &StudyPlan, bay: &B, bytes_per_s: u64, with_fault: bool) -> Cost {
    let cost = Cost::estimate(plan, bay.drives().len(), bytes_per_s);
    if with_fault { cost.with_fault_story(story_bytes(plan, bay), bytes_per_s) } else { cost }
}

/// So much of each drive is written when a member fails and is rebuilt.
fn story_bytes<B: Bay>(plan: &StudyPlan, bay: &B) -> u64 {
    let limit = plan.factors.drive_bytes_limit;
    let share = |kept_bytes: u64| (kept_bytes / bay.drives().len().max(1) as u64).max(STORY_BYTES_MIN);
    bay.kept_bytes_max().map_or(limit, |kept_bytes| limit.min(share(kept_bytes)))
}

/// Tells what will be done, and what it costs, on standard error.
pub(crate) fn announce<B: Bay>(plan: &StudyPlan, bay: &B, bytes_per_s: u64, cost: &Cost) {
    let [kind, time] = if bay.simulated().is_some() { ["simulated ", " of virtual time"] } else { ["", ""] };
    output::warn(&format!(
        "{}, {}, {}, seed {}: about {}{time} if the drives do {} MB/s, and about {} written to each then; faster drives are written more",
        format_count(bay.drives().len(), &format!("{kind}drive")),
        format_count(plan.arrays.len(), "array"),
        format_count(plan.steps.len(), "step"),
        plan.factors.seed,
        HumanDuration(std::time::Duration::from_nanos(cost.duration_ns)),
        bytes_per_s / 1_000_000,
        format_size(cost.written_bytes.iter().copied().max().unwrap_or(0)),
    ));
    for why in &plan.left_out {
        output::warn(&format!("left out: {why}"));
    }
}

/// What [`announce`] tells, as a document.
fn plan_document<B: Bay>(plan: &StudyPlan, bay: &B, cost: Cost) -> PlanDocument {
    PlanDocument {
        seed: plan.factors.seed,
        arrays: u32::try_from(plan.arrays.len()).unwrap_or(u32::MAX),
        steps: u32::try_from(plan.steps.len()).unwrap_or(u32::MAX),
        left_out: plan.left_out.clone(),
        assumed_bytes_per_s: ASSUMED_BYTES_PER_S,
        duration_ns: cost.duration_ns,
        drives: bay
            .drives()
            .iter()
            .zip(cost.written_bytes)
            .map(|(drive, written_bytes)| PlannedDriveDocument { drive: drive.path.clone(), written_bytes })
            .collect(),
    }
}

/// Carries a plan out, if asked for lets a member fail and be rebuilt afterwards, and concludes.
pub(crate) fn carry_out<B: Bay>(
    cli: &Cli,
    plan: &StudyPlan,
    bay: &B,
    (bytes_per_s, with_fault): (u64, bool),
    interrupt: &AtomicBool,
    measured: &mut dyn FnMut(Subject, &[Measurement]),
) -> Result<StudyReport, Failure> {
    let heading = heading(cli, bay)?;
    let bar = study_bar(cli);
    let mut tell = |progress: &shoal_study::run::StudyProgress| {
        bar.set_position(u64::from(progress.done_per_mille));
        let left = HumanDuration(std::time::Duration::from_nanos(progress.left_ns));
        bar.set_message(format!("{left} left: {}", progress.what));
    };
    let open = cli.setup()?.open_options(true, false);
    let study = Study { plan, bay, open, bytes_per_s };
    let start = Instant::now();
    let now_ns = || u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let mut observations = study.run(&mut Watch { interrupt, progress: &mut tell, measured, now_ns: &now_ns });
    let mut fault = None;
    if with_fault && !interrupt.load(Ordering::Relaxed) {
        let mut tell = |what: &'static str, done_per_mille: u16| {
            bar.set_position(u64::from(done_per_mille));
            bar.set_message(what);
        };
        let mut watch = FaultWatch { interrupt, progress: &mut tell };
        fault = tell_story(plan, bay, &open, &mut observations, &mut watch)?;
    }
    bar.finish_and_clear();
    Ok(observations.into_report(heading, plan, bay, fault))
}

/// Lets a member fail and be rebuilt, if there are drives enough for that.
fn tell_story<B: Bay>(
    plan: &StudyPlan,
    bay: &B,
    open: &OpenOptions,
    observations: &mut Observations,
    watch: &mut FaultWatch<'_>,
) -> Result<Option<FaultRecord>, Failure> {
    let drive_count = u32::try_from(bay.drives().len()).map_err(Failure::usage)?;
    let used_bytes = story_bytes(plan, bay);
    let story = FaultStory::suited_to(drive_count, used_bytes, plan.factors.seed).map_err(Failure::failed)?;
    let Some(story) = story else { return Ok(None) };
    if used_bytes < plan.factors.drive_bytes_limit {
        observations.warnings.push(format!(
            "a member's failure and rebuild uses {} of each drive: what is written to simulated drives is kept in memory",
            format_size(used_bytes)
        ));
    }
    story.run(bay, open, watch).or_else(|error| {
        observations.complete = false;
        observations.warnings.push(format!("a member's failure and rebuild: {error}"));
        Ok(None)
    })
}

fn heading<B: Bay>(cli: &Cli, bay: &B) -> Result<Heading, Failure> {
    let is_simulated = bay.simulated().is_some();
    Ok(host::heading(if is_simulated { simulated::host() } else { host::describe(host::io_engine_name(cli)?) }))
}

/// The study as text: tables, ranking, recommendation.
pub(crate) fn study_text(report: &StudyReport) -> String {
    text::text(report)
}
