//! `shoal profile`: measures a drive, and describes it.

mod document;
mod kept;
mod target;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::ProgressBar;
use shoal_profile::{Cost, Given, Profile, Together, Watch, analyse, cost, measure, plan, together};
use shoal_text::{format_ns, format_size};
use shoal_volume::{DriveId, World};

use crate::args::{Cli, ProfileArgs};
use crate::exit::Failure;
use crate::labbook;
use crate::output;
use crate::progress::{interrupt_flag, per_mille_bar};

pub(crate) use document::ProfileDocument;
use target::Target;

/// Places that are read at random are the same in every profile.
const SEED: u64 = 1;
/// What a slow stick moves, to say beforehand how long it may take.
const SLOW_BYTES_PER_S: u64 = 10_000_000;

/// Measures, analyses, and writes the description.
pub(crate) fn run(cli: &Cli, args: &ProfileArgs) -> Result<(), Failure> {
    if let Some(path) = args.output.as_deref().filter(|path| path.exists() && !args.force) {
        let message = format!("{} is there already: give another name with -o, or use --force", path.display());
        return Err(Failure::Refused(message));
    }
    let target = target::open(cli, args)?;
    let mut recorder = labbook::begin(&args.keep, "profile");
    let measured = match target {
        Target::Real { mut world, drives, given } => {
            let mut kept = kept::drive(&*world, drives[0], None);
            kept.drive = labbook::identities(&*world, &drives[..1]).pop();
            let document = profile(cli, args, &mut *world, &drives, &given);
            document.inspect(|document| recorder.add(&kept::with(kept, document)))
        }
        Target::Simulated { mut world, drives, given, notation } => {
            let kept = kept::drive(&*world, drives[0], Some(&notation));
            let document = profile(cli, args, &mut *world, &drives, &given);
            document.inspect(|document| recorder.add(&kept::with(kept, document)))
        }
    };
    labbook::end(recorder, &measured);
    let document = measured?;
    if let Some(path) = &args.output {
        write_description(path, &document.description, args.force)?;
    }
    output::document(cli, &document, document::text)
}

fn profile(
    cli: &Cli,
    args: &ProfileArgs,
    world: &mut impl World,
    drives: &[DriveId],
    given: &Given,
) -> Result<ProfileDocument, Failure> {
    let name = world.facts(drives[0]).name;
    let probes = plan(given.size_bytes, args.write.then_some(args.bytes), SEED)
        .map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
    let cost = cost(&probes);
    if !cli.quiet {
        output::warn(&format!("{name}: {}", cost_text(cost)));
    }
    let mut watch = Screen { bar: per_mille_bar(cli, "profile"), signalled: interrupt_flag()? };
    let observations = measure(world, drives[0], probes, &mut watch).map_err(Failure::failed)?;
    watch.bar.finish_and_clear();
    let profile = analyse(given, &observations)
        .ok_or_else(|| Failure::Failed(format!("{name}: too little was measured to describe it: run it again")))?;
    let together = at_once(world, drives, &profile)?;
    let file = args.output.as_ref().map(|path| path.display().to_string());
    Ok(ProfileDocument::new(&profile, cost, together, file))
}

fn at_once(world: &mut impl World, drives: &[DriveId], profile: &Profile) -> Result<Option<Together>, Failure> {
    if drives.len() < 2 {
        return Ok(None);
    }
    let models: Vec<_> = drives.iter().map(|&drive| (drive, profile.description.model.clone())).collect();
    together(world, &models).map(Some).map_err(Failure::failed)
}

/// What is going to happen, before it does.
fn cost_text(cost: Cost) -> String {
    let moved_bytes = cost.read_bytes + cost.written_bytes;
    let slow_ns = moved_bytes / (SLOW_BYTES_PER_S / 1_000_000) * 1_000 + cost.steps * 1_000_000 + cost.rest_ns;
    let written = match cost.written_bytes {
        0 => "writes nothing".to_owned(),
        bytes => format!("writes {} over what is there", format_size(bytes)),
    };
    format!(
        "reads {}, {written}, and rests for {}; at 10 MB/s that takes about {} min",
        format_size(cost.read_bytes),
        format_ns(cost.rest_ns),
        slow_ns.div_ceil(60_000_000_000)
    )
}

/// Puts a description into a file that was not there, or may be written over.
fn write_description(path: &Path, text: &str, force: bool) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create(force).truncate(force).create_new(!force);
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))
}

/// A bar, and an ear for Ctrl-C.
struct Screen {
    bar: ProgressBar,
    signalled: Arc<AtomicBool>,
}

impl Watch for Screen {
    fn goes_on(&mut self, done: u64, steps: u64) -> bool {
        self.bar.set_position(done * 1000 / steps.max(1));
        !self.signalled.load(Ordering::Relaxed)
    }
}
