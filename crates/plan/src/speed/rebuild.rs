//! A rebuild, watched for a while and thought to its end.

use std::time::Duration;

use shoal_sim::{DriveModel, Medium};
use shoal_volume::{ArrayVolume, SimulatedWorld, Volume};

use super::load::Load;
use super::{Rebuild, SpeedError, Speeds};

/// How long it goes on between two looks.
const LOOK: Duration = Duration::from_millis(200);
/// So much of the member is watched.
const WATCHED_BYTES: u64 = 64 << 20;
/// Looks that are taken at most: a rebuild slower than [`WATCHED_BYTES`] in 1000 s is seen to be
/// slow by then.
const LOOKS_MAX: u32 = 5_000;

/// Watches a rebuild that has just begun, alone and under load.
pub(super) fn watch(
    volume: &mut ArrayVolume<SimulatedWorld>,
    load: &Load,
    model: &DriveModel,
) -> Result<(Rebuild, Speeds), SpeedError> {
    let alone = watch_alone(volume)?;
    let before = Look::of(volume);
    let rebuilding = load.speeds(volume)?;
    let under_load = Stretch::between(before, Look::of(volume));
    let slower = slowing(model);
    // What nobody watched to the end under load cannot have taken longer than it did alone by
    // nothing.
    let alone_ns = alone.whole_ns(slower);
    let under_load_ns = under_load.map_or(alone_ns, |stretch| stretch.whole_ns(slower)).max(alone_ns);
    Ok((Rebuild { alone_ns, under_load_ns }, rebuilding))
}

/// How far a rebuild was at a moment.
#[derive(Clone, Copy)]
struct Look {
    now_ns: u64,
    /// Done and in all; none if it has ended.
    bytes: Option<(u64, u64)>,
}

impl Look {
    fn of(volume: &ArrayVolume<SimulatedWorld>) -> Self {
        let bytes = volume.progress().map(|progress| (progress.done_bytes, progress.total_bytes));
        Self { now_ns: volume.now().ns, bytes }
    }
}

/// What a rebuild did between two looks.
#[derive(Clone, Copy)]
struct Stretch {
    elapsed_ns: u64,
    done_bytes: u64,
    total_bytes: u64,
}

impl Stretch {
    fn between(before: Look, after: Look) -> Option<Self> {
        let (start, total_bytes) = before.bytes?;
        let end = after.bytes.map_or(total_bytes, |(done, _)| done);
        let done_bytes = end.saturating_sub(start);
        (done_bytes > 0).then_some(Self { elapsed_ns: after.now_ns - before.now_ns, done_bytes, total_bytes })
    }

    /// How long all of it takes, if the rest is slower by a factor than what was watched.
    fn whole_ns(self, slower: f64) -> u64 {
        let watched_all = self.done_bytes == self.total_bytes;
        let factor = if watched_all { 1.0 } else { slower };
        (self.elapsed_ns as f64 * self.total_bytes as f64 / self.done_bytes as f64 * factor) as u64
    }
}

fn watch_alone(volume: &mut ArrayVolume<SimulatedWorld>) -> Result<Stretch, SpeedError> {
    let before = Look::of(volume);
    for _ in 0..LOOKS_MAX {
        let goes_on = volume.run_background(LOOK)?;
        let stretch = Stretch::between(before, Look::of(volume));
        if let Some(stretch) = stretch.filter(|it| !goes_on || it.done_bytes >= WATCHED_BYTES) {
            return Ok(stretch);
        }
        if !goes_on {
            break;
        }
    }
    let last = Look::of(volume);
    let nothing = Stretch { elapsed_ns: last.now_ns - before.now_ns, done_bytes: 1, total_bytes: 1 };
    Ok(Stretch::between(before, last).unwrap_or(nothing))
}

/// How much longer all of a drive takes than its beginning lets one expect: disks are slower
/// towards their end.
fn slowing(model: &DriveModel) -> f64 {
    let Medium::Disk(disk) = &model.medium else { return 1.0 };
    let Some(first) = disk.zones.first().filter(|zone| zone.bytes_per_s > 0) else { return 1.0 };
    let ends = disk.zones.iter().skip(1).map(|zone| zone.start_byte).chain([model.size_bytes]);
    let times = disk
        .zones
        .iter()
        .zip(ends)
        .map(|(zone, end)| end.saturating_sub(zone.start_byte) as f64 / zone.bytes_per_s.max(1) as f64);
    let all: f64 = times.sum();
    let at_first = model.size_bytes as f64 / first.bytes_per_s as f64;
    if at_first > 0.0 { (all / at_first).max(1.0) } else { 1.0 }
}
