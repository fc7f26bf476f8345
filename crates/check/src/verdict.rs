//! Checks a drive, and says what that means.

use shoal_text::format_size;
use shoal_volume::{DriveId, World};

use crate::access::{Access, CheckError, Seen, Watch};
use crate::full::write_and_read;
use crate::judge::Finding;
use crate::limits::EVIDENCE_MAX;
use crate::look::look;
use crate::plan::WritePlan;
use crate::probe::probe;
use crate::report::{Evidence, Kind, Report, Tally, Verdict};
use crate::stamp::Reading;

const WHOLE_PPM: u32 = 1_000_000;
/// The confidence with which a bound on what is bad is told.
const BOUND_PPM: u32 = 950_000;
/// A sound drive is taken to lose one write in so many without an error, which is worse than any.
const SOUND_WRITES_PER_LOSS: u32 = 1_000;

/// How far a check goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Reads only: what the drive holds is kept.
    Look,
    /// Writes at chosen places. What the drive holds is lost.
    Probe,
    /// Writes and reads all of it; probes it if anything is wrong. What the drive holds is lost.
    Full,
}

/// What is known when all is read.
struct Known {
    finding: Option<Finding>,
    seen: Vec<Seen>,
    tally: Option<Tally>,
    /// What the drive holds repeats after so many bytes, as far as reading tells.
    suspected_repeat_bytes: Option<u64>,
}

/// Checks a drive. Nobody else may have anything in flight in its world; the first
/// [`STEP_BYTES_MAX`](crate::STEP_BYTES_MAX) bytes of the arena are used. A drive that fails is
/// damaged, which is no error; one that goes away is.
pub fn check(
    world: &mut impl World,
    drive: DriveId,
    plan: &WritePlan,
    depth: Depth,
    watch: &mut impl Watch,
) -> Result<Report, CheckError> {
    let began = world.now();
    let is_direct = world.facts(drive).direct;
    let mut access = Access::new(world, drive, plan.block_bytes, watch);
    let known = learn(&mut access, plan, depth)?;
    let mut report = conclude(plan, depth, known, is_direct);
    report.remarks.extend(access.first_failure.take().map(|failure| format!("the first failure: {failure}")));
    (report.written_bytes, report.read_bytes) = (access.written_bytes, access.read_bytes);
    report.duration_ns = world.now().since_ns(began);
    Ok(report)
}

fn learn<W: World, V: Watch>(
    access: &mut Access<'_, W, V>,
    plan: &WritePlan,
    depth: Depth,
) -> Result<Known, CheckError> {
    let cost = if depth == Depth::Look { plan.look_cost() } else { plan.cost(depth == Depth::Full) };
    access.expected_bytes = cost.written_bytes + cost.read_bytes;
    let mut known = Known { finding: None, seen: Vec::new(), tally: None, suspected_repeat_bytes: None };
    match depth {
        Depth::Look => {
            known.suspected_repeat_bytes = look(access, plan)?;
            known.seen.clone_from(&access.failures);
        }
        Depth::Probe => {
            let (finding, seen) = probe(access, plan)?;
            (known.finding, known.seen) = (Some(finding), seen);
        }
        Depth::Full => {
            let (tally, wrong) = write_and_read(access, plan)?;
            let is_misplaced = tally.overwritten_bytes + tally.lost_bytes > 0;
            known.seen = wrong;
            if is_misplaced && !access.is_given_up() {
                let (finding, seen) = probe(access, plan)?;
                known.finding = Some(finding);
                known.seen.extend(seen);
            }
            known.seen.extend(access.failures.iter().copied());
            known.tally = Some(tally);
        }
    }
    Ok(known)
}

fn conclude(plan: &WritePlan, depth: Depth, known: Known, is_direct: bool) -> Report {
    let (verdict, kind) = verdict(&known, is_direct, depth);
    let end = known.finding.filter(|_| verdict == Verdict::Fake);
    let wrong = known.seen.iter().filter(|one| one.reading != Reading::Held).count();
    let witnesses = end.map_or(wrong, |finding| finding.witnesses);
    let (confidence_ppm, confidence_from) = confidence(plan, verdict, depth, witnesses);
    let usable_bytes = match verdict {
        Verdict::Genuine => Some(plan.size_bytes),
        Verdict::Fake => end.map(|finding| finding.at_least_bytes),
        Verdict::Damaged | Verdict::Unsure => None,
    };
    Report {
        verdict,
        kind,
        confidence_ppm,
        confidence_from,
        bad_at_most_ppm: (verdict == Verdict::Genuine).then(|| bad_at_most_ppm(plan, depth)),
        claimed_bytes: plan.size_bytes,
        usable_bytes,
        real_at_most_bytes: end.map(|finding| finding.at_most_bytes),
        repeat_bytes: end.and_then(|finding| finding.repeat_bytes),
        block_bytes: plan.block_bytes,
        defeated_cache_bytes: (depth != Depth::Look).then(|| plan.checked_bytes()),
        evidence: evidence(&known.seen),
        advice: advice(verdict, depth, usable_bytes),
        remarks: remarks(&known, is_direct, depth),
        tally: known.tally,
        written_bytes: 0,
        read_bytes: 0,
        duration_ns: 0,
    }
}

