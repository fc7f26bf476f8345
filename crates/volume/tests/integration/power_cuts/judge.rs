//! After the power cut: the array is opened again, recovers, and is held against what its user may
//! rely on.

use std::time::Duration;

use shoal_drive::DriveId;
use shoal_volume::transfer::read_to;
use shoal_volume::{
    ArrayVolume, Event, Features, Health, MemberUse, OpenError, OpenOptions, ScrubMode, Superblock, Volume,
};

use crate::power_cuts::content::{BLOCK_BYTES, Expected};
use crate::power_cuts::cut::{Cursor, Fate};
use crate::power_cuts::media::{Media, superblock};
use crate::power_cuts::random::Random;
use crate::power_cuts::story::world;
use crate::power_cuts::trace::Trace;
use crate::power_cuts::world::TracedWorld;

/// What became of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All is as promised.
    Recovered,
    /// It was refused as dirty and degraded; forced, nothing beside the stripes that were being
    /// written is worse.
    Forced,
}

/// One cut to be judged.
pub(crate) struct Case<'a> {
    /// What is left on the drives.
    pub(crate) media: Vec<Media>,
    /// Drives that are there after the cut.
    pub(crate) present: Vec<usize>,
    pub(crate) expected: &'a Expected,
    /// Blocks of content that share parity.
    pub(crate) row_blocks: Option<usize>,
    /// Whether a dirty and degraded array may be refused.
    pub(crate) may_refuse: bool,
    /// It was forced before.
    pub(crate) was_forced: bool,
    /// Blocks that a drive was being written when it was lost, on an array that says no more of
    /// them.
    pub(crate) lost: Vec<usize>,
    pub(crate) seed: u64,
}

impl Case<'_> {
    /// Recovers the array and holds it against what is expected.
    pub(crate) fn judge(&self) -> Result<Outcome, String> {
        self.recover_and_check().map_err(|why| format!("{why}\n{}", superblocks(&self.media)))
    }

    fn recover_and_check(&self) -> Result<Outcome, String> {
        self.check_spares()?;
        let (mut array, outcome) = self.open_as_may_be(&Trace::default())?;
        let excused = self.excused(&array, outcome);
        self.expected.check(&content(&mut array)?, |block| excused[block]).map_err(|why| format!("at once: {why}"))?;
        recover(&mut array)?;
        let recovered = content(&mut array)?;
        self.expected.check(&recovered, |block| excused[block]).map_err(|why| format!("recovered: {why}"))?;
        let health = array.status().health;
        scrub(&mut array)?;
        let media = array.close().map_err(|error| error.to_string())?.media().to_vec();
        self.check_redundancy(media, health, &recovered)?;
        Ok(outcome)
    }

    /// Linux believes the freshest superblock about who has a role, and a drive's own about what it
    /// holds: a spare that does not know of its role yet must not look as if it held all of it.
    fn check_spares(&self) -> Result<(), String> {
        let own: Vec<_> = self.present.iter().filter_map(|drive| superblock(&self.media[*drive])).collect();
        let of_member = |of: &&Superblock| matches!(of.member_use(of.dev_number), MemberUse::Active(_));
        let Some(freshest) = own.iter().filter(of_member).max_by_key(|of| of.events) else { return Ok(()) };
        let is_unaware = |of: &&Superblock| {
            let [known, listed] = [*of, freshest].map(|table| table.member_use(of.dev_number));
            known == MemberUse::Spare && matches!(listed, MemberUse::Active(_))
        };
        let says_nothing = |of: &Superblock| !of.features.any_of(Features::RECOVERY_OFFSET);
        match own.iter().find(is_unaware).is_some_and(says_nothing) {
            true => Err("Linux would take a spare for a member in sync".to_owned()),
            false => Ok(()),
        }
    }

    /// Cuts power again, somewhere in the recovery, and judges that.
    pub(crate) fn judge_second_cut(&self, random: &mut Random) -> Result<Outcome, String> {
        let trace = Trace::default();
        let (mut array, first) = self.open_as_may_be(&trace)?;
        recover(&mut array)?;
        drop(array);
        let trace = trace.take();
        let place = random.below(trace.len() + 1);
        let mut cursor = Cursor::new(self.media.clone(), self.expected.clone());
        trace[..place].iter().for_each(|fact| cursor.step(fact));
        let fate = Fate::ALL[random.below(Fate::ALL.len())];
        let (media, present) = (cursor.cut(fate, random), self.present.clone());
        let second =
            Case { media, present, was_forced: first == Outcome::Forced, lost: self.lost.clone(), ..*self }.judge();
        second.map_err(|why| format!("{why}\n(cut again before fact {place} of the recovery, {fate:?})"))
    }

    fn open_as_may_be(&self, trace: &Trace) -> Result<(ArrayVolume<TracedWorld>, Outcome), String> {
        match self.open(OpenOptions::writable(), trace) {
            // What had to be forced once is not made right by another cut.
            Ok(array) => Ok((array, if self.was_forced { Outcome::Forced } else { Outcome::Recovered })),
            Err(OpenError::DirtyDegraded { .. }) if self.may_refuse => {
                let forced = OpenOptions { force: true, ..OpenOptions::writable() };
                let array = self.open(forced, trace).map_err(|error| format!("forced: {error}"))?;
                Ok((array, Outcome::Forced))
            }
            Err(error) => Err(format!("it does not open: {error}")),
        }
    }

    fn open(&self, options: OpenOptions, trace: &Trace) -> Result<ArrayVolume<TracedWorld>, OpenError> {
        let (world, plan) = world(self.media.clone(), self.seed, trace.clone());
        let drives = self.present.iter().filter(|drive| has_superblock(&self.media[**drive]));
        let drives: Vec<_> = drives.map(|drive| DriveId(*drive as u32)).collect();
        ArrayVolume::open(world, plan, &drives, &options)
    }

    /// The blocks that may be anything: those of stripes that were being written, if the array had
    /// to be forced.
    fn excused(&self, array: &ArrayVolume<TracedWorld>, outcome: Outcome) -> Vec<bool> {
        let blocks = usize::try_from(array.size_bytes()).expect("small") / BLOCK_BYTES;
        let mut excused = vec![false; blocks];
        self.lost.iter().for_each(|block| excused[*block] = true);
        if outcome == Outcome::Forced {
            let row_blocks = self.row_blocks.expect("only levels with parity are refused");
            for block in self.expected.unsettled() {
                let row = block / row_blocks * row_blocks;
                excused[row..(row + row_blocks).min(blocks)].fill(true);
            }
        }
        excused
    }

    /// Closed in order, with all members in sync, the array has the same content without any one of
    /// them.
    fn check_redundancy(&self, media: Vec<Media>, health: Health, content: &[u8]) -> Result<(), String> {
        let left_out =
            if health == Health::Optimal { Some(self.present[self.seed as usize % self.present.len()]) } else { None };
        let present = self.present.iter().copied().filter(|drive| Some(*drive) != left_out).collect();
        let case = Case { media, present, lost: Vec::new(), ..*self };
        let array = case.open(OpenOptions::read_only(), &Trace::default());
        let mut array = array.map_err(|error| format!("without drive {left_out:?} it does not open: {error}"))?;
        if array.needs_resync() {
            return Err("closed in order, it still needs a resync".to_owned());
        }
        match self::content(&mut array)? == content {
            true => Ok(()),
            false => Err(format!("without drive {left_out:?} the content is another one")),
        }
    }
}

