//! Arrays are reshaped, and power is cut at every place; and once more while the reshape goes on.

use shoal_drive::DriveId;
use shoal_memory::Found;
use shoal_volume::transfer::{read_to, write_from};
use shoal_volume::{
    Absent, ArrayVolume, BitmapChange, BufferPlan, Consistency, GrowError, GrowOptions, GrowProgress, GrowRefusal,
    Grown, OpenError, OpenOptions, Volume, continue_reshape, grow,
};

use crate::support::create_options;

use crate::power_cuts::content::Expected;
use crate::power_cuts::cut::{Cursor, Fate};
use crate::power_cuts::media::Media;
use crate::power_cuts::random::Random;
use crate::power_cuts::trace::{Fact, Trace};
use crate::power_cuts::world::TracedWorld;

/// Of which 1 MiB is for data, behind 1 MiB of which a good part is free.
const DRIVE_BYTES: u64 = 2 << 20;

/// An array, and what it is to become.
struct Growth {
    level: &'static str,
    layout: Option<&'static str>,
    chunk_bytes: u32,
    members: usize,
    added: usize,
    to: GrowOptions,
}

impl Growth {
    fn all(&self) -> Vec<DriveId> {
        (0..).map(DriveId).take(self.members + self.added).collect()
    }

    /// Makes the array, and fills it.
    fn make(&self) -> (Vec<Media>, Vec<u8>) {
        let (world, plan) = world(vec![Media::default(); self.members + self.added], 1, Trace::default());
        let create = create_options(self.level, self.layout, self.chunk_bytes);
        let members = &self.all()[..self.members];
        let mut array = ArrayVolume::create(world, plan, members, &create, &OpenOptions::writable()).unwrap();
        let mut random = Random::new(7);
        let content: Vec<u8> = (0..array.size_bytes() / 16).flat_map(|_| random.bytes()).collect();
        write_from(&mut array, 0, &mut &content[..]).unwrap();
        (array.close().unwrap().media().to_vec(), content)
    }

    fn start(&self, world: &mut TracedWorld) -> Result<Grown, GrowError> {
        let all = self.all();
        let (members, added) = all.split_at(self.members);
        grow(world, members, added, &self.to, &mut |_: u64, _: u64| true)
    }

    /// What is to be done after a power cut; a second one cuts the trace that this leaves.
    fn recover(&self, media: Vec<Media>, trace: Trace) -> Vec<Media> {
        let (mut world, _) = world(media, 3, trace);
        let result = match continue_reshape(&mut world, &self.all(), Absent::Refused, &mut |_: u64, _: u64| true) {
            // The reshape had not begun: the new drives are nobody's yet, or nobody knows them.
            Err(GrowError::NoMember { .. }) => self.start_again(&mut world),
            Err(GrowError::Refused { why: GrowRefusal::NoReshape, .. }) if self.added == 0 => {
                self.start_again(&mut world)
            }
            // The new drives are members: it had ended already.
            Err(GrowError::Refused { why: GrowRefusal::NoReshape, .. }) => Ok(Grown::Done),
            other => other,
        };
        assert_eq!(result.unwrap(), Grown::Done);
        world.media().to_vec()
    }

    /// What is to be done after a power cut that a drive has not come back from; then the drive
    /// comes back after all.
    fn recover_without(&self, media: Vec<Media>, away: DriveId, content: &[u8]) {
        let mut present = self.all();
        present.retain(|drive| *drive != away);
        let (mut world, _) = world(media, 3, Trace::default());
        let continued = continue_reshape(&mut world, &present, Absent::LeftBehind, &mut |_: u64, _: u64| true);
        match continued {
            Ok(Grown::Done) => {}
            // It had not begun, or had ended.
            Err(
                GrowError::NoMember { .. }
                | GrowError::Assemble(_)
                | GrowError::Refused { why: GrowRefusal::NoReshape, .. },
            ) => {}
            other => panic!("without {away:?}: {other:?}"),
        }
        let media = world.media().to_vec();
        let old: Vec<_> = present.iter().copied().filter(|drive| self.all()[..self.members].contains(drive)).collect();
        let without = self.check_start(media.clone(), &present, content);
        let without = without.or_else(|_| self.check_start(media.clone(), &old, content));
        let media = without.unwrap_or_else(|error| panic!("without {away:?}: {error}"));
        let all = self.check_start(media.clone(), &self.all(), content);
        let all = all.or_else(|_| self.check_start(media, &self.all()[..self.members], content));
        all.unwrap_or_else(|error| panic!("{away:?} is back: {error}"));
    }

