//! Alerts on their way out: a lane for each way, with what it still has to send. No clock: seconds
//! since 1970 come in.
//!
//! A machine's clock may be set back, by years if it had none when it was started. So a time that
//! was noted and lies in the future counts as now: nothing is held back for longer than it would
//! have been had the clock been right.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::kind::{Alert, Message, Severity};

/// What happens within so many seconds goes into one message: a member's failure is news of the
/// member and the array.
const GATHER_S: u64 = 2;
/// The same words on the same subject are not repeated for so long.
const QUIET_S: u64 = 3600;
/// Alerts that may wait in a lane; the oldest is forgotten, and counted.
const WAITING_MAX: usize = 100;
/// After the first failure it is tried again in so many seconds, then in twice as many, and so on
/// ...
const BACK_OFF_S: u64 = 10;
/// ... up to this.
const BACK_OFF_MAX_S: u64 = 3600;
const HOUR_S: u64 = 3600;

/// All lanes.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Outbox {
    lanes: Vec<Lane>,
}

/// One way out.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Lane {
    /// The channel's.
    name: String,
    waiting: VecDeque<Alert>,
    forgotten: u32,
    /// When the first of those that wait came.
    since_s: u64,
    /// When messages were sent, in the last hour.
    sent_s: VecDeque<u64>,
    failures: u32,
    not_before_s: u64,
    /// The last words on each subject of each array, and when they were sent.
    told: BTreeMap<String, (String, u64)>,
}

/// What a lane is held to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) messages_per_hour: usize,
    /// What is less severe is not sent.
    pub(super) least: Severity,
}

fn subject(alert: &Alert) -> String {
    format!("{} {}", alert.array_uuid, alert.subject)
}

impl Outbox {
    /// The same with these lanes and no others, in this order.
    pub(super) fn with_lanes(mut self, names: &[String]) -> Self {
        let mut lanes = Vec::new();
        for name in names {
            let place = self.lanes.iter().position(|lane| lane.name == *name);
            let new = || Lane { name: name.clone(), ..Lane::default() };
            lanes.push(place.map_or_else(new, |place| self.lanes.remove(place)));
        }
        Self { lanes }
    }

    /// Takes an alert in, for the lane at `index`.
    pub(super) fn put(&mut self, index: usize, alert: &Alert, limits: Limits, now_s: u64) {
        let lane = &mut self.lanes[index];
        lane.believe(now_s);
        if alert.severity >= limits.least {
            lane.put(alert, now_s);
        } else {
            // What was told of the subject is true no more: if it comes to that again, it is news.
            lane.told.remove(&subject(alert));
        }
    }

    /// No more will come: what waits is not gathered any longer.
    pub(super) fn end(&mut self) {
        self.lanes.iter_mut().for_each(|lane| lane.since_s = 0);
    }

    /// The message that the lane at `index` has to send now.
    pub(super) fn due(&mut self, index: usize, limits: Limits, host: &str, now_s: u64) -> Option<Message> {
        let lane = &mut self.lanes[index];
        lane.believe(now_s);
        let is_due = lane.due_s(limits)? <= now_s;
        is_due.then(|| Message::of(host, lane.waiting.iter().cloned().collect(), lane.forgotten))
    }

    /// When the next message of any lane is due.
    pub(super) fn next_s(&mut self, limits: &[Limits], now_s: u64) -> Option<u64> {
        self.lanes.iter_mut().for_each(|lane| lane.believe(now_s));
        self.lanes.iter().zip(limits).filter_map(|(lane, &limits)| lane.due_s(limits)).min()
    }

    /// What was due has been taken: all that waited.
    pub(super) fn sent(&mut self, index: usize, now_s: u64) {
        self.lanes[index].sent(now_s);
    }

    /// What was due has not been taken. Gives the seconds until it is tried again.
    pub(super) fn failed(&mut self, index: usize, now_s: u64) -> u64 {
        let lane = &mut self.lanes[index];
        let wait_s = back_off_s(lane.failures);
        lane.failures = lane.failures.saturating_add(1);
        lane.not_before_s = now_s + wait_s;
        wait_s
    }
}

/// How long to wait after a failure that so many others came before.
fn back_off_s(failures: u32) -> u64 {
    BACK_OFF_S.saturating_mul(1 << failures.min(16)).min(BACK_OFF_MAX_S)
}

impl Lane {
    /// Sets times that lie in the future to the present: the clock was set back since they were
    /// noted.
    fn believe(&mut self, now_s: u64) {
        let noted = self.sent_s.iter_mut().chain(self.told.values_mut().map(|(_, told_s)| told_s));
        noted.chain([&mut self.since_s]).for_each(|noted_s| *noted_s = now_s.min(*noted_s));
        let latest_s = now_s.saturating_add(back_off_s(self.failures.saturating_sub(1)));
        self.not_before_s = latest_s.min(self.not_before_s);
    }

