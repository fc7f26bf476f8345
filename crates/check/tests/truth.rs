//! Checks of simulated drives of which the truth is known: fakes of each kind, healthy drives, and
//! drives that fail.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use shoal_check::{Depth, Kind, Report, STEP_BYTES_MAX, Verdict, Watch, check, plan};
use shoal_sim::{
    Bus, BusKind, Content, DriveModel, Fake, Fault, Flash, HostModel, Medium, Misbehaviour, MisbehaviourKind,
    PerDirection, Topology,
};
use shoal_volume::{BufferPlan, Contents, DriveId, SimulatedWorld};

const BUDGET_BYTES: u64 = 8 << 20;
const BLOCK_BYTES: u64 = 4096;
const MIB: u64 = 1 << 20;
/// Of each kind of fake.
const FAKES: u64 = 200;
const HEALTHY: u64 = 1000;

struct Patience;

impl Watch for Patience {
    fn goes_on(&mut self, done_bytes: u64, total_bytes: u64) -> bool {
        assert!(done_bytes <= total_bytes);
        true
    }
}

/// What is drawn from a seed.
struct Draw(Xoshiro256PlusPlus);

impl Draw {
    fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// From `least` to below `end`.
    fn within(&mut self, least: u64, end: u64) -> u64 {
        least + self.0.next_u64() % (end - least).max(1)
    }

    /// The same in whole blocks.
    fn blocks(&mut self, least: u64, end: u64) -> u64 {
        self.within(least / BLOCK_BYTES, end / BLOCK_BYTES) * BLOCK_BYTES
    }

    /// A drive's size, small and large ones alike, and odd ones.
    fn size_bytes(&mut self) -> u64 {
        let scale = 1 << self.within(20, 29);
        self.within(scale, 2 * scale) / 512 * 512
    }
}

fn model(size_bytes: u64, fake: Option<Fake>) -> DriveModel {
    let bytes_per_s = PerDirection { read: 1 << 30, write: 1 << 30 };
    DriveModel {
        name: "drive".to_owned(),
        title: "a drive".to_owned(),
        size_bytes,
        logical_block_bytes: 512,
        bus: BusKind::Direct,
        command_ns: PerDirection { read: 1_000, write: 1_000 },
        page_bytes: 64 << 10,
        page_buffers: 8,
        write_through: false,
        queued_commands: 1,
        medium: Medium::Flash(Flash { bytes_per_s, ..Flash::default() }),
        fake,
    }
}

/// Checks a drive that is first changed by `trouble`.
fn checked(
    size_bytes: u64,
    fake: Option<Fake>,
    (depth, seed): (Depth, u64),
    trouble: impl FnOnce(&mut Content),
) -> Report {
    let bus = Bus { kind: BusKind::Direct, upstream: None };
    let topology = Topology { buses: vec![bus], drives: vec![(model(size_bytes, fake), 0)] };
    let buffers = BufferPlan::for_drives(1, 1, STEP_BYTES_MAX);
    let world = SimulatedWorld::new(&topology, &HostModel::default(), Contents::Kept, buffers, seed);
    let mut world = world.expect("the topology is right");
    trouble(world.content_mut(0));
    // What is larger needs more places than the small budget has.
    let budget_bytes = if size_bytes > 256 << 20 { 4 * BUDGET_BYTES } else { BUDGET_BYTES };
    let plan = plan(size_bytes, 512, budget_bytes, seed).unwrap_or_else(|error| panic!("{size_bytes}: {error}"));
    let report = check(&mut world, DriveId(0), &plan, depth, &mut Patience).expect("a simulated world goes on");
    if depth == Depth::Probe {
        assert!(report.written_bytes <= budget_bytes, "{} of {budget_bytes}", report.written_bytes);
    }
    report
}

fn probed(size_bytes: u64, fake: Option<Fake>, seed: u64) -> Report {
    checked(size_bytes, fake, (Depth::Probe, seed), |_| {})
}

