//! An array that outlives an outage of its drives: the engine that is paused and resumed. The
//! module above has the rules.

use std::path::PathBuf;
use std::time::Duration;

use shoal_drive::{Access, Drive, DriveKey};
use shoal_inventory::{DrivesError, Seen, machine_drives};
use shoal_volume::{
    ArrayVolume, Completion, CountedOn, DriveId, Event, Frame, Health, Instant, MemberStatus, News, OpenError,
    RequestError, Volume, VolumeError, World,
};

use super::held::{Held, failure_of};
use super::last::Last;
use super::lookout::{Errand, Lookout, Report};
use super::patience::{Outage, Step, Terms, There, Tried};
use super::sighting::Sighting;
use crate::engine::{Absence, EngineError, Resumption};
use crate::opening::ClaimError;
use crate::world::HostWorld;

/// From one look at the drives to the next.
const DISTANCE: Duration = Duration::from_millis(100);
/// How often the lookout is asked for its report.
pub(super) const GLANCE: Duration = Duration::from_millis(5);

/// An array with its engine that pauses when its drives go away together, and goes on when they are
/// back.
pub(crate) struct Resumable {
    below: Option<Below>,
    pub(super) course: Course,
    pub(super) held: Held,
    lookout: Lookout,
    /// When the drives are to be looked at.
    look_at: Instant,
    counted_on: Vec<CountedOn>,
    pub(super) terms: Terms,
    pub(super) last: Last,
    /// Answers that are due.
    pub(super) answers: Vec<Completion>,
    news: Vec<News>,
    pub(super) remarks: Vec<String>,
    pub(super) resumption: Option<Resumption>,
}

/// What is left of the array.
pub(super) enum Below {
    Array(Box<ArrayVolume<HostWorld>>),
    Frame(Box<Frame<HostWorld>>),
}

/// How an array is about to outlive its drives.
pub(super) enum Course {
    Running,
    /// A request has failed, and nobody knows why.
    InDoubt,
    Paused(Box<Pause>),
    /// It has been waited for in vain.
    Over {
        why: String,
    },
}

/// An outage, and what is known of the drives.
pub(super) struct Pause {
    pub(super) outage: Outage,
    pub(super) since_unix_s: u64,
    /// Those that are waited for.
    pub(super) absent: Vec<String>,
    /// What was tried last, and why it was refused.
    refused: Option<(Vec<DriveKey>, String)>,
    /// What is being opened.
    tried: Vec<DriveKey>,
}

impl Resumable {
    /// An array that runs.
    pub(crate) fn new(array: ArrayVolume<HostWorld>, terms: Terms) -> Result<Self, ClaimError> {
        Ok(Self {
            held: Held::new(),
            lookout: Lookout::start().map_err(ClaimError::Thread)?,
            look_at: array.now(),
            course: Course::Running,
            counted_on: Vec::new(),
            terms,
            last: Last::of(&array),
            below: Some(Below::Array(Box::new(array))),
            answers: Vec::new(),
            news: Vec::new(),
            remarks: Vec::new(),
            resumption: None,
        })
    }

    pub(super) fn below(&self) -> &Below {
        self.below.as_ref().expect("it is put back whenever it was taken")
    }

    pub(super) fn below_mut(&mut self) -> &mut Below {
        self.below.as_mut().expect("it is put back whenever it was taken")
    }

    /// The array, to be changed; not while it is paused, or if nothing is left of it.
    pub(super) fn array(&mut self) -> Result<&mut ArrayVolume<HostWorld>, EngineError> {
        let absent = self.absent();
        match (self.below.as_mut(), &self.course) {
            (Some(Below::Array(array)), Course::Running | Course::InDoubt | Course::Over { .. }) => Ok(array),
            _ => Err(absent),
        }
    }

    /// Why nothing is done to the array now.
    pub(super) fn absent(&self) -> EngineError {
        let absence = match &self.course {
            Course::Paused(pause) => Absence::Paused { waits_for: waits_for(&pause.absent) },
            Course::Over { why } => Absence::Over { why: why.clone() },
            Course::Running | Course::InDoubt => Absence::Lost,
        };
        EngineError::Absent { array: self.last.status.name.clone(), absence }
    }

    /// Puts aside what failed and may be a matter of drives that are gone, and flushes that ended
    /// beside a flush of those: nobody hears that all is durable before everybody hears that it may
    /// not be. Notes what was answered.
    pub(super) fn sift(&mut self, completions: &mut Vec<Completion>, known: usize) {
        if matches!(self.course, Course::Over { .. }) {
            return completions[known..].iter().for_each(|completion| self.held.answered(completion));
        }
        let fresh = completions.split_off(known);
        let (failed, ended): (Vec<_>, Vec<_>) = fresh.into_iter().partition(|it| failure_of(it).is_some());
        for completion in &failed {
            self.held.hold(completion.id, failure_of(completion).expect("they were chosen by it"));
        }
        for completion in ended {
            if self.held.has_flush() && self.held.is_flush(completion.id) {
                self.held.hold(completion.id, RequestError::Failed);
            } else {
                self.held.answered(&completion);
                completions.push(completion);
            }
        }
        if !failed.is_empty() {
            self.doubt();
        }
    }

