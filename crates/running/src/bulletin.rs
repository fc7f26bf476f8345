//! What happened in an array, put together from its engine's events: the latest news, the findings
//! of a scrub, and how fast background work goes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use shoal_documents::{FindingsDocument, MismatchDocument, NewsDocument, RangeDocument};
use shoal_text::format_size;
use shoal_volume::{ArrayStatus, Event, JobProgress, MemberOn, Mismatch, News, Role};

use crate::limits::{NEWS_MAX, PLACES_MAX};

/// That a member refuses flushes is not told again so soon.
const REPEAT_AFTER: Duration = Duration::from_secs(60);
/// A rate is measured over so many samples, so far apart.
const SAMPLES: usize = 8;
const SAMPLE_DISTANCE: Duration = Duration::from_millis(500);

/// What is told of a last copy that did not take a flush.
const FLUSH_FAILED: &str = "did not keep what was written to it, and nobody else has it: what was not flushed may be lost; \
                            replace the drive";
/// The same once it has all of it again.
const RENEWED: &str = "has refused a flush; what it may have lost by that was written to it again";

/// What is told of a member that is suspect.
const SLOW: &str = "is slow or silent: look at the drive";

/// A piece of news, and when it was put up: the clock of the day may be set meanwhile.
#[derive(Debug)]
struct Told {
    at: Instant,
    news: NewsDocument,
}

/// What is known of an array beside its state: the latest news, the last scrub's findings, and the
/// speed of background work.
#[derive(Debug, Default)]
pub(crate) struct Bulletin {
    news: VecDeque<Told>,
    /// How many of them, the latest ones, nobody has been told of.
    untold: usize,
    /// Which drive has which role, as last known: a member that failed is named by it.
    seats: BTreeMap<(String, u16), String>,
    /// Members that are slow, as last told.
    suspects: BTreeSet<(String, u16)>,
    findings: Option<FindingsDocument>,
    /// The array whose findings they are: members without another name are its own.
    scrubbed: String,
    lost_ranges: u64,
    /// Whether the findings are those of a scrub that is not over.
    scrubs: bool,
    samples: VecDeque<(Instant, u64)>,
}

impl Bulletin {
    /// A scrub starts; what the last one found is forgotten.
    pub(crate) fn start_scrub(&mut self, array: String, keep_data: bool) {
        self.scrubs = true;
        self.scrubbed = array;
        self.findings = Some(FindingsDocument {
            keep_data,
            complete: true,
            mismatched_bytes: 0,
            unrepaired_bytes: 0,
            mismatches: Vec::new(),
            healed_bytes: 0,
            healed: Vec::new(),
            unhealed_bytes: 0,
            unhealed: Vec::new(),
            unreadable_bytes: 0,
            unreadable: Vec::new(),
        });
    }

    /// No scrub is under way any more.
    pub(crate) fn end_scrub(&mut self) {
        self.scrubs = false;
    }

    /// Whether a scrub is under way.
    pub(crate) fn scrubs(&self) -> bool {
        self.scrubs
    }

    /// What the last scrub found, or the one under way so far.
    pub(crate) fn findings(&self) -> Option<&FindingsDocument> {
        self.findings.as_ref()
    }

    /// The latest news, oldest first.
    pub(crate) fn news(&self) -> Vec<NewsDocument> {
        self.news.iter().map(|told| told.news.clone()).collect()
    }

    /// How many ranges of content were found to be lost.
    pub(crate) fn lost_ranges(&self) -> u64 {
        self.lost_ranges
    }

    /// Remembers who sits where.
    pub(crate) fn see(&mut self, status: &ArrayStatus) {
        for member in &status.members {
            match &member.on {
                Some(MemberOn::Drive(drive)) => {
                    self.seats.insert((status.name.clone(), member.role.0), drive.clone());
                }
                Some(MemberOn::Array(inner)) => {
                    self.seats.insert((status.name.clone(), member.role.0), format!("the array {}", inner.name));
                    self.see(inner);
                }
                None => {}
            }
        }
    }

    /// Tells who has become slow, and who is not any more.
    pub(crate) fn see_suspects(&mut self, status: &ArrayStatus) {
        for member in &status.members {
            let seat = (status.name.clone(), member.role.0);
            let has_changed = if member.suspect { self.suspects.insert(seat) } else { self.suspects.remove(&seat) };
            if has_changed && member.on.is_some() {
                let what = if member.suspect { SLOW } else { "answers as fast as the others again" };
                self.tell(status.name.clone(), format!("{} {what}", self.member(&status.name, member.role)));
            }
            if let Some(MemberOn::Array(inner)) = &member.on {
                self.see_suspects(inner);
            }
        }
    }