    /// A member dies at any write or flush of the reshape, which ends without it.
    fn die_everywhere(&self) {
        let (before, content) = self.make();
        let (mut world, _) = world(before.clone(), 11, Trace::default());
        self.start(&mut world).unwrap();
        let numbers = world.numbers();
        for doomed in self.all() {
            let mut ended = 0;
            for number in (0..numbers).step_by(3) {
                let (mut world, _) = self::world(before.clone(), 11, Trace::default());
                world.doom(doomed.0 as usize, number);
                match self.start(&mut world) {
                    Ok(Grown::Done) => ended += 1,
                    // Before the members of the array know of the reshape, nothing is done without
                    // one of them.
                    Err(GrowError::Drive { .. }) => {}
                    other => panic!("{doomed:?} dies at {number}: {other:?}"),
                }
                self.recover_without(world.media().to_vec(), doomed, &content);
            }
            assert!(ended > numbers / 3 / 2, "only {ended} of {numbers} reshapes ended without {doomed:?}");
        }
    }

    fn start_again(&self, world: &mut TracedWorld) -> Result<Grown, GrowError> {
        match self.start(world) {
            // It had ended already.
            Err(GrowError::Refused { why: GrowRefusal::NothingToDo | GrowRefusal::HasBitmap, .. }) => Ok(Grown::Done),
            other => other,
        }
    }

    fn check(&self, media: Vec<Media>, content: &[u8]) {
        let (world, plan) = world(media, 5, Trace::default());
        let mut array = ArrayVolume::open(world, plan, &self.all(), &OpenOptions::read_only()).unwrap();
        let status = array.status();
        assert_eq!(status.members.len(), self.members + self.added);
        assert_eq!(status.chunk_bytes, self.to.chunk_bytes.unwrap_or(self.chunk_bytes));
        assert!(array.size_bytes() >= content.len() as u64);
        let mut found = Vec::new();
        let size_bytes = array.size_bytes();
        read_to(&mut array, 0, size_bytes, &mut found).unwrap();
        assert!(found[..content.len()] == *content, "content was lost");
        assert!(found[content.len()..].iter().all(|byte| *byte == 0), "new content is not zeros");
    }

    /// The array of these drives opens for writing, and begins with this content. Gives what is on
    /// the drives then.
    fn check_start(&self, media: Vec<Media>, drives: &[DriveId], content: &[u8]) -> Result<Vec<Media>, OpenError> {
        let (world, plan) = world(media, 5, Trace::default());
        let mut array = ArrayVolume::open(world, plan, drives, &OpenOptions::writable())?;
        let mut found = Vec::new();
        read_to(&mut array, 0, content.len() as u64, &mut found).unwrap();
        assert!(found == content, "content was lost");
        Ok(array.close().unwrap().media().to_vec())
    }

    /// Parity is right: whichever member is away, the content is the same.
    fn check_parity(&self, media: &[Media], content: &[u8]) {
        for away in self.all() {
            let (world, plan) = world(media.to_vec(), 5, Trace::default());
            let present: Vec<_> = self.all().into_iter().filter(|drive| *drive != away).collect();
            let mut array = ArrayVolume::open(world, plan, &present, &OpenOptions::read_only()).unwrap();
            let mut found = Vec::new();
            read_to(&mut array, 0, content.len() as u64, &mut found).unwrap();
            assert!(found == content, "parity is wrong without {away:?}");
        }
    }

