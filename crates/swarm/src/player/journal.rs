//! Linux runs the array with a write journal for a while, and is killed: the next start replays
//! what it left.
//!
//! Whatever Linux has answered is in the journal, and durable. The journal must be there, and
//! sound, until all of that is on the members; the player keeps faults away from it. Members may
//! fail meanwhile as at any other time, and power may be cut again and again.

use std::ops::Range;

use shoal_array::{Geometry, Shape};
use shoal_md::{Features, MemberUse, SECTOR_BYTES};
use shoal_sim::{Content, Misbehaviour, MisbehaviourKind};
use shoal_volume::{ArrayLevel, ConsistencyPolicy, Superblock};

use super::Player;
use super::power::{has_all, superblock};
use super::requests::BLOCK;
use crate::checkers::{Failure, stamp};
use crate::journals::{JOURNALED_BYTES, Kept, Killed, Log, with_role};
use crate::random::Random;
use crate::scenario::{Linux, Trouble};

/// What is told apart in the chance that a seed gives.
const PURPOSE_LINUX: u64 = 3;
/// What a table of roles says of a journal.
const ROLE_JOURNAL: u16 = 0xfffd;

/// A write journal, as far as the player has to know of it.
#[derive(Clone, Debug, Default)]
pub(super) struct JournalDrive {
    /// Which drive it is.
    pub(super) drive: Option<usize>,
    /// Blocks that it has alone, until the array is open.
    pub(super) alone: Vec<usize>,
}

