//! What there is to tell, by what an array was like before and is like now.

use super::kind::{Alert, Kind};
use super::sight::{ArraySight, Health, MemberSight, MemberState, ScrubSight};

/// What has changed; of an array that was never seen before, what is not as it should be. The
/// array's own condition comes first, then what it follows from.
pub(super) fn changes(before: Option<&ArraySight>, now: &ArraySight, time_unix_s: u64) -> Vec<Alert> {
    let mut news = News { sight: now, time_unix_s, alerts: Vec::new() };
    news.health(before.map_or(Health::Optimal, |before| before.health));
    let Some(before) = before else { return news.alerts };
    let pairs = before.members.iter().zip(&now.members).enumerate();
    pairs.for_each(|(role, (before, now))| news.member(role, before, now));
    if before.needs_resync && !now.needs_resync {
        news.tell("resync", Kind::ResyncFinished, "the resync is complete: parity and copies agree with the data");
    }
    let takes_role = |(before, now): (&MemberSight, &MemberSight)| {
        before.state == MemberState::Missing && now.state != MemberState::Missing
    };
    if now.spares < before.spares && !before.members.iter().zip(&now.members).any(takes_role) {
        news.tell("spares", Kind::SpareMissing, &format!("{} of {} spares are left", now.spares, before.spares));
    }
    news.scrub(before.scrub, now.scrub);
    if now.lost_ranges > before.lost_ranges {
        let text = "some content is lost: it can be had from no member; `shoal status` says where";
        news.tell("content", Kind::ContentLost, text);
    }
    news.alerts
}

struct News<'a> {
    sight: &'a ArraySight,
    time_unix_s: u64,
    alerts: Vec<Alert>,
}