    /// Something has failed: the drives are to be looked at.
    fn doubt(&mut self) {
        if let (Course::Running, Some(Below::Array(array))) = (&self.course, &mut self.below) {
            self.counted_on = array.counted_on();
            self.look_at = array.now();
            self.course = Course::InDoubt;
        }
    }

    /// Does what is to be done about an outage, if there is one.
    pub(super) fn go_on(&mut self) {
        let now = self.now();
        if let Course::Paused(pause) = &mut self.course {
            if !self.held.is_empty() {
                pause.outage.keeps_waiting(now);
            }
            if pause.outage.is_over(now) {
                return self.end();
            }
        }
        while let Some(report) = self.lookout.report() {
            match report {
                Report::Looked { seen, silent } => self.heed(&seen, &silent),
                Report::Opened { kept, fresh } => self.put_together(kept, fresh),
            }
        }
        if self.lookout.is_idle() && self.look_at <= now && matches!(self.course, Course::InDoubt | Course::Paused(_)) {
            self.look_at = now.after_ns(u64::try_from(DISTANCE.as_nanos()).unwrap_or(u64::MAX));
            let directories = self.terms.scan.iter().cloned().collect();
            self.lookout.send(Errand::Look { places: self.places(), directories });
        }
    }

    /// Where the drives may be, apart from directories.
    fn places(&self) -> Vec<PathBuf> {
        let mut places: Vec<_> = self.counted_on.iter().map(|it| PathBuf::from(&it.drive)).collect();
        if places.iter().any(|place| place.starts_with("/dev")) {
            places.extend(machine_drives());
        }
        places
    }

    fn open_drives(&self) -> Vec<(DriveId, DriveKey)> {
        match self.below() {
            Below::Array(array) => array.world().keys(),
            Below::Frame(frame) => frame.world().keys(),
        }
    }

    /// The drives were looked at. One that has not answered yet is slow, and not gone.
    fn heed(&mut self, seen: &[Seen], silent: &[PathBuf]) {
        let sighting = Sighting::of(&self.counted_on, seen, &self.open_drives());
        let now = self.now();
        match &self.course {
            Course::InDoubt if sighting.gone.iter().all(|drive| silent.contains(&PathBuf::from(drive))) => {
                self.course = Course::Running;
                self.answers.append(&mut self.held.take_failed());
            }
            Course::InDoubt => self.pause(now, &sighting),
            Course::Paused(_) | Course::Running | Course::Over { .. } => {}
        }
        if self.is_parted() {
            self.try_with(now, sighting);
        }
    }

    fn pause(&mut self, now: Instant, sighting: &Sighting) {
        let since_unix_s = match self.below() {
            Below::Array(array) => array.world().unix_time_s(),
            Below::Frame(frame) => frame.world().unix_time_s(),
        };
        let outage = Outage::new(now, self.terms.deadline);
        let gone = sighting.gone.join(" and ");
        self.remarks.push(format!(
            "paused: {gone} cannot be used any more; requests wait for {} s at most",
            self.terms.deadline.as_secs()
        ));
        self.course = Course::Paused(Box::new(Pause {
            outage,
            since_unix_s,
            absent: sighting.gone.clone(),
            refused: None,
            tried: Vec::new(),
        }));
    }

    /// Whether the old array is forgotten by now, which it is as soon as nothing of it is under
    /// way.
    fn is_parted(&mut self) -> bool {
        if !matches!(self.course, Course::Paused(_)) {
            return false;
        }
        match self.below.take() {
            Some(Below::Array(mut array)) if array.has_drained() => {
                // What was announced and not written has been taken back by now.
                self.counted_on = array.counted_on();
                self.last = Last::of(&array);
                self.news.extend(array.take_news());
                self.news.extend(array.is_scrubbing().then(|| self.end_of_scrub()));
                self.below = Some(Below::Frame(Box::new(array.part())));
                false // who is counted on may be others now
            }
            below => {
                self.below = below;
                matches!(self.below(), Below::Frame(_))
            }
        }
    }

    fn end_of_scrub(&self) -> News {
        let event = Event::ScrubFinished { mismatched_bytes: 0, completed: false };
        News { array: self.last.status.name.clone(), event }
    }

    /// Puts the array together of what is there, if it is time for that.
    fn try_with(&mut self, now: Instant, sighting: Sighting) {
        let (Course::Paused(pause), Some(Below::Frame(frame))) = (&mut self.course, &mut self.below) else { return };
        if !frame.has_drained() {
            return; // what an attempt that failed has begun: a late write could undo a newer one
        }
        if let Some(newer) = sighting.newer {
            let why = format!("{newer} was written to by somebody else meanwhile: start the array anew");
            pause.refused = Some((Vec::new(), why));
            return self.end();
        }
        pause.absent.clone_from(&sighting.absent);
        let keys = frame.world().keys().into_iter().filter(|(id, _)| sighting.kept.contains(id)).map(|(_, key)| key);
        let keys: Vec<_> = keys.chain(sighting.fresh.iter().map(|(_, key)| *key)).collect();
        let there = There::of(keys.len(), sighting.absent.len());
        let tried = match &pause.refused {
            Some((refused, _)) if *refused == keys => Tried::Refused,
            _ => Tried::No,
        };
        match pause.outage.step(now, there, tried) {
            Step::Wait => {}
            Step::End => self.end(),
            Step::PutTogether => {
                pause.tried = keys;
                let stale = frame.world().keys().into_iter().filter(|(id, _)| !sighting.kept.contains(id));
                stale.for_each(|(id, _)| frame.world_mut().remove_drive(id));
                let fresh = sighting.fresh.into_iter().map(|(path, _)| path).collect();
                let access = if self.terms.options.writable { Access::Write } else { Access::Read };
                self.lookout.send(Errand::Open { kept: sighting.kept, fresh, access });
            }
        }
    }