    fn cut_everywhere(&self) {
        let (before, content) = self.make();
        let trace = Trace::default();
        let (mut world, _) = world(before.clone(), 11, trace.clone());
        assert_eq!(self.start(&mut world).unwrap(), Grown::Done);
        let media = world.media().to_vec();
        self.check(media.clone(), &content);
        self.check_parity(&media, &content);
        let facts = trace.take();
        let mut random = Random::new(13);
        let mut cuts = 0_usize;
        each_cut(before, &facts, &mut random, |media, random| {
            cuts += 1;
            let trace = Trace::default();
            let recovered = self.recover(media.clone(), trace.clone());
            self.check(recovered, &content);
            if cuts.is_multiple_of(3) {
                let away = DriveId(random.below(self.all().len()) as u32);
                self.recover_without(media.clone(), away, &content);
            }
            let (mut cursor, facts) = (cursor(media), trace.take());
            if facts.is_empty() || !cuts.is_multiple_of(4) {
                return;
            }
            facts[..random.below(facts.len())].iter().for_each(|fact| cursor.step(fact));
            let media = cursor.cut(Fate::ALL[random.below(Fate::ALL.len())], random);
            self.check(self.recover(media, Trace::default()), &content);
        });
        assert!(cuts > 300, "{cuts} cuts");
    }
}

fn cursor(media: Vec<Media>) -> Cursor {
    Cursor::new(media, Expected::new(0))
}

/// Power is cut after each fact, in every way.
fn each_cut(before: Vec<Media>, facts: &[Fact], random: &mut Random, mut judge: impl FnMut(Vec<Media>, &mut Random)) {
    let mut cursor = cursor(before);
    for fact in facts {
        cursor.step(fact);
        let fates = if cursor.is_settled() { &Fate::ALL[..1] } else { &Fate::ALL[..] };
        for &fate in fates {
            let media = cursor.cut(fate, random);
            judge(media, random);
        }
    }
}

fn world(media: Vec<Media>, seed: u64, trace: Trace) -> (TracedWorld, BufferPlan) {
    let plan = BufferPlan::for_drives(media.len(), 8, 32 << 10);
    let arena = plan.arena().unwrap();
    (TracedWorld::new(media, DRIVE_BYTES, arena, seed, trace), plan)
}

fn to(raid_devices: usize) -> GrowOptions {
    GrowOptions { raid_devices: Some(raid_devices), ..GrowOptions::default() }
}

#[test]
fn raid5_survives_power_cuts_while_it_grows() {
    Growth { level: "5", layout: None, chunk_bytes: 64 << 10, members: 3, added: 1, to: to(4) }.cut_everywhere();
}

#[test]
fn raid5_survives_power_cuts_while_its_chunk_and_layout_change() {
    let layout = Some(shoal_volume::ParityLayout::ParityFirst);
    let larger = GrowOptions { chunk_bytes: Some(256 << 10), layout, ..GrowOptions::default() };
    Growth { level: "5", layout: None, chunk_bytes: 64 << 10, members: 3, added: 0, to: larger }.cut_everywhere();
    let smaller = GrowOptions { chunk_bytes: Some(32 << 10), ..GrowOptions::default() };
    Growth { level: "5", layout: None, chunk_bytes: 128 << 10, members: 3, added: 0, to: smaller }.cut_everywhere();
}

#[test]
fn raid6_and_raid4_survive_power_cuts_while_they_grow() {
    let to_six = GrowOptions { chunk_bytes: Some(128 << 10), ..to(6) };
    let layout = Some("ddf-N-continue");
    Growth { level: "6", layout, chunk_bytes: 64 << 10, members: 4, added: 2, to: to_six }.cut_everywhere();
    Growth { level: "4", layout: None, chunk_bytes: 64 << 10, members: 3, added: 1, to: to(4) }.cut_everywhere();
}