    fn member(&self, array: &str, role: Role) -> String {
        match self.seats.get(&(array.to_owned(), role.0)) {
            Some(drive) => format!("member {} ({drive})", role.0),
            None => format!("member {}", role.0),
        }
    }

    /// News that this was not asked for before.
    pub(crate) fn take_untold(&mut self) -> Vec<NewsDocument> {
        let told = self.news.len() - std::mem::take(&mut self.untold);
        self.news.iter().skip(told).map(|told| told.news.clone()).collect()
    }

    /// Takes in what happened, and who sits where after it. Who has failed is named as last seen: a
    /// spare may have the role by now.
    pub(crate) fn take_in(&mut self, all: &[News], after: &ArrayStatus) {
        let has_failed = |news: &News| matches!(news.event, Event::MemberFailed(_));
        let failed: Vec<_> = all.iter().map(|news| has_failed(news).then(|| self.text(news)).flatten()).collect();
        self.see(after);
        for (news, failed) in all.iter().zip(failed) {
            let text = failed.or_else(|| self.text(news));
            self.take_in_one(news, text);
        }
    }

    fn take_in_one(&mut self, news: &News, text: Option<String>) {
        self.lost_ranges += u64::from(matches!(news.event, Event::Lost { .. }));
        if let Some(findings) = self.findings.as_mut().filter(|_| self.scrubs) {
            let inner = (news.array != self.scrubbed).then_some(news.array.as_str());
            add_to(findings, inner, &news.event);
        }
        if let Some(text) = text.filter(|text| !self.is_repeated(news, text)) {
            self.tell(news.array.clone(), text);
        }
    }

    /// Whether it was told just now that this member refuses flushes: one that refuses a flush
    /// refuses those after it. All else that happens twice is told twice.
    fn is_repeated(&self, news: &News, text: &str) -> bool {
        let is_same = |old: &Told| old.news.array == news.array && old.news.text == text;
        let is_refusal = matches!(news.event, Event::FlushFailed(_));
        is_refusal && self.news.iter().any(|old| old.at.elapsed() < REPEAT_AFTER && is_same(old))
    }

    /// Puts up a sentence.
    pub(crate) fn tell(&mut self, array: String, text: String) {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        if self.news.len() == NEWS_MAX {
            self.news.pop_front();
        }
        let news = NewsDocument { time_unix_s: since_1970.as_secs(), array, text };
        self.news.push_back(Told { at: Instant::now(), news });
        self.untold = (self.untold + 1).min(NEWS_MAX);
    }

    fn text(&self, news: &News) -> Option<String> {
        let member = |role: Role| self.member(&news.array, role);
        let bytes = |range: &Range<u64>| format!("{} bytes at {}", range.end - range.start, range.start);
        let of = |role: Role, what: &str| Some(format!("{} {what}", member(role)));
        match &news.event {
            Event::MemberFailed(role) => of(*role, "failed"),
            Event::FlushFailed(role) => of(*role, FLUSH_FAILED),
            Event::Renewed(role) => of(*role, RENEWED),
            Event::RebuildFinished(role) => of(*role, "is rebuilt"),
            Event::RebuildStopped { role, member_offset } => {
                Some(format!("the rebuild of {} cannot go on at its byte {member_offset}", member(*role)))
            }
            Event::ReplacementFailed { role, member_offset } => Some(format!(
                "the replacement of {} failed when {} were copied to it: that member goes on",
                member(*role),
                format_size(*member_offset)
            )),
            Event::Healed { role, member_range, proven } => {
                let doubt = if *proven { "" } else { ", though the redundancy was not known to be in sync" };
                Some(format!("{}: {} could not be read, written anew{doubt}", member(*role), bytes(member_range)))
            }
            Event::Unhealed { role, member_range } => {
                Some(format!("{}: {} could not be read, and are not written anew", member(*role), bytes(member_range)))
            }
            Event::Lost { role, member_range, offset } => {
                let place = format!("{}, {}", member(*role), bytes(member_range));
                Some(format!("the content at byte {offset} is lost: {place}, cannot be had from anybody"))
            }
            Event::ResyncFinished => Some("the resync is complete: parity and copies agree with the data".to_owned()),
            Event::ResyncStopped { position } => {
                Some(format!("the resync cannot go on at byte {position} for want of redundancy"))
            }
            Event::ScrubFinished { mismatched_bytes, completed } => {
                let verdict = if *completed { "complete" } else { "stopped" };
                Some(format!("scrub {verdict}: {mismatched_bytes} bytes disagree"))
            }
            Event::Mismatch(_) | Event::BadBlocksChanged(_) | Event::LogReleased(_) | Event::Completed(_) => None,
        }
    }