    fn put(&mut self, alert: &Alert, now_s: u64) {
        let key = subject(alert);
        let mut alert = alert.clone();
        // A subject that keeps changing keeps nothing else waiting: the time runs from the first.
        if self.waiting.is_empty() {
            self.since_s = now_s;
        }
        if let Some(place) = self.waiting.iter().position(|other| subject(other) == key) {
            let earlier = self.waiting.remove(place).expect("it was found there");
            alert.replaced = earlier.replaced.saturating_add(1);
        } else if let Some((words, told_s)) = self.told.get(&key)
            && *words == alert.text
            && now_s.saturating_sub(*told_s) < QUIET_S
        {
            return;
        }
        if self.waiting.len() >= WAITING_MAX {
            self.waiting.pop_front();
            self.forgotten = self.forgotten.saturating_add(1);
        }
        self.waiting.push_back(alert);
    }

    /// When it may send what waits; none if nothing does.
    fn due_s(&self, limits: Limits) -> Option<u64> {
        self.waiting.front()?;
        let gathered_s = self.since_s + GATHER_S;
        // The message that has to be an hour old before there may be another.
        let full = self.sent_s.len().checked_sub(limits.messages_per_hour.max(1));
        let allowed_s = full.and_then(|place| self.sent_s.get(place)).map_or(0, |&sent_s| sent_s + HOUR_S);
        Some(gathered_s.max(allowed_s).max(self.not_before_s))
    }