/// Draws fakes, and holds what is found against what they are.
fn find_all(kind: Kind, seeds: u64, draw_fake: impl Fn(&mut Draw, u64) -> Fake) {
    for seed in 0..seeds {
        let mut draw = Draw::new(seed);
        let size_bytes = draw.size_bytes().max(2 * MIB);
        let fake = draw_fake(&mut draw, size_bytes);
        let report = probed(size_bytes, Some(fake), seed);
        let told = format!("seed {seed}, {size_bytes} bytes, {fake:?}: {report:#?}");
        assert_eq!((report.verdict, report.kind), (Verdict::Fake, Some(kind)), "{told}");
        assert_eq!(report.repeat_bytes, fake.repeat_bytes, "{told}");
        assert_eq!(report.usable_bytes, Some(fake.real_bytes), "{told}");
        assert_eq!(report.real_at_most_bytes, Some(fake.real_bytes), "{told}");
        assert!(report.confidence_ppm >= 999_000, "{told}");
    }
}

/// What a cache may hold that a probe of a drive of this size is sure to defeat.
fn cache_bytes(draw: &mut Draw, size_bytes: u64) -> u64 {
    draw.within(0, (size_bytes / 8).min(BUDGET_BYTES / 8) / 2)
}

#[test]
fn limbo_is_found_to_the_block() {
    find_all(Kind::Limbo, FAKES, |draw, size_bytes| {
        let real_bytes = draw.blocks(BLOCK_BYTES, size_bytes - 2 * BLOCK_BYTES);
        Fake { real_bytes, repeat_bytes: None, cache_bytes: 0 }
    });
}

#[test]
fn limbo_behind_a_cache_that_answers_truthfully_is_found() {
    find_all(Kind::Limbo, FAKES, |draw, size_bytes| {
        let real_bytes = draw.blocks(size_bytes / 4, size_bytes - 2 * BLOCK_BYTES);
        Fake { real_bytes, repeat_bytes: None, cache_bytes: cache_bytes(draw, size_bytes) }
    });
}

#[test]
fn addresses_that_repeat_at_any_real_end_are_found() {
    find_all(Kind::Wraparound, FAKES, |draw, size_bytes| {
        let real_bytes = draw.blocks(size_bytes / 64 + BLOCK_BYTES, size_bytes - 4 * BLOCK_BYTES);
        Fake { real_bytes, repeat_bytes: Some(real_bytes), cache_bytes: 0 }
    });
}

#[test]
fn addresses_that_repeat_at_a_power_of_two_are_found() {
    find_all(Kind::Wraparound, FAKES, |draw, size_bytes| {
        let most = (size_bytes - 4 * BLOCK_BYTES).ilog2();
        let real_bytes = 1 << draw.within(u64::from(most - 5).max(17), u64::from(most) + 1);
        Fake { real_bytes, repeat_bytes: Some(real_bytes), cache_bytes: 0 }
    });
}

#[test]
fn addresses_that_repeat_behind_a_cache_are_found() {
    find_all(Kind::Wraparound, FAKES, |draw, size_bytes| {
        let real_bytes = draw.blocks(size_bytes / 4, size_bytes - 4 * BLOCK_BYTES);
        Fake { real_bytes, repeat_bytes: Some(real_bytes), cache_bytes: cache_bytes(draw, size_bytes) }
    });
}

/// A repeat at a power of two, beyond a real end that is somewhere below.
fn chain(draw: &mut Draw, size_bytes: u64) -> Fake {
    let most = (size_bytes - 4 * BLOCK_BYTES).ilog2();
    let repeat_bytes = 1 << draw.within(u64::from(most - 2).max(17), u64::from(most) + 1);
    let real_bytes = draw.blocks(repeat_bytes / 3, repeat_bytes - BLOCK_BYTES);
    Fake { real_bytes, repeat_bytes: Some(repeat_bytes), cache_bytes: 0 }
}

#[test]
fn chains_are_found_with_both_of_their_ends() {
    find_all(Kind::Chain, FAKES, chain);
}