    fn put_together(&mut self, mut drives: Vec<DriveId>, fresh: Result<Vec<Drive>, DrivesError>) {
        // What was opened for an array that is over is closed.
        let Course::Paused(pause) = &mut self.course else { return };
        let mut frame = match self.below.take() {
            Some(Below::Frame(frame)) => frame,
            below => {
                self.below = below;
                return;
            }
        };
        let take = |fresh: Vec<Drive>| {
            fresh.into_iter().map(|drive| frame.world_mut().add_drive(drive)).collect::<Result<Vec<_>, _>>().ok()
        };
        let Some(taken) = fresh.ok().and_then(take) else {
            // It is gone again, or busy with whoever looks at every drive that comes: it is tried
            // again.
            self.below = Some(Below::Frame(frame));
            return;
        };
        drives.extend(taken);
        let unwritten = frame.rest();
        match frame.assemble(&drives, &self.terms.options) {
            Ok(array) => self.resume(array, unwritten),
            Err((frame, error)) => {
                frame.renew_events(&mut self.counted_on);
                pause.refused = is_lasting(&error).then(|| (pause.tried.clone(), error.to_string()));
                self.below = Some(Below::Frame(frame));
            }
        }
    }

    /// What the members had not taken from the old array's window is lost with it, also if a flush
    /// has said so before: later ones have tried it again.
    fn resume(&mut self, mut array: ArrayVolume<HostWorld>, unwritten: Result<(), VolumeError>) {
        let now = array.now();
        if let Course::Paused(pause) = &self.course {
            let missing = |member: &&MemberStatus| member.on.is_none();
            let missing = array.status().members.iter().filter(missing).count();
            let with = if missing == 0 { "all members".to_owned() } else { format!("{missing} members missing") };
            let lasted = pause.outage.lasts(now).as_secs_f64();
            self.remarks.push(format!("resumed after {lasted:.1} s, with {with}"));
        }
        let is_behind = self.held.is_behind() || unwritten.is_err();
        self.remarks.extend(unwritten.err().map(|error| error.to_string()));
        self.resumption = Some(if is_behind { Resumption::Unflushed } else { Resumption::Whole });
        self.held.take_to_submit().into_iter().for_each(|request| array.submit(request));
        self.last = Last::of(&array);
        self.below = Some(Below::Array(Box::new(array)));
        self.course = Course::Running;
    }

    /// The array is not waited for any more.
    pub(super) fn end(&mut self) {
        let why = match std::mem::replace(&mut self.course, Course::Running) {
            Course::Paused(pause) => match pause.refused {
                Some((_, why)) => format!("not resumed: {why}"),
                None => format!("not resumed: {} did not come back in time", waits_for(&pause.absent)),
            },
            Course::InDoubt => "it is being stopped".to_owned(),
            course @ (Course::Running | Course::Over { .. }) => {
                self.course = course;
                return;
            }
        };
        self.remarks.push(why.clone());
        self.course = Course::Over { why };
        self.answers.append(&mut self.held.take_failed());
    }

    /// News of an array in doubt are kept until it is known what they mean.
    pub(super) fn take_all_news(&mut self) -> Vec<News> {
        if let Some(Below::Array(array)) = &mut self.below {
            // What has been doubted once, and was found to be there, is not doubted again.
            let fresh = array.take_news();
            let has_failed = fresh.iter().any(|news| matches!(news.event, Event::MemberFailed(_)));
            self.news.extend(fresh);
            if has_failed && matches!(self.course, Course::Running) && array.status().health == Health::Failed {
                self.doubt();
            }
        }
        if matches!(self.course, Course::InDoubt) { Vec::new() } else { std::mem::take(&mut self.news) }
    }
}

/// Drives, by name; those that are there and busy are not named.
fn waits_for(absent: &[String]) -> String {
    if absent.is_empty() { "its drives".to_owned() } else { absent.join(" and ") }
}

/// Whether an array is refused for what its members are, and not for one that could not be read
/// just now.
fn is_lasting(error: &OpenError) -> bool {
    let is_of_a_drive = |error: &OpenError| {
        matches!(error, OpenError::NoMember { .. } | OpenError::NotRecorded { .. } | OpenError::NotRenewed { .. })
    };
    !is_of_a_drive(error) && !matches!(error, OpenError::Volume(_))
}