    fn sent(&mut self, now_s: u64) {
        for alert in self.waiting.drain(..) {
            self.told.insert(subject(&alert), (alert.text, now_s));
        }
        self.told.retain(|_, (_, told_s)| now_s.saturating_sub(*told_s) < QUIET_S);
        self.sent_s.retain(|sent_s| now_s.saturating_sub(*sent_s) < HOUR_S);
        self.sent_s.push_back(now_s);
        (self.forgotten, self.failures, self.not_before_s) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::kind::Kind;
    use super::*;

    const LIMITS: Limits = Limits { messages_per_hour: 2, least: Severity::Notice };

    fn alert(subject: &str, kind: Kind, text: &str) -> Alert {
        Alert {
            time_unix_s: 0,
            array: "pond".to_owned(),
            array_uuid: "u".to_owned(),
            health: "degraded".to_owned(),
            subject: subject.to_owned(),
            kind,
            severity: kind.severity(),
            text: text.to_owned(),
            replaced: 0,
        }
    }

    fn one_lane() -> Outbox {
        Outbox::default().with_lanes(&["mail".to_owned()])
    }

    fn texts(message: &Message) -> Vec<(&str, u32)> {
        message.alerts.iter().map(|alert| (alert.text.as_str(), alert.replaced)).collect()
    }

    #[test]
    fn what_happens_together_is_one_message() {
        let mut outbox = one_lane();
        outbox.put(0, &alert("health", Kind::ArrayDegraded, "degraded"), LIMITS, 100);
        outbox.put(0, &alert("member 1", Kind::MemberFailed, "failed"), LIMITS, 101);
        assert!(outbox.due(0, LIMITS, "pi", 101).is_none(), "more may come");
        assert_eq!(outbox.next_s(&[LIMITS], 101), Some(102));
        let message = outbox.due(0, LIMITS, "pi", 102).unwrap();
        assert_eq!(texts(&message), [("degraded", 0), ("failed", 0)]);
        assert_eq!(message.summary, "pond: failed (and 1 more)");
        outbox.sent(0, 102);
        assert_eq!(outbox.next_s(&[LIMITS], 102), None);
    }

    #[test]
    fn a_flood_is_a_few_messages_and_the_last_word_gets_out() {
        let mut outbox = one_lane();
        let (mut messages, mut last) = (0, String::new());
        for now_s in 0..7200 {
            let (kind, text) =
                if now_s % 2 == 0 { (Kind::MemberFailed, "gone") } else { (Kind::DriveCameBack, "back") };
            if now_s < 6000 {
                outbox.put(0, &alert("member 1", kind, text), LIMITS, now_s);
            }
            if let Some(message) = outbox.due(0, LIMITS, "pi", now_s) {
                assert_eq!(message.alerts.len(), 1, "one word on one subject");
                last.clone_from(&message.alerts[0].text);
                outbox.sent(0, now_s);
                messages += 1;
            }
        }
        assert_eq!((messages, last.as_str()), (4, "back"), "two an hour");
        assert_eq!(outbox.next_s(&[LIMITS], 7200), Some(3602 + 3600), "the last word waits for the hour to be over");
        assert_eq!(texts(&outbox.due(0, LIMITS, "pi", 7202).unwrap())[0].0, "back");
    }

    #[test]
    fn the_same_words_are_not_repeated_but_a_change_is_never_kept_back() {
        let mut outbox = one_lane();
        let say = |outbox: &mut Outbox, text: &str, now_s| {
            outbox.put(0, &alert("health", Kind::ArrayDegraded, text), LIMITS, now_s);
            let due = outbox.due(0, LIMITS, "pi", now_s + GATHER_S).is_some();
            if due {
                outbox.sent(0, now_s + GATHER_S);
            }
            due
        };
        assert!(say(&mut outbox, "degraded", 0));
        assert!(!say(&mut outbox, "degraded", 60), "it is known");
        assert!(say(&mut outbox, "optimal", 70));
        assert!(!say(&mut outbox, "degraded", 80), "two an hour");
        assert!(outbox.due(0, LIMITS, "pi", 3602).is_some(), "but it is sent as soon as that is allowed");
    }

    #[test]
    fn trouble_that_comes_again_is_told_again_to_those_who_hear_of_trouble_alone() {
        let critical = Limits { least: Severity::Critical, ..LIMITS };
        let mut outbox = one_lane();
        let say = |outbox: &mut Outbox, kind, text: &str, now_s| {
            outbox.put(0, &alert("health", kind, text), critical, now_s);
            let due = outbox.due(0, critical, "pi", now_s + GATHER_S).is_some();
            if due {
                outbox.sent(0, now_s + GATHER_S);
            }
            due
        };
        assert!(say(&mut outbox, Kind::ArrayDegraded, "degraded", 0));
        assert!(!say(&mut outbox, Kind::ArrayRecovered, "optimal", 60));
        assert!(say(&mut outbox, Kind::ArrayDegraded, "degraded", 120));
    }

    #[test]
    fn what_cannot_be_sent_is_tried_again_later_and_later() {
        let mut outbox = one_lane();
        outbox.put(0, &alert("health", Kind::ArrayDegraded, "degraded"), LIMITS, 0);
        let mut now_s = GATHER_S;
        let mut waits = Vec::new();
        for _ in 0..12 {
            assert!(outbox.due(0, LIMITS, "pi", now_s).is_some());
            let wait_s = outbox.failed(0, now_s);
            assert!(outbox.due(0, LIMITS, "pi", now_s + wait_s - 1).is_none());
            now_s += wait_s;
            waits.push(wait_s);
        }
        assert_eq!(waits[..4], [10, 20, 40, 80]);
        assert_eq!(waits[11], 3600);
        outbox.sent(0, now_s);
        outbox.put(0, &alert("member 1", Kind::MemberFailed, "failed"), LIMITS, now_s);
        assert_eq!(outbox.next_s(&[LIMITS], now_s), Some(now_s + GATHER_S), "after a success all is as before");
    }

    #[test]
    fn lanes_are_told_apart_by_name_and_hold_no_more_than_a_hundred_alerts() {
        let names = ["a".to_owned(), "b".to_owned()];
        let mut outbox = Outbox::default().with_lanes(&names);
        for number in 0..150 {
            outbox.put(1, &alert(&format!("member {number}"), Kind::MemberFailed, "failed"), LIMITS, 0);
        }
        let mut outbox = outbox.with_lanes(&["b".to_owned(), "c".to_owned()]);
        let message = outbox.due(0, LIMITS, "pi", 10).unwrap();
        assert_eq!((message.alerts.len(), message.forgotten), (100, 50));
        assert!(outbox.due(1, LIMITS, "pi", 10).is_none());
        let critical = Limits { least: Severity::Critical, ..LIMITS };
        outbox.put(1, &alert("resync", Kind::ResyncFinished, "complete"), critical, 10);
        assert_eq!(outbox.next_s(&[LIMITS, critical], 10), Some(2), "what is too little to tell does not wait");
    }

    #[test]
    fn a_clock_that_is_set_back_mutes_nobody() {
        const THEN: u64 = 2_000_000_000;
        const NOW: u64 = 1_000_000;
        let quiet = Limits { messages_per_hour: 1, ..LIMITS };
        let degraded = alert("health", Kind::ArrayDegraded, "degraded");
        let mut outbox = one_lane();
        outbox.put(0, &degraded, quiet, THEN);
        assert!(outbox.due(0, quiet, "pi", THEN + GATHER_S).is_some());
        outbox.failed(0, THEN + GATHER_S);
        assert!(outbox.next_s(&[quiet], NOW).unwrap() <= NOW + BACK_OFF_S, "what waited when it was set back");
        assert!(outbox.due(0, quiet, "pi", NOW + BACK_OFF_S).is_some());
        outbox.sent(0, THEN + 60);
        // What was sent and told in the future was sent and told now: an hour later both may be
        // said again.
        outbox.put(0, &alert("member 1", Kind::MemberFailed, "failed"), quiet, NOW);
        assert_eq!(outbox.next_s(&[quiet], NOW), Some(NOW + HOUR_S));
        assert!(outbox.due(0, quiet, "pi", NOW + HOUR_S).is_some());
        outbox.sent(0, NOW + HOUR_S);
        outbox.put(0, &degraded, quiet, NOW + HOUR_S + QUIET_S);
        assert!(outbox.due(0, quiet, "pi", NOW + HOUR_S + QUIET_S + GATHER_S).is_some(), "the same words, an hour on");
    }
}