    /// How fast background work has gone lately.
    pub(crate) fn rate(&mut self, progress: Option<JobProgress>) -> Option<u64> {
        let Some(progress) = progress else {
            self.samples.clear();
            return None;
        };
        let now = Instant::now();
        if self.samples.back().is_some_and(|(_, bytes)| *bytes > progress.done_bytes) {
            self.samples.clear(); // other work has begun
        }
        if self.samples.back().is_none_or(|(then, _)| now - *then >= SAMPLE_DISTANCE) {
            self.samples.push_back((now, progress.done_bytes));
        }
        if self.samples.len() > SAMPLES {
            self.samples.pop_front();
        }
        let (then, bytes) = self.samples.front()?;
        let elapsed_ns = (now - *then).as_nanos();
        let rate = (u128::from(progress.done_bytes - bytes) * 1_000_000_000).checked_div(elapsed_ns)?;
        (now - *then >= SAMPLE_DISTANCE).then(|| u64::try_from(rate).unwrap_or(u64::MAX))
    }
}

fn add_to(findings: &mut FindingsDocument, inner: Option<&str>, event: &Event) {
    let range = |role: Role, range: &Range<u64>| RangeDocument {
        array: inner.map(str::to_owned),
        role: role.0,
        offset: range.start,
        bytes: range.end - range.start,
    };
    match event {
        Event::Mismatch(mismatch) => {
            let found = mismatch_document(mismatch, range(mismatch.role, &mismatch.member_range));
            findings.mismatched_bytes += found.range.bytes;
            if findings.keep_data && !mismatch.repaired {
                findings.unrepaired_bytes += found.range.bytes;
            }
            list(&mut findings.mismatches, found);
        }
        Event::Healed { role, member_range, .. } => {
            findings.healed_bytes += member_range.end - member_range.start;
            list(&mut findings.healed, range(*role, member_range));
        }
        Event::Unhealed { role, member_range } => {
            findings.unhealed_bytes += member_range.end - member_range.start;
            list(&mut findings.unhealed, range(*role, member_range));
        }
        Event::Lost { role, member_range, .. } => {
            findings.unreadable_bytes += member_range.end - member_range.start;
            list(&mut findings.unreadable, range(*role, member_range));
        }
        Event::ScrubFinished { mismatched_bytes, completed } => {
            // Linux's md tells of no places, only at the end.
            findings.mismatched_bytes = findings.mismatched_bytes.max(*mismatched_bytes);
            findings.complete &= completed;
        }
        _ => {}
    }
}

fn mismatch_document(mismatch: &Mismatch, range: RangeDocument) -> MismatchDocument {
    MismatchDocument {
        range,
        content_offset: mismatch.offset,
        blame: mismatch.blame.into(),
        matter: mismatch.matter.into(),
        repaired: mismatch.repaired,
    }
}

fn list<T>(places: &mut Vec<T>, place: T) {
    if places.len() < PLACES_MAX {
        places.push(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flush_failed(role: u16) -> News {
        News { array: "pond".to_owned(), event: Event::FlushFailed(Role(role)) }
    }

    #[test]
    fn the_same_is_not_told_again_at_once() {
        let mut bulletin = Bulletin::default();
        for role in [0, 1, 0, 0, 1] {
            let news = flush_failed(role);
            let text = bulletin.text(&news);
            bulletin.take_in_one(&news, text);
        }
        let told: Vec<_> = bulletin.take_untold().into_iter().map(|news| news.text).collect();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("member 0") && told[1].starts_with("member 1"), "{told:?}");
        let later = bulletin.news.iter_mut().next().expect("there are two");
        later.at = later.at.checked_sub(REPEAT_AFTER).expect("the machine has run for a minute");
        let news = flush_failed(0);
        let text = bulletin.text(&news);
        bulletin.take_in_one(&news, text);
        assert_eq!(bulletin.take_untold().len(), 1);
    }

    #[test]
    fn a_member_that_fails_twice_is_told_twice() {
        let mut bulletin = Bulletin::default();
        for _ in 0..2 {
            let news = News { array: "pond".to_owned(), event: Event::MemberFailed(Role(0)) };
            let text = bulletin.text(&news);
            bulletin.take_in_one(&news, text);
        }
        assert_eq!(bulletin.take_untold().len(), 2);
    }
}
