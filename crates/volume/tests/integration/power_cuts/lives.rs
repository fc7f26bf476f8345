//! An array that is started again and again, by other members each time: whoever missed flushed
//! writes is never taken for a member in sync again.
//!
//! Four lives, with the power cut at the end of each:
//!
//! 1. all members: content is written and flushed, and the superblocks say that writes are under
//!    way;
//! 2. one or more are absent: content is overwritten and flushed. *Power is cut at every place*,
//!    from the first I/O on;
//! 3. any of the sets of members that may start next: more is written and flushed;
//! 4. every set that has one of those that ran last: it shows what was flushed, or nothing.

use std::collections::BTreeSet;

use shoal_drive::DriveId;
use shoal_volume::transfer::read_to;
use shoal_volume::{ArrayVolume, ConsistencyPolicy, Health, OpenOptions, Volume};

use crate::power_cuts::content::{BLOCK_BYTES, Expected};
use crate::power_cuts::cut::{Cursor, Fate};
use crate::power_cuts::media::Media;
use crate::power_cuts::random::Random;
use crate::power_cuts::story::{Act, Story, live, world};
use crate::power_cuts::trace::{Fact, Trace};
use crate::power_cuts::{story, with_bitmap};

/// What an array goes through.
struct Lives {
    story: Story,
    /// What happens before the first life ends.
    first: Vec<Act>,
    /// Members of the second life.
    second: &'static [usize],
    /// Sets that may start next, the second life's among them.
    sets: Vec<Vec<usize>>,
}

/// What is on the drives, and what its user may rely on.
#[derive(Clone)]
struct Left {
    media: Vec<Media>,
    expected: Expected,
    version: u32,
    /// Blocks of stripes that power was cut off from: who forces an array takes them as they are.
    excused: Vec<bool>,
}

/// All sets of so many of the drives.
fn sets(drives: usize, least: usize) -> Vec<Vec<usize>> {
    let all = (0..1_usize << drives).map(|bits| (0..drives).filter(|drive| bits >> drive & 1 == 1).collect());
    all.filter(|set: &Vec<usize>| set.len() >= least).collect()
}

fn overwrite() -> Vec<Act> {
    vec![Act::Write(vec![(0, 12), (20, 3), (40, 9)]), Act::Flush, Act::Write(vec![(2, 5)]), Act::Flush]
}

impl Left {
    /// Some drives come up, things are done, and power is cut: before each fact of the trace that
    /// this gives.
    fn live(&self, drives: &[usize], acts: &[Act], seed: u64) -> Option<(Vec<Fact>, u32)> {
        let trace = Trace::default();
        let version = live(self.media.clone(), drives, acts, (seed, self.version), &trace).ok()?;
        Some((trace.take(), version))
    }

    fn cursor(&self) -> Cursor {
        Cursor::new(self.media.clone(), self.expected.clone())
    }

    fn after(&self, cursor: &Cursor, media: Vec<Media>, version: u32, row_blocks: usize) -> Self {
        let mut excused = self.excused.clone();
        for block in cursor.expected.unsettled() {
            let row = block / row_blocks * row_blocks;
            let end = (row + row_blocks).min(excused.len());
            excused[row..end].fill(true);
        }
        Self { media, expected: cursor.expected.clone(), version, excused }
    }

    /// What is left when all of a life's facts have happened.
    fn at_end(&self, facts: &[Fact], version: u32, row_blocks: usize) -> Self {
        let mut cursor = self.cursor();
        facts.iter().for_each(|fact| cursor.step(fact));
        let media = cursor.cut(Fate::Lost, &mut Random::new(1));
        self.after(&cursor, media, version, row_blocks)
    }

    /// What these drives show is what was flushed; says whether they show anything.
    fn check(&self, drives: &[usize]) -> Result<bool, String> {
        let (world, plan) = world(self.media.clone(), 5, Trace::default());
        let ids: Vec<_> = drives.iter().map(|drive| DriveId(*drive as u32)).collect();
        let Ok(mut array) = ArrayVolume::open(world, plan, &ids, &OpenOptions::read_only()) else { return Ok(false) };
        if array.status().health == Health::Failed {
            return Ok(false);
        }
        let (mut bytes, size) = (Vec::new(), array.size_bytes());
        read_to(&mut array as &mut dyn Volume, 0, size, &mut bytes).map_err(|error| error.to_string())?;
        self.expected.check(&bytes, |block| self.excused[block])?;
        Ok(true)
    }
}

impl Lives {
    fn row_blocks(&self) -> usize {
        self.story.row_blocks().unwrap_or(1)
    }

    fn lead(&self) {
        let media = self.story.make(1);
        let all: Vec<_> = (0..self.story.members).collect();
        let (world, plan) = world(media.clone(), 1, Trace::default());
        let ids: Vec<_> = all.iter().map(|drive| DriveId(*drive as u32)).collect();
        let array = ArrayVolume::open(world, plan, &ids, &OpenOptions::read_only()).unwrap();
        let blocks = usize::try_from(array.size_bytes()).unwrap() / BLOCK_BYTES;
        drop(array);
        let new = Left { media, expected: Expected::new(blocks), version: 0, excused: vec![false; blocks] };
        let (facts, version) = new.live(&all, &self.first, 2).expect("all members are there");
        let first = new.at_end(&facts, version, self.row_blocks());
        let (facts, version) = first.live(self.second, &overwrite(), 3).expect("the level survives it");
        let mut cursor = first.cursor();
        let mut random = Random::new(4);
        let mut tries = 0;
        for place in 0..=facts.len() {
            let fates = if cursor.is_settled() { &[Fate::Lost][..] } else { &Fate::ALL };
            for (number, &fate) in fates.iter().enumerate() {
                let media = cursor.cut(fate, &mut random);
                let second = first.after(&cursor, media, version, self.row_blocks());
                let third = &self.sets[(place + number) % self.sets.len()];
                let told = self.go_on(&second, place == facts.len(), third);
                tries += told.unwrap_or_else(|why| {
                    let name = self.story.name;
                    panic!("{name}: cut before fact {place} of {}, {fate:?}, then {third:?}: {why}", facts.len())
                });
            }
            if let Some(fact) = facts.get(place) {
                cursor.step(fact);
            }
        }
        println!("{}: {} places, {tries} starts", self.story.name, facts.len());
    }