#[test]
fn a_member_that_dies_while_raid5_grows_is_left_behind() {
    Growth { level: "5", layout: None, chunk_bytes: 64 << 10, members: 3, added: 1, to: to(4) }.die_everywhere();
}

#[test]
fn a_member_that_dies_while_raid6_changes_its_chunk_and_grows_is_left_behind() {
    let to_five = GrowOptions { chunk_bytes: Some(128 << 10), ..to(5) };
    Growth { level: "6", layout: None, chunk_bytes: 64 << 10, members: 4, added: 1, to: to_five }.die_everywhere();
}

/// Who hears with which members a reshape has begun, and stops it.
struct Heard(Vec<usize>);

impl GrowProgress for Heard {
    fn has_begun(&mut self, found: Vec<Found>) {
        assert!(found.iter().all(|it| it.candidate.superblock.raid_devices == 4));
        self.0.push(found.len());
    }

    fn goes_on(&mut self, _: u64, _: u64) -> bool {
        false
    }
}

#[test]
fn the_new_members_are_told_before_anything_is_moved() {
    let growth = Growth { level: "5", layout: None, chunk_bytes: 64 << 10, members: 3, added: 1, to: to(4) };
    let (mut world, _) = world(growth.make().0, 11, Trace::default());
    let (all, mut heard) = (growth.all(), Heard(Vec::new()));
    assert!(matches!(grow(&mut world, &all[..3], &all[3..], &growth.to, &mut heard), Ok(Grown::Stopped { .. })));
    assert!(matches!(continue_reshape(&mut world, &all, Absent::Refused, &mut heard), Ok(Grown::Stopped { .. })));
    assert_eq!(heard.0, [4, 4]);
}

/// Two members die, one after the other, which RAID6 survives; a third, which it does not.
#[test]
fn raid6_goes_on_growing_without_two_members_and_stops_at_the_third() {
    let growth = Growth { level: "6", layout: None, chunk_bytes: 64 << 10, members: 5, added: 1, to: to(6) };
    let (before, content) = growth.make();
    let all = growth.all();
    let grow_without = |died: &[usize]| {
        let (mut world, _) = world(before.clone(), 11, Trace::default());
        let (dead, mut turns) = (world.dead(), 0);
        let (members, added) = all.split_at(growth.members);
        let grown = grow(&mut world, members, added, &growth.to, &mut |_: u64, _: u64| {
            if let Some(&drive) = died.get(turns) {
                dead.borrow_mut().insert(drive);
            }
            turns += 1;
            true
        });
        (grown, world.media().to_vec())
    };
    let (grown, media) = grow_without(&[1, 5]);
    assert_eq!(grown.unwrap(), Grown::Done);
    growth.check_start(media.clone(), &[0, 2, 3, 4].map(DriveId), &content).unwrap();
    growth.check_start(media, &all, &content).unwrap();

    let (grown, media) = grow_without(&[1, 5, 0]);
    assert!(matches!(grown, Err(GrowError::Drive { .. } | GrowError::TooFewMembers)), "{grown:?}");
    // All that died is plugged in again, and the last one is in sync.
    let (mut world, _) = world(media, 3, Trace::default());
    let present = [0, 2, 3, 4].map(DriveId);
    let refused = continue_reshape(&mut world, &present, Absent::Refused, &mut |_: u64, _: u64| true);
    assert!(
        matches!(refused, Err(GrowError::Refused { why: GrowRefusal::Absent { missing: 2, .. }, .. })),
        "{refused:?}"
    );
    // Those that were left behind are there, and it is said that they are of no use.
    let refused =
        continue_reshape(&mut world, &all, Absent::Refused, &mut |_: u64, _: u64| true).unwrap_err().to_string();
    assert!(refused.contains("were left behind and lack what was written since: `--degraded`"), "{refused}");
    let grown = continue_reshape(&mut world, &present, Absent::LeftBehind, &mut |_: u64, _: u64| true);
    assert_eq!(grown.unwrap(), Grown::Done);
    growth.check_start(world.media().to_vec(), &all, &content).unwrap();
}

