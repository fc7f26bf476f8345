//! Why drives take no part, and arrays are not started: the facts, and what can be done.

use std::fmt;

/// Why a drive takes no part in an array that can do without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Suspicion {
    /// This host has never seen it in the array.
    NeverSeen,
    /// It left the array, and what it has become since is not the array's.
    RunApart,
    /// It left the array, and has an update that was given up, and that nobody else has.
    GivenUp,
    /// Its superblock is that of a member which is there.
    CopyOf {
        /// The member's drive.
        drive: String,
    },
    /// It lacks updates that it had flushed, so it may have lost content too.
    LostUpdates {
        /// The last update that it has.
        events: u64,
        /// The last one that it had flushed.
        flushed_events: u64,
    },
    /// Its file was cut short or deleted while the array ran.
    LostContent,
}

/// Why an array should not be started without a word from somebody. Shown, it is the fact;
/// [`Doubt::way_out`] is what can be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// No member is there of the last update that this host has seen.
    Older {
        /// The freshest drive of those that are there.
        drive: String,
        /// Its count of updates.
        events: u64,
        /// When it got the last one: seconds since 1970.
        update_time_unix_s: u64,
        /// The last count that this host has seen.
        seen_events: u64,
        /// The drives that have it, as they were called then.
        with: Vec<String>,
    },
    /// A drive would win the election against all that this host knows of the array, and members
    /// are missing.
    Rival {
        /// The drive.
        drive: String,
        /// What it claims to have seen.
        events: u64,
        /// The last count that this host has seen.
        seen_events: u64,
        /// It was a member once.
        was_member: bool,
        /// The members that are missing, as they were called.
        absent: Vec<String>,
    },
    /// A member that the array cannot do without lacks updates that it had flushed.
    LostUpdates {
        /// The drive.
        drive: String,
        /// The last update that it has.
        events: u64,
        /// The last one that it had flushed.
        flushed_events: u64,
    },
    /// The file of a member that the array cannot do without was cut short or deleted while the
    /// array ran.
    LostContent {
        /// The drive.
        drive: String,
    },
    /// Two drives are one member, and nothing tells which of them it is.
    Copies {
        /// One drive.
        first: String,
        /// The other.
        second: String,
    },
    /// A member lies on other hardware than before, and may be a copy that lacks what was written
    /// after it was made.
    OtherHardware {
        /// The drive.
        drive: String,
        /// What the member was called when it was last seen.
        was: String,
    },
    /// It is inside another array, of which another host has run a part since; and this drive,
    /// which left it here, was changed as well.
    Apart {
        /// The drive.
        drive: String,
    },
    /// Members are missing that the freshest one counts on, and this host does not know what became
    /// of them.
    Degraded {
        /// How many.
        missing: usize,
        /// Of how many.
        members: usize,
        /// Who knows.
        run: Run,
    },
}

/// Seconds since 1970, shown as a date and a time.
struct Utc(u64);

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DAY_S: u64 = 24 * 60 * 60;
        let Self(seconds) = self;
        let (mut days, time) = (seconds / DAY_S, seconds % DAY_S);
        let mut year = 1970;
        // A superblock counts its seconds in 40 bits: that is some 35,000 years.
        while days >= days_of(year).iter().sum::<u64>() {
            days -= days_of(year).iter().sum::<u64>();
            year += 1;
        }
        let mut month = 0;
        while days >= days_of(year)[month] {
            days -= days_of(year)[month];
            month += 1;
        }
        let (hour, minute) = (time / 3600, time / 60 % 60);
        write!(f, "{year}-{:02}-{:02} {hour:02}:{minute:02} UTC", month + 1, days + 1)
    }
}

/// The days of a year's months.
fn days_of(year: u64) -> [u64; 12] {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
}

/// Where an array was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// Never on this host.
    NeverHere,
    /// On another one after this one had it last.
    ElsewhereSince,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NeverHere => "this host has never run it",
            Self::ElsewhereSince => "another host has run it since this one did",
        })
    }
}

/// The update that a drive has, and the last one that it had flushed.
struct LostUpdates(u64, u64);

impl fmt::Display for LostUpdates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(events, flushed_events) = self;
        write!(
            f,
            "it is at update {events}, though it had flushed update {flushed_events}: it was set back, or loses what it is told \
             to keep"
        )
    }
}

/// What is known of a file that was not all there when it was flushed.
const CUT_SHORT: &str =
    "its file was cut short or deleted while the array ran: however long it is now, what was there is lost";

impl Suspicion {
    /// Whether it may have lost some of what it held as a member.
    pub fn is_spoilt(&self) -> bool {
        matches!(self, Self::LostUpdates { .. } | Self::LostContent)
    }

    /// What is given up if the drive is believed all the same, a clause; none if its superblock
    /// decides whether it is a member.
    pub fn given_up(&self) -> Option<&'static str> {
        match self {
            Self::LostUpdates { .. } => Some("what was written to it after that update is given up"),
            Self::LostContent => Some("what it has lost is given up, and may read as zeros"),
            Self::NeverSeen | Self::RunApart | Self::GivenUp | Self::CopyOf { .. } => None,
        }
    }
}

