//! What drives are at: for every I/O of a drive, since when, and in which memory.

use std::collections::BTreeSet;

use shoal_array::{Instant, Span};
use shoal_drive::{DriveId, IoKind, Memory};

use super::latency::{Course, Pace};

/// One I/O that a drive has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub(super) drive: DriveId,
    /// What it reads into or writes out of, by its buffer and by its place at the time.
    pub(super) memory: Option<(Span, Memory)>,
    pub(super) kind: IoKind,
    pub(super) since: Instant,
    /// When it is to be begun elsewhere too.
    race_at: Option<Instant>,
    /// Nobody waits for it any more.
    is_left: bool,
}

/// What is under way on one drive.
#[derive(Clone, Debug, Default)]
struct OnDrive {
    /// Begun and not ended.
    in_flight: usize,
    /// Of these, left behind.
    left: usize,
    /// Since when it has answered nothing that somebody waits for. Means nothing while nobody does.
    quiet_since: Instant,
    pace: Pace,
}

/// The I/Os in flight on drives: for each token its drive, its start and its memory; for each drive
/// how long it has been silent.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    by_token: Vec<Option<Flight>>,
    drives: Vec<OnDrive>,
    /// How many I/Os have ended, or are waited for no more.
    answers: u64,
    /// Reads, by when they are to be begun elsewhere too.
    races: BTreeSet<(Instant, u64)>,
}

impl Flight {
    pub(super) fn is_read(&self) -> bool {
        matches!(self.kind, IoKind::Read(_))
    }

    /// Nobody waits for it any more.
    pub(super) fn is_left(&self) -> bool {
        self.is_left
    }
}

impl Flights {
    /// A drive is given an I/O.
    pub(super) fn start(
        &mut self,
        now: Instant,
        token: u64,
        drive: DriveId,
        kind: IoKind,
        memory: Option<(Span, Memory)>,
    ) {
        let (index, number) = (index_of(token), drive.0 as usize);
        if self.by_token.len() <= index {
            self.by_token.resize(index + 1, None);
        }
        if self.drives.len() <= number {
            self.drives.resize_with(number + 1, OnDrive::default);
        }
        let on_drive = &mut self.drives[number];
        if on_drive.in_flight == on_drive.left {
            on_drive.quiet_since = now;
        }
        on_drive.in_flight += 1;
        self.by_token[index] = Some(Flight { drive, memory, kind, since: now, race_at: None, is_left: false });
    }

    /// A drive has answered; none if this was no drive's.
    pub(super) fn end(&mut self, now: Instant, token: u64) -> Option<Flight> {
        let flight = self.by_token.get_mut(index_of(token))?.take()?;
        let on_drive = &mut self.drives[flight.drive.0 as usize];
        on_drive.in_flight -= 1;
        if flight.is_left {
            on_drive.left -= 1;
        } else {
            on_drive.quiet_since = now;
        }
        on_drive.pace.add(flight.kind, now.since_ns(flight.since));
        self.answers += 1;
        if let Some(at) = flight.race_at {
            self.races.remove(&(at, token));
        }
        Some(flight)
    }

    /// Leaves this I/O behind: nobody waits for it any more.
    pub(super) fn leave(&mut self, token: u64) {
        if let Some(Some(flight)) = self.by_token.get_mut(index_of(token))
            && !std::mem::replace(&mut flight.is_left, true)
        {
            self.drives[flight.drive.0 as usize].left += 1;
            self.answers += 1;
        }
    }

    /// A read is to be begun elsewhere too if it is not done by then.
    pub(super) fn race_at(&mut self, token: u64, at: Instant) {
        if let Some(Some(flight)) = self.by_token.get_mut(index_of(token)) {
            flight.race_at = Some(at);
            self.races.insert((at, token));
        }
    }

    /// When the next read is late.
    pub(super) fn next_race(&self) -> Option<Instant> {
        self.races.first().map(|(at, _)| *at)
    }

    /// A read that is late; each is told once.
    pub(super) fn take_late(&mut self, now: Instant) -> Option<u64> {
        let (at, token) = self.races.first().copied().filter(|(at, _)| *at <= now)?;
        self.races.remove(&(at, token));
        if let Some(Some(flight)) = self.by_token.get_mut(index_of(token)) {
            flight.race_at = None;
        }
        Some(token)
    }

    /// See [`Pace`].
    pub(super) fn read_p99_ns(&self, drive: DriveId) -> Option<u64> {
        self.drives.get(drive.0 as usize)?.pace.read_p99_ns()
    }