/// Blocks that cannot be read are computed from the others of their row; two of one row are lost,
/// and nothing is written for them.
#[test]
fn unreadable_blocks_are_made_of_the_others() {
    let growth = Growth { level: "5", layout: None, chunk_bytes: 64 << 10, members: 3, added: 1, to: to(4) };
    let (before, content) = growth.make();
    let first = 1 << 20;
    let (mut world, _) = world(before.clone(), 11, Trace::default());
    [(0, first), (1, first + 4096), (0, first + (12 << 12)), (2, first + (300 << 10))]
        .into_iter()
        .for_each(|(drive, offset)| world.spoil(drive, offset));
    assert_eq!(growth.start(&mut world).unwrap(), Grown::Done);
    growth.check(world.media().to_vec(), &content);

    let (mut world, _) = self::world(before, 11, Trace::default());
    [0, 1].into_iter().for_each(|drive| world.spoil(drive, first + 4096));
    assert!(matches!(growth.start(&mut world), Err(GrowError::Drive { .. })));
}

/// A mirror and a linear array get a member by one update: it has happened, or it has not.
#[test]
fn mirrors_and_linear_arrays_survive_power_cuts_while_they_get_a_member() {
    for level in ["1", "linear"] {
        let growth = Growth { level, layout: None, chunk_bytes: 64 << 10, members: 2, added: 1, to: to(3) };
        let (before, content) = growth.make();
        let trace = Trace::default();
        let (mut world, _) = world(before.clone(), 11, trace.clone());
        let grown = if level == "1" { Grown::ToBeFilled } else { Grown::Done };
        assert_eq!(growth.start(&mut world).unwrap(), grown);
        growth.check_start(world.media().to_vec(), &growth.all(), &content).unwrap();
        each_cut(before, &trace.take(), &mut Random::new(13), |media, _| {
            let all = growth.check_start(media.clone(), &growth.all(), &content);
            all.or_else(|_| growth.check_start(media, &growth.all()[..growth.members], &content)).unwrap();
        });
    }
}

/// A bitmap comes, or goes, by one update: the array has it, or has it not, and its content either
/// way; asked once more, it is as it was to be.
#[test]
fn arrays_survive_power_cuts_while_they_get_a_bitmap_or_lose_it() {
    for (level, members) in [("1", 2), ("5", 3), ("10", 4)] {
        let add = BitmapChange::Add { chunk_bytes: Some(16 << 10) };
        let (mut media, mut content) = (Vec::new(), Vec::new());
        for (change, policy) in [(add, Consistency::Bitmap), (BitmapChange::Remove, Consistency::Resync)] {
            let to = GrowOptions { bitmap: Some(change), ..GrowOptions::default() };
            let growth = Growth { level, layout: None, chunk_bytes: 64 << 10, members, added: 0, to };
            if media.is_empty() {
                (media, content) = growth.make();
            }
            let trace = Trace::default();
            let (mut world, _) = world(media.clone(), 11, trace.clone());
            assert_eq!(growth.start(&mut world).unwrap(), Grown::Done);
            let before = std::mem::replace(&mut media, world.media().to_vec());
            let mut cuts = 0;
            each_cut(before, &trace.take(), &mut Random::new(13), |media, _| {
                cuts += 1;
                let media = growth.check_start(media, &growth.all(), &content).unwrap();
                let (mut world, _) = self::world(media, 11, Trace::default());
                growth.start_again(&mut world).unwrap();
                let (world, plan) = self::world(world.media().to_vec(), 5, Trace::default());
                let array = ArrayVolume::open(world, plan, &growth.all(), &OpenOptions::writable()).unwrap();
                let status = array.status();
                assert_eq!((status.consistency, status.needs_resync), (Some(policy.clone()), false));
                let media = array.close().unwrap().media().to_vec();
                growth.check_start(media.clone(), &growth.all(), &content).unwrap();
                growth.check_parity(&media, &content);
            });
            assert!(cuts > 20, "{cuts} cuts");
        }
    }
}