impl Player<'_> {
    /// Closes the array in order; Linux runs it with a journal, and is killed; the array is opened.
    pub(super) fn run_linux(&mut self, linux: Linux) -> Result<(), Failure> {
        if !self.can_have_journal() {
            return Ok(());
        }
        let Some(mut contents) = self.close_whole()? else { return Ok(()) };
        if self.promises.unsettled().next().is_none() {
            self.leave_log(linux, &mut contents)?;
        }
        self.boot(contents)
    }

    fn can_have_journal(&self) -> bool {
        let is_plain = matches!(self.scenario.level, ArrayLevel::Plain(_));
        let is_resynced = self.scenario.consistency == ConsistencyPolicy::Resync;
        is_plain && self.has_parity() && is_resynced && !self.silent.is_any() && self.armed.is_empty()
    }

    /// What Linux leaves on the drives, if it can run the array.
    fn leave_log(&mut self, linux: Linux, contents: &mut [Content]) -> Result<(), Failure> {
        let Some((geometry, seats)) = self.sound_array(contents) else { return Ok(()) };
        let mut random = Random::new(linux.seed, PURPOSE_LINUX);
        let Some(log) = self.give_journal(contents, &mut random) else { return Ok(()) };
        let journal = self.journal.drive.expect("it was given one");
        let mut killed = Killed::new(contents, geometry, seats, journal, log);
        for _ in 0..linux.writes {
            let kept = if random.percent(50) { Kept::Row } else { Kept::Data };
            self.write_there(&mut killed, kept, true, &mut random);
        }
        let covered = self.promises.flush_asked();
        self.promises.flush_answered(&covered, true)?;
        if random.percent(50) {
            self.write_there(&mut killed, Kept::Row, false, &mut random);
        }
        self.promises.power_cut();
        killed.end();
        self.remember_found(contents);
        self.counts.journals += 1;
        self.note(format_args!("Linux was killed, with drive {journal} for its journal"));
        self.make_trouble(linux.trouble, contents);
        linux.cuts_after.into_iter().flatten().for_each(|events| self.cut_later(events));
        Ok(())
    }

    /// Some blocks of one column are written.
    fn write_there(&mut self, killed: &mut Killed, kept: Kept, is_answered: bool, random: &mut Random) {
        let (column, first) = (random.below(1 << 20), random.below(64) as usize);
        let mut offsets: Vec<_> =
            (0..random.within(1..=3) as usize).map(|index| killed.place(column, first + index)).collect();
        offsets.sort_unstable();
        offsets.dedup();
        let newest = self.promises.next_version();
        let mut blocks = Vec::new();
        for (version, offset) in (newest..).zip(&offsets) {
            let mut bytes = vec![0; JOURNALED_BYTES];
            stamp(blocks_of(*offset).start, version, &mut bytes);
            blocks.push((*offset, bytes));
        }
        if !killed.write(&blocks, kept, is_answered, random) {
            return;
        }
        for offset in offsets {
            let version = self.promises.asked(blocks_of(offset), false);
            if is_answered {
                self.promises.answered(version, true);
            }
            if kept == Kept::Data {
                self.journal.alone.extend(blocks_of(offset));
            }
        }
    }

    /// The shape of an array all of whose members are there and in sync, and by role their drives
    /// and where their data start; none if it has any drive, a spare perhaps, that would refuse
    /// something.
    fn sound_array(&self, contents: &[Content]) -> Option<(Geometry, Vec<(usize, u64)>)> {
        let own: Vec<_> =
            (0..contents.len()).filter_map(|drive| Some((drive, superblock(&contents[drive])?))).collect();
        let events = own.iter().map(|(_, own)| own.events).max()?;
        if own.iter().any(|(drive, own)| own.events == events && contents[*drive].is_armed()) {
            return None;
        }
        let is_sound = |(drive, own): &&(usize, Superblock)| {
            let content = &contents[*drive];
            own.events == events && has_all(own) && !content.owes_a_flush()
        };
        let mut seats = vec![None; self.members];
        for (drive, own) in own.iter().filter(is_sound) {
            if let MemberUse::Active(role) = own.own_use() {
                *seats.get_mut(role.index())? = Some((*drive, own.data_offset_bytes()));
            }
        }
        let any = own.iter().map(|(_, own)| own).find(|own| own.events == events && own.is_clean())?;
        let chunk_bytes = u32::try_from(any.chunk_bytes()).ok()?;
        let shape = Shape { level: any.level().ok()?, chunk_bytes, member_bytes: vec![any.used_bytes(); self.members] };
        Some((Geometry::new(shape).ok()?, seats.into_iter().collect::<Option<_>>()?))
    }

    /// The array gets a journal, or goes on with the one that it has: an empty log, anywhere on it.
    fn give_journal(&mut self, contents: &mut [Content], random: &mut Random) -> Option<Log> {
        let all: Vec<_> =
            (0..contents.len()).filter_map(|drive| Some((drive, superblock(&contents[drive])?))).collect();
        let freshest = all.iter().map(|(_, own)| own.events).max()?;
        let current: Vec<_> = all.into_iter().filter(|(_, own)| own.events == freshest).collect();
        let in_use = self.stock.drives();
        let is_free = |drive: &usize| {
            let is_listed = current.iter().any(|(other, _)| other == drive);
            let content = &contents[*drive];
            // A log that cannot be read is refused, as it should be: that proves nothing here.
            let is_sound = !content.is_gone() && !content.owes_a_flush() && !content.may_be_unreadable();
            !in_use.contains(drive) && !is_listed && is_sound
        };
        let drive = self.journal.drive.or_else(|| (0..contents.len()).find(is_free))?;
        let bytes = contents[drive].size_bytes();
        let (_, like) = current.iter().find(|(other, _)| contents[*other].size_bytes() == bytes)?;
        let number = match self.journal.drive {
            Some(_) => current.iter().find(|(other, _)| *other == drive)?.1.dev_number,
            None => (0..).find(|number| is_unused(&current, *number))?,
        };
        let mut own = like.clone();
        own.dev_number = number;
        own.features = own.features.with(Features::JOURNAL, true);
        own.device_uuid.0 = [number as u8 ^ 0xa5; 16];
        let blocks = own.data_size_sectors * SECTOR_BYTES / JOURNALED_BYTES as u64;
        own.recovery_offset_sectors = random.below(blocks) * JOURNALED_BYTES as u64 / SECTOR_BYTES;
        contents[drive].disarm();
        for (member, mut superblock) in current.into_iter().filter(|(other, _)| *other != drive) {
            superblock.features = superblock.features.with(Features::JOURNAL, true);
            put(&mut contents[member], &superblock, number);
        }
        put(&mut contents[drive], &own, number);
        self.journal = JournalDrive { drive: Some(drive), alone: Vec::new() };
        Some(Log::new(&own, random.below(1 << 40)))
    }

    /// A member will misbehave at the next start, if the array can do without it.
    pub(super) fn make_trouble(&mut self, trouble: Option<Trouble>, contents: &mut [Content]) {
        let Some(Trouble { drive, kind, skip }) = trouble else { return };
        let drive = drive % contents.len();
        if contents[drive].is_gone() || !self.may_stay_away(drive, contents) {
            self.counts.passed_over += 1;
            return;
        }
        let Some(own) = superblock(&contents[drive]) else { return };
        let within = match kind {
            MisbehaviourKind::ReadFails(_) => own.data_offset_bytes()..own.data_offset_bytes() + own.used_bytes(),
            _ => 0..contents[drive].size_bytes(),
        };
        self.note(format_args!("* drive {drive}: {kind:?}, {skip} of them later"));
        contents[drive].arm(Misbehaviour { kind, within, skip });
        self.stock.weaken(drive);
        self.counts.errors += 1;
    }

    /// The log was being replayed when power was cut: what it gives the array by way of its user
    /// has a write hole, as that has.
    pub(super) fn find_replay_holes(&mut self) {
        self.find_holes_of_records();
        let tied = self.journal.alone.iter().flat_map(|block| self.seats.tied_to(*block as u64 * BLOCK));
        self.holes.extend(tied.map(|offset| (offset / BLOCK) as usize).collect::<Vec<_>>());
    }

    /// Whether a drive has to be there, and sound, whatever else is spared.
    pub(super) fn is_journal(&self, drive: usize) -> bool {
        self.journal.drive == Some(drive)
    }
}

fn blocks_of(offset: u64) -> Range<usize> {
    let first = (offset / BLOCK) as usize;
    first..first + JOURNALED_BYTES / BLOCK as usize
}

fn is_unused(current: &[(usize, Superblock)], number: u32) -> bool {
    current.iter().all(|(_, own)| own.dev_number != number && own.member_use(number) == MemberUse::Spare)
}

fn put(content: &mut Content, superblock: &Superblock, journal: u32) {
    let bytes = with_role(superblock, journal, ROLE_JOURNAL);
    content.write(superblock.super_offset_bytes(), bytes.as_slice()).expect("nothing is armed");
}