/// A drive that was about to join may not have one yet.
fn has_superblock(media: &Media) -> bool {
    superblock(media).is_some()
}

/// What the superblocks say, a line for each drive.
fn superblocks(media: &[Media]) -> String {
    let line = |(drive, media): (usize, &Media)| {
        let Some(superblock) = superblock(media) else { return format!("drive {drive}: no superblock") };
        let Superblock { events, dev_number, features, recovery_offset_sectors, resync_offset_sectors, .. } =
            superblock;
        let table: Vec<_> = (0..superblock.raid_devices + 2).map(|number| superblock.member_use(number)).collect();
        format!(
            "drive {drive}: events {events}, number {dev_number}, features {features}, rebuilt to \
             {recovery_offset_sectors}, synced to {resync_offset_sectors}, table {table:?}"
        )
    };
    media.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

fn content(array: &mut ArrayVolume<TracedWorld>) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let size = array.size_bytes();
    read_to(array as &mut dyn Volume, 0, size, &mut bytes).map_err(|error| format!("it cannot be read: {error}"))?;
    Ok(bytes)
}

/// Lets resyncs and rebuilds come to their end.
fn recover(array: &mut ArrayVolume<TracedWorld>) -> Result<(), String> {
    while array.run_background(Duration::from_secs(3600)).map_err(|error| error.to_string())? {}
    Ok(())
}

/// There is nothing to find for a scrub.
fn scrub(array: &mut ArrayVolume<TracedWorld>) -> Result<(), String> {
    array.take_news();
    if array.scrub(ScrubMode::Check).is_err() {
        return Ok(()); // nothing is left to compare with
    }
    recover(array)?;
    for news in array.take_news() {
        if let Event::ScrubFinished { mismatched_bytes, completed } = news.event
            && (mismatched_bytes > 0 || !completed)
        {
            let found = array.take_news();
            return Err(format!("a scrub finds {mismatched_bytes} bytes (whole: {completed}): {found:?}"));
        }
    }
    Ok(())
}