#[test]
fn chains_behind_a_cache_are_found() {
    find_all(Kind::Chain, FAKES, |draw, size_bytes| {
        let fake = chain(draw, size_bytes);
        Fake { cache_bytes: cache_bytes(draw, size_bytes), ..fake }
    });
}

#[test]
fn no_healthy_drive_is_suspected() {
    for seed in 0..HEALTHY {
        let size_bytes = Draw::new(seed).size_bytes();
        let report = probed(size_bytes, None, seed);
        let told = format!("seed {seed}, {size_bytes} bytes: {report:#?}");
        assert_eq!((report.verdict, report.kind), (Verdict::Genuine, Some(Kind::Good)), "{told}");
        assert_eq!(report.usable_bytes, Some(size_bytes / BLOCK_BYTES * BLOCK_BYTES), "{told}");
    }
}

/// Commands of a kind, anywhere, that are carried out before one goes wrong.
fn trouble(kind: MisbehaviourKind, skip: u32, size_bytes: u64) -> Misbehaviour {
    Misbehaviour { kind, within: 0..size_bytes, skip }
}

#[test]
fn a_drive_that_fails_or_loses_a_write_is_damaged_and_no_fake() {
    let kinds = [
        MisbehaviourKind::ReadFails(Fault::Io),
        MisbehaviourKind::WriteFails(Fault::Io),
        MisbehaviourKind::FlushFails(Fault::Io),
        MisbehaviourKind::WriteLost,
        MisbehaviourKind::WriteTorn,
        MisbehaviourKind::ReadFails(Fault::TimedOut),
    ];
    for (seed, kind) in (0..FAKES).zip(kinds.into_iter().cycle()) {
        let mut draw = Draw::new(seed);
        let size_bytes = draw.within(2 * MIB, 1 << 29) / 512 * 512;
        let is_flush = matches!(kind, MisbehaviourKind::FlushFails(_));
        let skip = if is_flush { 0 } else { draw.within(0, 200) as u32 };
        let report = checked(size_bytes, None, (Depth::Probe, seed), |content| {
            content.arm(trouble(kind, skip, size_bytes));
        });
        let told = format!("seed {seed}, {size_bytes} bytes, {kind:?} after {skip}: {report:#?}");
        // What is lost where nothing is read back, or is written once more, is not seen.
        let is_silent = matches!(kind, MisbehaviourKind::WriteLost | MisbehaviourKind::WriteTorn);
        assert!(report.verdict == Verdict::Damaged || is_silent && report.verdict == Verdict::Genuine, "{told}");
    }
}

#[test]
fn a_write_that_goes_elsewhere_makes_no_fake() {
    for seed in 0..FAKES {
        let mut draw = Draw::new(seed);
        let size_bytes = draw.within(2 * MIB, 1 << 29) / 512 * 512;
        let distance = i64::try_from(draw.blocks(BLOCK_BYTES, size_bytes)).expect("it is small");
        let skip = draw.within(0, 100) as u32;
        let kind = MisbehaviourKind::WriteMisdirected { distance: -distance };
        let report = checked(size_bytes, None, (Depth::Probe, seed), |content| {
            content.arm(trouble(kind, skip, size_bytes));
        });
        assert_ne!(report.verdict, Verdict::Fake, "seed {seed}, {size_bytes} bytes, {skip}: {report:#?}");
    }
}