fn verdict(known: &Known, is_direct: bool, depth: Depth) -> (Verdict, Option<Kind>) {
    let has_failed = known.seen.iter().any(|one| one.reading == Reading::Failed);
    let is_wrong = known.seen.iter().any(|one| one.reading != Reading::Held);
    match (known.finding.map(|finding| finding.kind), depth) {
        (Some(kind @ (Kind::Limbo | Kind::Wraparound | Kind::Chain)), _) => (Verdict::Fake, Some(kind)),
        (Some(Kind::Damaged), _) => (Verdict::Damaged, Some(Kind::Damaged)),
        (_, Depth::Look) if !has_failed => (Verdict::Unsure, None),
        _ if is_wrong => (Verdict::Damaged, Some(Kind::Damaged)),
        _ if !is_direct => (Verdict::Unsure, Some(Kind::Good)),
        _ => (Verdict::Genuine, Some(Kind::Good)),
    }
}

/// How sure a verdict is, and why; the crate's head has the formulas.
fn confidence(plan: &WritePlan, verdict: Verdict, depth: Depth, witnesses: usize) -> (u32, String) {
    match (verdict, depth) {
        (Verdict::Unsure, _) => (0, "nothing that was done tells a fake drive from a genuine one".to_owned()),
        (Verdict::Genuine, Depth::Full) => (WHOLE_PPM, "all of it was written and read back".to_owned()),
        (Verdict::Genuine, _) => {
            let places = plan.random_places;
            let text = format!("{places} random places all held: at most 1 - 0.05^(1/{places}) of the drive is bad");
            (BOUND_PPM, text)
        }
        (Verdict::Fake | Verdict::Damaged, _) => {
            let witnesses = u32::try_from(witnesses).unwrap_or(u32::MAX).max(1);
            let chance_ppm = WHOLE_PPM.checked_div(SOUND_WRITES_PER_LOSS.saturating_pow(witnesses)).unwrap_or(0).max(1);
            let text =
                format!("{witnesses} blocks were wrong, of which a sound drive loses less than one in 1000 each");
            (WHOLE_PPM - chance_ppm, text)
        }
    }
}

/// 1 - 0.05^(1/k), rounded up.
fn bad_at_most_ppm(plan: &WritePlan, depth: Depth) -> u32 {
    if depth == Depth::Full {
        return 0;
    }
    let share = 1.0 - 0.05_f64.powf(1.0 / f64::from(plan.random_places.max(1)));
    (share * f64::from(WHOLE_PPM)).ceil() as u32
}

/// The wrong places first, spread over all of them; then those that held.
fn evidence(seen: &[Seen]) -> Vec<Evidence> {
    let (wrong, held): (Vec<&Seen>, Vec<&Seen>) = seen.iter().partition(|one| one.reading != Reading::Held);
    let spread = |from: Vec<&Seen>, count: usize| -> Vec<Evidence> {
        let stride = from.len().div_ceil(count.max(1)).max(1);
        from.into_iter().step_by(stride).take(count).map(shown).collect()
    };
    let mut evidence = spread(wrong, EVIDENCE_MAX * 3 / 4);
    evidence.extend(spread(held, EVIDENCE_MAX - evidence.len()));
    evidence
}

fn shown(one: &Seen) -> Evidence {
    let (found, written_at_offset) = match one.reading {
        Reading::Held => ("held", None),
        Reading::Elsewhere { offset } => ("elsewhere", Some(offset)),
        Reading::Lost => ("lost", None),
        Reading::Changed => ("changed", None),
        Reading::Failed => ("failed", None),
    };
    Evidence { offset: one.offset, found: found.to_owned(), written_at_offset }
}

fn advice(verdict: Verdict, depth: Depth, usable_bytes: Option<u64>) -> String {
    match verdict {
        Verdict::Genuine => "use it".to_owned(),
        Verdict::Fake => {
            let usable = format_size(usable_bytes.unwrap_or(0));
            format!(
                "return it as a fake; if it is kept, make one partition of its first {usable}, and use nothing beyond"
            )
        }
        Verdict::Damaged => {
            "keep nothing on it: try it in another port or reader once, then return or replace it".to_owned()
        }
        Verdict::Unsure if depth == Depth::Look => {
            "check it with --write before it holds anything: reading alone cannot tell a fake one".to_owned()
        }
        Verdict::Unsure => "check the device itself, where its reads do not come from this machine's memory".to_owned(),
    }
}

fn remarks(known: &Known, is_direct: bool, depth: Depth) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(bytes) = known.suspected_repeat_bytes {
        remarks.push(format!(
            "what it holds is the same after every {}, wherever it holds anything: so does a fake drive whose addresses repeat, and a \
             drive that holds a copy of its own first part",
            format_size(bytes)
        ));
    }
    if !is_direct && depth != Depth::Look {
        remarks.push(
            "reads may have come from this machine's memory: the file system does not let it be bypassed".to_owned(),
        );
    }
    remarks
}