impl fmt::Display for Suspicion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeverSeen => f.write_str("this host has never seen it in the array, or was told to trust others"),
            Self::RunApart => f.write_str("it left the array, and has been changed apart from it"),
            Self::GivenUp => f.write_str("it left the array, and has an update that the array has not gone on with"),
            Self::CopyOf { drive } => write!(f, "it is a copy of {drive}"),
            Self::LostUpdates { events, flushed_events } => write!(f, "{}", LostUpdates(*events, *flushed_events)),
            Self::LostContent => f.write_str(CUT_SHORT),
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Older { drive, events, seen_events, with, .. } => write!(
                f,
                "{drive} holds an older state (update {events}) than this host has seen (update {seen_events}, on {})",
                with.join(", ")
            ),
            Self::Rival { drive, events, seen_events, was_member, absent } => {
                let who = if *was_member { "left the array" } else { "was never seen in the array by this host" };
                write!(f, "{drive} {who} and claims update {events}")?;
                if events > seen_events {
                    write!(f, ", beyond the last one seen ({seen_events})")?;
                }
                if absent.is_empty() { Ok(()) } else { write!(f, ", while {} is missing", absent.join(", ")) }
            }
            Self::LostUpdates { drive, events, flushed_events } => {
                write!(f, "{drive} cannot be missed, and {}", LostUpdates(*events, *flushed_events))
            }
            Self::LostContent { drive } => write!(f, "{drive} cannot be missed, and {CUT_SHORT}"),
            Self::Copies { first, second } => {
                write!(f, "{first} and {second} claim to be one member, and nothing tells which of them it is")
            }
            Self::OtherHardware { drive, was } => write!(
                f,
                "{drive} is on other hardware than the member that it says it is (last seen as {was}), and was not closed in \
                 order with the array: a copy that was made while the array ran lacks what was written afterwards"
            ),
            Self::Apart { drive } => write!(
                f,
                "another host has run the array around it since this one did, with {drive}, which had left it here: what its \
                 other members hold may be of another time"
            ),
            Self::Degraded { missing, members, run } => write!(
                f,
                "{missing} of {members} members that it counts on {} missing, and {run}: what is there may be old",
                if *missing == 1 { "is" } else { "are" },
            ),
        }
    }
}

impl Doubt {
    /// What can be done, a clause; `trust` is the command that has this host believe what is there.
    pub fn way_out(&self) -> String {
        const TRUST: &str = "`shoal trust` with the drives that are right has this host believe them";
        match self {
            Self::Older { with, .. } => format!("give {} too; if that is gone for good, {TRUST}", with.join(", ")),
            Self::Rival { drive, absent, .. } if absent.is_empty() => format!("leave {drive} out, or, {TRUST}"),
            Self::Rival { absent, .. } => format!("give {} too; if that is gone for good, {TRUST}", absent.join(", ")),
            Self::LostUpdates { drive, .. } => format!(
                "give the members that are missing too; if there are none, or if {drive} was set back on purpose, together with the \
                 others, {TRUST}"
            ),
            Self::LostContent { drive } => format!(
                "give the members that are missing too, if there are any; what can be had of the content `shoal recover` copies out; if \
                 {drive} is whole, put back from a copy that was made at rest, say, {TRUST}"
            ),
            Self::Copies { .. } => "leave one of them out".to_owned(),
            Self::OtherHardware { drive, .. } => format!(
                "give the member itself, or leave {drive} out and add it anew; if it is the member, in another enclosure or copied \
                 when nothing ran, {TRUST}"
            ),
            Self::Apart { drive } => {
                format!(
                    "give the drives of one time alone, {drive} and what went on with it or all others, and {TRUST}"
                )
            }
            Self::Degraded { .. } => "give them too; if they are gone for good, start it with --degraded".to_owned(),
        }
    }

    /// What is given up if it is believed all the same, a clause.
    pub fn given_up(&self) -> String {
        match self {
            Self::Older { events, update_time_unix_s, with, .. } => format!(
                "what was written after update {events}, of {}, is given up: it is on {}, which {} out of date from now on",
                Utc(*update_time_unix_s),
                with.join(", "),
                if with.len() == 1 { "is" } else { "are" }
            ),
            Self::Rival { drive, seen_events, .. } => {
                format!(
                    "what this host has seen up to update {seen_events} is given up where {drive} holds something else"
                )
            }
            Self::LostUpdates { drive, events, .. } => {
                format!("what was written to {drive} after update {events} is given up")
            }
            Self::LostContent { drive } => format!("what {drive} has lost is given up, and may read as zeros"),
            Self::Copies { .. } => "what only the other one has is given up".to_owned(),
            Self::OtherHardware { drive, .. } => {
                format!("what was written to the member after it was copied is given up, if {drive} is a copy")
            }
            Self::Apart { drive } => format!("what another host wrote to {drive} is given up"),
            Self::Degraded { .. } => "what was written only to members that are missing is given up".to_owned(),
        }
    }

    /// Whether a word for starting degraded is enough.
    pub fn is_for_lack_of_members(&self) -> bool {
        matches!(self, Self::Degraded { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::Utc;

    #[test]
    fn seconds_are_shown_as_a_date() {
        let cases = [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_399, "2000-02-28 23:59 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_700_000_000, "2023-11-14 22:13 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
        ];
        for (seconds, date) in cases {
            assert_eq!(Utc(seconds).to_string(), date);
        }
    }
}