#[test]
fn a_full_check_counts_every_byte() {
    let size_bytes = 24 * MIB;
    let full = |fake| checked(size_bytes, fake, (Depth::Full, 1), |_| {});
    let healthy = full(None);
    assert_eq!((healthy.verdict, healthy.confidence_ppm), (Verdict::Genuine, 1_000_000));
    assert_eq!(healthy.tally.expect("it is full").held_bytes, size_bytes);
    let limbo = full(Some(Fake { real_bytes: 6 * MIB, repeat_bytes: None, cache_bytes: 0 }));
    let tally = limbo.tally.clone().expect("it is full");
    assert_eq!((limbo.kind, limbo.usable_bytes), (Some(Kind::Limbo), Some(6 * MIB)));
    assert_eq!((tally.held_bytes, tally.lost_bytes), (6 * MIB, 18 * MIB));
    assert_eq!(tally.first_wrong_offset, Some(6 * MIB));
    let around = full(Some(Fake { real_bytes: 10 * MIB, repeat_bytes: Some(10 * MIB), cache_bytes: 0 }));
    let tally = around.tally.clone().expect("it is full");
    assert_eq!((around.kind, around.usable_bytes), (Some(Kind::Wraparound), Some(10 * MIB)));
    assert_eq!((tally.held_bytes, tally.overwritten_bytes), (10 * MIB, 14 * MIB));
    assert_eq!(tally.first_wrong_offset, Some(0));
}

#[test]
fn a_full_check_tells_a_spoilt_sector_from_an_end() {
    let size_bytes = 8 * MIB;
    let report = checked(size_bytes, None, (Depth::Full, 3), |content| {
        content.arm(trouble(MisbehaviourKind::WriteLost, 5, size_bytes));
    });
    assert_eq!(report.verdict, Verdict::Damaged, "{report:#?}");
    assert_eq!(report.tally.and_then(|tally| tally.first_wrong_offset), Some(5 * MIB));
}

#[test]
fn reading_alone_writes_nothing_and_condemns_nothing_but_failures() {
    let healthy = checked(1 << 30, None, (Depth::Look, 1), |_| {});
    assert_eq!((healthy.verdict, healthy.written_bytes), (Verdict::Unsure, 0));
    let failing = checked(1 << 30, None, (Depth::Look, 1), |content| content.spoil(4096, 512));
    assert_eq!(failing.verdict, Verdict::Damaged);
}

#[test]
fn what_a_drive_holds_again_and_again_is_told() {
    let fake = Fake { real_bytes: 8 * MIB, repeat_bytes: Some(8 * MIB), cache_bytes: 0 };
    let fill = |content: &mut Content| {
        let mut bytes = vec![0; 8 * MIB as usize];
        Xoshiro256PlusPlus::seed_from_u64(1).fill_bytes(&mut bytes);
        content.write(0, &bytes).expect("it is there");
    };
    let report = checked(64 * MIB, Some(fake), (Depth::Look, 1), fill);
    assert_eq!((report.verdict, report.written_bytes), (Verdict::Unsure, 0));
    assert!(report.remarks.iter().any(|remark| remark.contains("the same after every 8 MiB")), "{report:#?}");
    let honest = checked(64 * MIB, None, (Depth::Look, 1), fill);
    assert!(honest.remarks.is_empty(), "{honest:#?}");
}

/// Any end, any repeat and any cache, on tiny drives and odd ones.
#[test]
fn whatever_a_drive_does_is_no_panic_and_no_fake_is_genuine() {
    for seed in 0..FAKES {
        let mut draw = Draw::new(seed);
        let size_bytes = draw.within(MIB, 4 * MIB) / 512 * 512;
        let real_bytes = draw.blocks(BLOCK_BYTES, size_bytes - BLOCK_BYTES);
        let repeat_bytes = draw.blocks(real_bytes, size_bytes).max(real_bytes);
        let repeat_bytes = Some(repeat_bytes).filter(|_| seed.is_multiple_of(2));
        let depth = if seed.is_multiple_of(3) { Depth::Full } else { Depth::Probe };
        let fake = Fake { real_bytes, repeat_bytes, cache_bytes: 0 };
        let report = checked(size_bytes, Some(fake), (depth, seed), |_| {});
        assert_ne!(report.verdict, Verdict::Genuine, "seed {seed}, {size_bytes} bytes, {fake:?}: {report:#?}");
        // A cache larger than the drive hides all of it; nothing else is asked of that than an
        // answer.
        let hidden = Fake { cache_bytes: draw.within(0, 8 * MIB), ..fake };
        checked(size_bytes, Some(hidden), (depth, seed), |_| {});
    }
}
