//! `shoal check`: whether drives have the capacity that they claim.

mod document;
mod kept;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::ProgressBar;
use shoal_check::{Cost, Depth, Report, STEP_BYTES_MAX, Verdict, Watch, WritePlan, plan};
use shoal_drive::Access;
use shoal_inventory::{SimulatedDrives, open_drives};
use shoal_labbook::Recorder;
use shoal_text::format_size;
use shoal_volume::{BufferPlan, Contents, DriveId, World};

use crate::args::{ArrayArgs, CheckArgs, Cli};
use crate::attaching::check_overwritable;
use crate::exit::Failure;
use crate::host::memory_available_bytes;
use crate::labbook;
use crate::output;
use crate::progress::{bytes_bar, interrupt_flag};
use crate::setup::join;

pub(crate) use document::CheckDocument;
use document::CheckedDocument;

/// What a slow stick moves in a second, and takes for a place far from the last, to say beforehand
/// how long it may take.
const SLOW_BYTES_PER_S: u64 = 10_000_000;
const SLOW_JUMP_NS: u64 = 120_000_000;

/// Checks one drive after the other. The exit status is 0 if all are genuine.
pub(crate) fn run(cli: &Cli, args: &CheckArgs) -> Result<(), Failure> {
    let mut recorder = labbook::begin(&args.keep, "check");
    let checker =
        Checker { cli, args, seed: args.seed.unwrap_or_else(crate::seed::fresh), signalled: interrupt_flag()? };
    let checked = checker.check_all(&mut recorder);
    labbook::end(recorder, &checked);
    let document = CheckDocument { seed: checker.seed, drives: checked? };
    output::document(cli, &document, document::text)?;
    let are_genuine = document.drives.iter().all(|checked| checked.report.verdict == Verdict::Genuine);
    if are_genuine { Ok(()) } else { Err(Failure::Verdict(1)) }
}

struct Checker<'a> {
    cli: &'a Cli,
    args: &'a CheckArgs,
    seed: u64,
    signalled: Arc<AtomicBool>,
}

impl Checker<'_> {
    fn check_all(&self, recorder: &mut Recorder<'_>) -> Result<Vec<CheckedDocument>, Failure> {
        match SimulatedDrives::named(&self.args.drives)? {
            Some(simulated) => self.check_simulated(&simulated, recorder),
            None => self.check_real(recorder),
        }
    }

    fn check_real(&self, recorder: &mut Recorder<'_>) -> Result<Vec<CheckedDocument>, Failure> {
        let paths = &self.args.drives;
        // All of them before any is written to. Each stays open, so that nobody else takes it
        // meanwhile.
        let drives = if self.args.write {
            check_overwritable(paths, &ArrayArgs::default(), self.args.force)?.open()?
        } else {
            open_drives(paths, Access::Read)?
        };
        let mut checked = Vec::new();
        for drive in drives {
            let opened = join(self.cli, vec![drive], 1, STEP_BYTES_MAX)?;
            let (mut world, id) = (opened.world, opened.drives[0]);
            let report = self.check(&mut world, id)?;
            let name = world.facts(id).name;
            let identity = labbook::identities(&world, &[id]).pop();
            recorder.add(&kept::checked(&name, identity, None, &report));
            checked.push(CheckedDocument { drive: name, simulated: false, report });
        }
        Ok(checked)
    }

    fn check_simulated(
        &self,
        simulated: &SimulatedDrives,
        recorder: &mut Recorder<'_>,
    ) -> Result<Vec<CheckedDocument>, Failure> {
        if self.args.full {
            // What is written is kept in memory; the probe alone keeps little.
            simulated.check_memory(memory_available_bytes().unwrap_or(u64::MAX))?;
        }
        let buffers = BufferPlan::for_drives(1, 1, STEP_BYTES_MAX);
        let mut checked = Vec::new();
        for drive in (0..).take(simulated.count()) {
            let opened = simulated.open(&[drive], Contents::Kept, buffers, self.seed).map_err(Failure::usage)?;
            let (mut world, id) = (opened.world, opened.drives[0]);
            let report = self.check(&mut world, id)?;
            let name = world.facts(id).name;
            recorder.add(&kept::checked(&name, None, Some(simulated.notation()), &report));
            checked.push(CheckedDocument { drive: name, simulated: true, report });
        }
        Ok(checked)
    }

    fn check(&self, world: &mut impl World, drive: DriveId) -> Result<Report, Failure> {
        let facts = world.facts(drive);
        let plan = plan(facts.size_bytes, facts.logical_block_bytes, self.args.budget, self.seed)
            .map_err(|error| Failure::Usage(format!("{}: {error}", facts.name)))?;
        let depth = match (self.args.write, self.args.full) {
            (false, _) => Depth::Look,
            (true, false) => Depth::Probe,
            (true, true) => Depth::Full,
        };
        if !self.cli.quiet {
            output::warn(&format!("{}: {}", facts.name, cost_text(&plan, depth)));
        }
        let bar = bytes_bar(self.cli, 0, "check");
        let mut watch = Screen { bar, signalled: &self.signalled };
        let report = shoal_check::check(world, drive, &plan, depth, &mut watch).map_err(Failure::failed)?;
        watch.bar.finish_and_clear();
        Ok(report)
    }
}

/// What is going to happen, before it does.
fn cost_text(plan: &WritePlan, depth: Depth) -> String {
    let cost: Cost = if depth == Depth::Look { plan.look_cost() } else { plan.cost(depth == Depth::Full) };
    let moved_bytes = u128::from(cost.read_bytes) + u128::from(cost.written_bytes);
    let slow_s = moved_bytes / u128::from(SLOW_BYTES_PER_S) + u128::from(cost.jumps * SLOW_JUMP_NS / 1_000_000_000);
    let written = match cost.written_bytes {
        0 => "writes nothing".to_owned(),
        bytes => {
            let (bytes, most) = (format_size(bytes), format_size(cost.written_bytes_max));
            format!("writes {bytes} over what is there, and at most {most} if it finds something")
        }
    };
    let read = format_size(cost.read_bytes);
    format!("{written}, and reads {read}; a slow stick takes about {} min for that", slow_s.div_ceil(60))
}

/// A bar, and an ear for Ctrl-C.
struct Screen<'a> {
    bar: ProgressBar,
    signalled: &'a AtomicBool,
}

impl Watch for Screen<'_> {
    fn goes_on(&mut self, done_bytes: u64, total_bytes: u64) -> bool {
        self.bar.set_length(total_bytes);
        self.bar.set_position(done_bytes);
        !self.signalled.load(Ordering::Relaxed)
    }
}