    /// See [`Pace`].
    pub(super) fn write_p99_ns(&self, drive: DriveId) -> Option<u64> {
        self.drives.get(drive.0 as usize)?.pace.write_p99_ns()
    }

    /// See [`Pace`].
    pub(super) fn read_course(&self, drive: DriveId) -> Option<Course> {
        self.drives.get(drive.0 as usize)?.pace.read_course()
    }

    /// See [`Pace`].
    pub(super) fn write_course(&self, drive: DriveId) -> Option<Course> {
        self.drives.get(drive.0 as usize)?.pace.write_course()
    }

    pub(super) fn get(&self, token: u64) -> Option<Flight> {
        *self.by_token.get(index_of(token))?
    }

    /// The I/Os of a drive that somebody waits for.
    pub(super) fn awaited_of(&self, drive: DriveId) -> Vec<u64> {
        let is_of_it = |flight: &Flight| flight.drive == drive && !flight.is_left;
        let tokens = (0..).zip(&self.by_token).filter(|(_, flight)| flight.as_ref().is_some_and(is_of_it));
        tokens.map(|(token, _)| token).collect()
    }

    /// The I/Os of a drive that were left behind.
    pub(super) fn left_on(&self, drive: DriveId) -> Vec<u64> {
        let is_of_it = |flight: &Flight| flight.drive == drive && flight.is_left;
        let tokens = (0..).zip(&self.by_token).filter(|(_, flight)| flight.as_ref().is_some_and(is_of_it));
        tokens.map(|(token, _)| token).collect()
    }

    /// How many drives have I/Os that were left behind.
    pub(super) fn drives_left_behind(&self) -> usize {
        self.drives.iter().filter(|on_drive| on_drive.left > 0).count()
    }

    /// How many I/Os are under way in a place.
    pub(super) fn count_in(&self, place: Memory) -> usize {
        let is_there = |flight: &&Flight| flight.memory.is_some_and(|(_, at)| crate::homes::contains(place, at));
        self.by_token.iter().flatten().filter(is_there).count()
    }

    /// Whether a drive has something that nobody waits for any more: it is asked for nothing until
    /// it has answered that.
    pub(crate) fn are_left_on(&self, drive: DriveId) -> bool {
        self.drives.get(drive.0 as usize).is_some_and(|on_drive| on_drive.left > 0)
    }

    /// I/Os that drives have and nobody waits for.
    pub(crate) fn left_behind(&self) -> usize {
        self.drives.iter().map(|on_drive| on_drive.left).sum()
    }

    /// How many I/Os a drive has.
    pub(super) fn in_flight(&self, drive: DriveId) -> u64 {
        self.drives.get(drive.0 as usize).map_or(0, |on_drive| on_drive.in_flight as u64)
    }

    /// Whether anything is under way that somebody waits for.
    pub(super) fn are_awaited(&self) -> bool {
        self.drives.iter().any(|on_drive| on_drive.in_flight > on_drive.left)
    }

    /// Whether somebody waits for this drive.
    pub(crate) fn awaits(&self, drive: DriveId) -> bool {
        self.drives.get(drive.0 as usize).is_some_and(|on_drive| on_drive.in_flight > on_drive.left)
    }

    /// For how long a drive has answered nothing although somebody waits for it.
    pub(super) fn silence_ns(&self, now: Instant, drive: DriveId) -> u64 {
        let awaited = self.drives.get(drive.0 as usize).filter(|on_drive| on_drive.in_flight > on_drive.left);
        awaited.map_or(0, |on_drive| now.since_ns(on_drive.quiet_since))
    }

    /// The drives that somebody waits for, the one that has been silent for longest first.
    pub(crate) fn awaited_drives(&self) -> Vec<DriveId> {
        let awaited = (0..).zip(&self.drives).filter(|(_, on_drive)| on_drive.in_flight > on_drive.left);
        let mut awaited: Vec<_> = awaited.map(|(number, on_drive)| (on_drive.quiet_since, DriveId(number))).collect();
        awaited.sort_by_key(|(quiet_since, drive)| (*quiet_since, drive.0));
        awaited.into_iter().map(|(_, drive)| drive).collect()
    }

    /// Time in which nobody could hear the drives does not count as their silence.
    pub(super) fn forgive_ns(&mut self, ns: u64) {
        for on_drive in &mut self.drives {
            on_drive.quiet_since = on_drive.quiet_since.after_ns(ns);
        }
    }

    /// How many I/Os have ended so far, or are waited for no more.
    pub(crate) fn answers(&self) -> u64 {
        self.answers
    }
}

fn index_of(token: u64) -> usize {
    usize::try_from(token).expect("tokens are indices")
}
