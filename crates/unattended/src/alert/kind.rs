//! What is told: alerts, and the messages that carry them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A member failed, was taken out, or is not there any more.
    MemberFailed,
    /// A role that had no member has one again.
    DriveCameBack,
    /// A member works, and is much slower than its peers or than it was, or does not answer for a
    /// while.
    MemberSlow,
    /// It answers as fast as its peers again.
    MemberRecovered,
    /// Members are missing or being rebuilt; all content can be had.
    ArrayDegraded,
    /// Its drives have gone away together, and requests wait for them to come back.
    ArrayPaused,
    /// They are back, and it goes on.
    ArrayResumed,
    /// More members are missing than the array survives.
    ArrayFailed,
    /// All members are in sync again.
    ArrayRecovered,
    /// A member holds all its data again.
    RebuildFinished,
    /// Parity and copies agree with the data.
    ResyncFinished,
    /// A scrub found parity or copies that disagree with the data.
    MismatchFound,
    /// Content that can be had from nobody.
    ContentLost,
    /// There are fewer spares than there were, and none has taken a role.
    SpareMissing,
    /// It was to be run, and nobody runs it.
    ArrayNotStarted,
    /// It was started after it had not been.
    ArrayStarted,
    /// Somebody wants to know whether alerts arrive.
    Test,
}

/// How soon somebody should look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Good to know.
    Notice,
    /// Something should be done, in days.
    Warning,
    /// Data are lost, or one more fault loses them.
    Critical,
}

impl Kind {
    /// How soon somebody should look.
    pub fn severity(self) -> Severity {
        match self {
            Self::MemberFailed
            | Self::ArrayPaused
            | Self::ArrayDegraded
            | Self::ArrayFailed
            | Self::ArrayNotStarted
            | Self::ContentLost => Severity::Critical,
            Self::MismatchFound | Self::MemberSlow | Self::SpareMissing => Severity::Warning,
            Self::DriveCameBack
            | Self::MemberRecovered
            | Self::ArrayRecovered
            | Self::ArrayResumed
            | Self::ArrayStarted
            | Self::RebuildFinished
            | Self::ResyncFinished
            | Self::Test => Severity::Notice,
        }
    }
}

/// One thing that has happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Alert {
    /// When it was seen: seconds since 1970.
    pub time_unix_s: u64,
    /// The array's name.
    pub array: String,
    /// The array's UUID, as md prints it.
    pub array_uuid: String,
    /// What the array's condition is then: "optimal", "degraded", "paused" or "failed"; "unknown"
    /// if it was not started.
    pub health: String,
    /// What it is about: "health", "member 1", "resync", "scrub", "spares", "start" or "test". A
    /// later alert on the same subject replaces an earlier one that was not sent yet.
    pub subject: String,
    /// What has happened.
    pub kind: Kind,
    /// How soon somebody should look.
    pub severity: Severity,
    /// The same in a sentence.
    pub text: String,
    /// Earlier alerts on the same subject that this one has replaced.
    pub replaced: u32,
}

/// What is sent: at once over a webhook, or to a command's standard input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// Of this form: 1.
    pub version: u32,
    /// The machine's name.
    pub host: String,
    /// The worst of its alerts.
    pub severity: Severity,
    /// All of it in one line.
    pub summary: String,
    /// What has happened, in the order in which it did.
    pub alerts: Vec<Alert>,
    /// Alerts that had to be forgotten since the last message, as too many were waiting.
    pub forgotten: u32,
}

impl Message {
    /// Puts alerts, at least one, into a message.
    pub(crate) fn of(host: &str, alerts: Vec<Alert>, forgotten: u32) -> Self {
        let worst = alerts.iter().max_by_key(|alert| alert.severity).expect("a message carries alerts");
        let more = match alerts.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let summary = format!("{}: {}{more}", worst.array, worst.text);
        Self { version: 1, host: host.to_owned(), severity: worst.severity, summary, alerts, forgotten }
    }
}