impl News<'_> {
    fn tell(&mut self, subject: &str, kind: Kind, text: &str) {
        self.alerts.push(Alert {
            time_unix_s: self.time_unix_s,
            array: self.sight.name.clone(),
            array_uuid: self.sight.uuid.clone(),
            health: self.sight.health.name().to_owned(),
            subject: subject.to_owned(),
            kind,
            severity: kind.severity(),
            text: text.to_owned(),
            replaced: 0,
        });
    }

    fn health(&mut self, before: Health) {
        let missing = self.sight.members.iter().filter(|member| member.state == MemberState::Missing).count();
        let missing = match missing {
            1 => format!("1 of {} members is missing", self.sight.members.len()),
            count => format!("{count} of {} members are missing", self.sight.members.len()),
        };
        match self.sight.health {
            now if now == before => {}
            Health::Paused => {
                self.tell(
                    "health",
                    Kind::ArrayPaused,
                    "it is paused: its drives have gone away, and requests wait for them",
                );
            }
            Health::Optimal if before == Health::Paused => {
                self.tell("health", Kind::ArrayResumed, "its drives are back, and it goes on");
            }
            Health::Degraded if before == Health::Paused => {
                let text = format!("it goes on after its drives had gone away, and is degraded: {missing}");
                self.tell("health", Kind::ArrayDegraded, &text);
            }
            Health::Optimal => self.tell("health", Kind::ArrayRecovered, "all members are in sync again"),
            Health::Degraded if before == Health::Failed => {
                self.tell("health", Kind::ArrayDegraded, "it can be used again, and is degraded");
            }
            Health::Degraded => {
                self.tell("health", Kind::ArrayDegraded, &format!("it is degraded: {missing}"));
            }
            Health::Failed => {
                let text = format!("it has failed: {missing}, more than it survives");
                self.tell("health", Kind::ArrayFailed, &text);
            }
        }
    }

    fn member(&mut self, role: usize, before: &MemberSight, now: &MemberSight) {
        use MemberState::{InSync, Missing, Rebuilding};
        let subject = format!("member {role}");
        let on = |sight: &MemberSight| sight.on.as_ref().map_or(String::new(), |on| format!(" ({on})"));
        match (before.state, now.state) {
            (InSync | Rebuilding, Missing) => {
                self.tell(&subject, Kind::MemberFailed, &format!("{subject}{} failed or is gone", on(before)));
            }
            (InSync, Rebuilding) if before.on != now.on => {
                let text = format!("{subject}{} failed or is gone;{} takes its place", on(before), on(now));
                self.tell(&subject, Kind::MemberFailed, &text);
            }
            (Missing | InSync, Rebuilding) => {
                self.tell(&subject, Kind::DriveCameBack, &format!("{subject}{} is being rebuilt", on(now)));
            }
            (Missing, InSync) => {
                self.tell(&subject, Kind::DriveCameBack, &format!("{subject}{} is back, and up to date", on(now)));
            }
            (Rebuilding, InSync) => {
                self.tell(&subject, Kind::RebuildFinished, &format!("{subject}{} is rebuilt", on(now)));
            }
            (InSync, InSync) | (Rebuilding, Rebuilding) | (Missing, Missing) => self.pace(&subject, before, now),
        }
    }

    /// A member that stays what it is may have become slow.
    fn pace(&mut self, subject: &str, before: &MemberSight, now: &MemberSight) {
        let on = now.on.as_ref().map_or(String::new(), |on| format!(" ({on})"));
        match (before.suspect, now.suspect) {
            (false, true) => {
                let text = format!("{subject}{on} is much slower than it was, or than the others: look at the drive");
                self.tell(subject, Kind::MemberSlow, &text);
            }
            (true, false) => {
                self.tell(
                    subject,
                    Kind::MemberRecovered,
                    &format!("{subject}{on} answers as fast as the others again"),
                );
            }
            (true, true) | (false, false) => {}
        }
    }

    /// A scrub is told of when it is over, and only if it found something.
    fn scrub(&mut self, before: Option<ScrubSight>, now: Option<ScrubSight>) {
        let (Some(before), Some(now)) = (before, now) else { return };
        if !before.under_way || now.under_way {
            return;
        }
        if now.unreadable_bytes > 0 {
            let text = format!("a scrub found {} bytes that can be had from no member", now.unreadable_bytes);
            self.tell("scrub", Kind::ContentLost, &text);
        } else if now.mismatched_bytes > 0 {
            let text = format!("a scrub found {} bytes of parity or copies that disagree", now.mismatched_bytes);
            self.tell("scrub", Kind::MismatchFound, &text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(states: &[MemberState], health: Health) -> ArraySight {
        let member = |(role, &state)| {
            let on = (state != MemberState::Missing).then(|| format!("/dev/sd{role}"));
            MemberSight { state, on, suspect: false }
        };
        ArraySight {
            uuid: "u".to_owned(),
            name: "pond".to_owned(),
            health,
            needs_resync: false,
            members: states.iter().enumerate().map(member).collect(),
            spares: 0,
            scrub: None,
            lost_ranges: 0,
        }
    }

    fn kinds(before: Option<&ArraySight>, now: &ArraySight) -> Vec<Kind> {
        changes(before, now, 7).into_iter().map(|alert| alert.kind).collect()
    }

    #[test]
    fn a_members_life_is_told() {
        use Health::{Degraded, Failed, Optimal};
        use MemberState::{InSync, Missing, Rebuilding};
        let whole = sight(&[InSync, InSync], Optimal);
        let lacking = sight(&[InSync, Missing], Degraded);
        let filling = sight(&[InSync, Rebuilding], Degraded);
        let lost = sight(&[Missing, Missing], Failed);
        for (before, now, told) in [
            (&whole, &whole, vec![]),
            (&whole, &lacking, vec![Kind::ArrayDegraded, Kind::MemberFailed]),
            (&lacking, &filling, vec![Kind::DriveCameBack]),
            (&filling, &lacking, vec![Kind::MemberFailed]),
            (&filling, &whole, vec![Kind::ArrayRecovered, Kind::RebuildFinished]),
            (&lacking, &whole, vec![Kind::ArrayRecovered, Kind::DriveCameBack]),
            (&lacking, &lost, vec![Kind::ArrayFailed, Kind::MemberFailed]),
            (&lost, &lacking, vec![Kind::ArrayDegraded, Kind::DriveCameBack]),
        ] {
            assert_eq!(kinds(Some(before), now), told, "{before:?} {now:?}");
        }
        let mut spare = filling.clone();
        spare.members[1].on = Some("/dev/sdx".to_owned());
        let replaced = changes(Some(&whole), &spare, 7);
        assert_eq!(replaced[1].text, "member 1 (/dev/sd1) failed or is gone; (/dev/sdx) takes its place");
        let alert = &changes(Some(&whole), &lacking, 7)[1];
        assert_eq!((alert.text.as_str(), alert.time_unix_s), ("member 1 (/dev/sd1) failed or is gone", 7));
    }

    #[test]
    fn a_member_that_becomes_slow_is_told_and_that_it_is_not_any_more() {
        let well = sight(&[MemberState::InSync, MemberState::InSync], Health::Optimal);
        let mut slow = well.clone();
        slow.members[1].suspect = true;
        let told = changes(Some(&well), &slow, 7);
        assert_eq!((told.len(), told[0].kind, told[0].subject.as_str()), (1, Kind::MemberSlow, "member 1"));
        assert!(told[0].text.contains("(/dev/sd1)") && told[0].text.contains("look at the drive"), "{}", told[0].text);
        assert_eq!(told[0].severity, crate::alert::kind::Severity::Warning);
        assert_eq!(kinds(Some(&slow), &slow), []);
        assert_eq!(kinds(Some(&slow), &well), [Kind::MemberRecovered]);
        // That it failed says more.
        let failed = sight(&[MemberState::InSync, MemberState::Missing], Health::Degraded);
        assert_eq!(kinds(Some(&slow), &failed), [Kind::ArrayDegraded, Kind::MemberFailed]);
    }

    #[test]
    fn a_pause_is_told_once_and_what_came_of_it() {
        use Health::{Degraded, Failed, Optimal, Paused};
        use MemberState::{InSync, Missing};
        let whole = sight(&[InSync, InSync], Optimal);
        let paused = sight(&[], Paused);
        for (before, now, told) in [
            (&whole, &paused, vec![Kind::ArrayPaused]),
            (&paused, &paused, vec![]),
            (&paused, &whole, vec![Kind::ArrayResumed]),
            (&paused, &sight(&[InSync, Missing], Degraded), vec![Kind::ArrayDegraded]),
            (&paused, &sight(&[Missing, Missing], Failed), vec![Kind::ArrayFailed]),
        ] {
            assert_eq!(kinds(Some(before), now), told, "{before:?} {now:?}");
        }
    }

    #[test]
    fn an_array_never_seen_before_is_expected_to_be_well() {
        use MemberState::{InSync, Missing};
        assert_eq!(kinds(None, &sight(&[InSync, InSync], Health::Optimal)), []);
        assert_eq!(kinds(None, &sight(&[InSync, Missing], Health::Degraded)), [Kind::ArrayDegraded]);
    }

    #[test]
    fn spares_are_missed_unless_they_took_a_role() {
        use MemberState::{InSync, Missing, Rebuilding};
        let with = |spares, sight| ArraySight { spares, ..sight };
        let before = with(1, sight(&[InSync, InSync], Health::Optimal));
        assert_eq!(kinds(Some(&before), &with(0, before.clone())), [Kind::SpareMissing]);
        let lacking = with(1, sight(&[InSync, Missing], Health::Degraded));
        let taken = with(0, sight(&[InSync, Rebuilding], Health::Degraded));
        assert_eq!(kinds(Some(&lacking), &taken), [Kind::DriveCameBack]);
    }

    #[test]
    fn background_work_is_told_when_it_is_over() {
        let whole = sight(&[MemberState::InSync], Health::Optimal);
        let with = |under_way, mismatched_bytes, unreadable_bytes| ArraySight {
            scrub: Some(ScrubSight { under_way, mismatched_bytes, unreadable_bytes }),
            ..whole.clone()
        };
        assert_eq!(kinds(Some(&with(true, 0, 0)), &with(true, 512, 0)), []);
        assert_eq!(kinds(Some(&with(true, 512, 0)), &with(false, 512, 0)), [Kind::MismatchFound]);
        assert_eq!(kinds(Some(&with(true, 512, 0)), &with(false, 512, 1)), [Kind::ContentLost]);
        assert_eq!(kinds(Some(&with(true, 0, 0)), &with(false, 0, 0)), []);
        assert_eq!(kinds(Some(&with(false, 512, 0)), &with(false, 512, 0)), []);
        let resyncing = ArraySight { needs_resync: true, ..whole.clone() };
        assert_eq!(kinds(Some(&resyncing), &whole), [Kind::ResyncFinished]);
        assert_eq!(kinds(Some(&whole), &ArraySight { lost_ranges: 1, ..whole.clone() }), [Kind::ContentLost]);
    }
}