    /// The lives after the cut. Gives the number of starts.
    fn go_on(&self, second: &Left, was_flushed: bool, third: &[usize]) -> Result<usize, String> {
        // Who ran last shows what was flushed, and so do all; whoever is alone with old content is
        // not asked.
        for set in self.sets.iter().filter(|_| was_flushed).filter(|set| shares(set, self.second)) {
            let shown = second.check(set).map_err(|why| format!("{set:?} at once: {why}"))?;
            if !shown && self.second.iter().all(|drive| set.contains(drive)) {
                return Err(format!("{set:?} show nothing"));
            }
        }
        // The third life may be of members that know nothing of the second.
        if was_flushed && !shares(third, self.second) {
            return Ok(0);
        }
        let Some((facts, version)) = second.live(third, &overwrite(), 6) else { return Ok(0) };
        let left = second.at_end(&facts, version, self.row_blocks());
        let mut tries = 0;
        let ran = took_part(&facts);
        let flushed = facts.iter().any(|fact| matches!(fact, Fact::FlushAnswered { good: true }));
        for set in self.sets.iter().filter(|set| shares(set, &ran)) {
            let shown = left.check(set).map_err(|why| format!("{set:?} after that: {why}"))?;
            if !shown && flushed && *set == ran {
                return Err(format!("{set:?} show nothing after they ran"));
            }
            tries += 1;
        }
        Ok(tries)
    }
}

/// The drives that took part in a life: those that were written to.
fn took_part(facts: &[Fact]) -> Vec<usize> {
    let written = facts.iter().filter_map(|fact| match fact {
        Fact::Write { drive, .. } => Some(*drive),
        _ => None,
    });
    written.collect::<BTreeSet<_>>().into_iter().collect()
}

fn shares(left: &[usize], right: &[usize]) -> bool {
    left.iter().any(|drive| right.contains(drive))
}

fn lives(story: Story, second: &'static [usize], least: usize) -> Lives {
    let first = vec![Act::Write(vec![(0, 32), (32, 32)]), Act::Flush];
    Lives { sets: sets(story.drives(), least), story, first, second }
}

fn plain(name: &'static str, level: &'static str, members: usize) -> Story {
    story(name, level, None, members, Vec::new())
}

#[test]
fn who_missed_flushed_writes_of_a_raid5_is_not_in_sync() {
    lives(plain("RAID5, forced", "5", 3), &[0, 1], 2).lead();
    let ppl = Story { consistency: ConsistencyPolicy::Ppl, may_refuse: false, ..plain("RAID5 with PPL", "5", 3) };
    lives(ppl.clone(), &[0, 1], 2).lead();
    lives(ppl, &[1, 2], 2).lead();
}

#[test]
fn who_missed_flushed_writes_of_a_raid6_is_not_in_sync() {
    lives(plain("RAID6, two missing", "6", 4), &[1, 2], 2).lead();
    lives(plain("RAID6, one missing", "6", 4), &[0, 1, 3], 2).lead();
}

#[test]
fn who_missed_flushed_writes_of_a_mirror_is_not_in_sync() {
    lives(plain("RAID1", "1", 2), &[1], 1).lead();
    lives(plain("RAID1 of three", "1", 3), &[0, 1], 1).lead();
    lives(plain("RAID10", "10", 4), &[0, 1, 3], 3).lead();
}

#[test]
fn who_missed_flushed_writes_of_an_array_with_a_bitmap_is_not_in_sync() {
    lives(with_bitmap(plain("RAID1 with a bitmap", "1", 2)), &[0], 1).lead();
    lives(with_bitmap(plain("RAID5 with a bitmap", "5", 3)), &[0, 2], 2).lead();
}

#[test]
fn who_missed_flushed_writes_of_an_array_in_an_array_is_not_in_sync() {
    let second = &[0, 1, 3, 4, 5];
    let sets = sets(6, 5);
    let of = |name, level| Lives { sets: sets.clone(), ..lives(plain(name, level, 6), second, 5) };
    of("mirror over RAID5", "51").lead();
    of("stripes over RAID5", "50").lead();
}

#[test]
fn a_member_that_was_being_rebuilt_and_missed_flushed_writes_goes_on_from_nowhere() {
    let story = Story { others: 1, ..plain("RAID5, rebuilt", "5", 3) };
    let mut lives = lives(story, &[0, 2], 2);
    lives.first = vec![
        Act::Write(vec![(0, 32), (32, 32)]),
        Act::Flush,
        Act::WriteAndKill(vec![(64, 2), (70, 2)], 1),
        Act::Write(vec![(0, 4)]),
        Act::Flush,
        Act::Add(3),
        Act::Idle(12),
        Act::Write(vec![(8, 2)]),
        Act::Flush,
    ];
    lives.sets = vec![vec![0, 2], vec![0, 2, 3], vec![0, 3], vec![2, 3]];
    lives.lead();
}
