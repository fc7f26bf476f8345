//! An array: what it is and how it is.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shoal_volume::{
    ArrayStatus, Cause, Health, LeftOut, Level, MemberOn, MemberState, MemberStatus, MemberTraffic, Verdict,
    WriteBackState, layout_name,
};

use crate::consistency::{ConsistencyDocument, journal};
use crate::level_words::{self, LevelWords};

/// An array: what it is and how it is.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ArrayDocument {
    /// The array's name.
    pub name: String,
    /// As md prints it.
    pub uuid: String,
    /// The level with its layout, as `level` and `layout` in md's words.
    #[serde(flatten, with = "level_words")]
    #[schemars(with = "LevelWords")]
    pub level: Level,
    /// Left out where the level has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_bytes: Option<u64>,
    /// Bytes of content; left out if a `problem` hides it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity_bytes: Option<u64>,
    /// "optimal", "degraded", "failed", "unknown" or "unusable".
    #[schemars(with = "String")]
    pub health: HealthDocument,
    /// How many members may be lost in any combination, when all are there.
    pub redundancy: u32,
    /// How many more drives may be lost in any combination, as the array is now, over all levels of
    /// a nest.
    #[serde(default)]
    pub drives_to_spare: u32,
    /// The same when all of its members are there and in sync.
    #[serde(default)]
    pub drives_to_spare_when_whole: u32,
    /// What makes mirrors or parity agree with the data after a crash: "resync", "bitmap", "ppl" or
    /// "journal"; left out without redundancy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub consistency_policy: Option<ConsistencyDocument>,
    /// The drive that holds the write journal; left out if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<String>,
    /// Whether parity or mirrors, here or in an array inside, may disagree with the data, until a
    /// resync has gone over all of it.
    pub needs_resync: bool,
    /// The freshest members' count of updates.
    pub events: u64,
    /// When the superblocks were last written: seconds since 1970.
    pub update_time_unix_s: u64,
    /// Members in role order, the missing ones too.
    pub members: Vec<MemberDocument>,
    /// Drives that wait to replace a member.
    pub spares: Vec<String>,
    /// Drives that carry this array's superblock but are not used, and why.
    pub left_out: Vec<LeftOutDocument>,
    /// Its write-back window; left out if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_back: Option<WriteBackDocument>,
    /// What its drives were asked since it was opened, by everything that happens there; left out
    /// for an array inside another one, and where the kernel runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<TrafficDocument>,
    /// Why the content can be neither read nor written, beside members that are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Why this host does not start it as it is without a word from somebody, beside members that
    /// are missing; left out if nothing speaks against it, and of an array that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// Arrays given along that may be members, but lack too many members themselves to say so.
    pub unattached: Vec<Self>,
}

/// What the drives of an array were asked, all together.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TrafficDocument {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Flushes that drives were not asked for, as they had answered no write since the last one.
    pub needless_flushes: u64,
    /// Updates of superblocks, each on all members.
    pub updates: u64,
    /// Pages of write-intent bitmaps that were written, on each member.
    pub bitmap_writes: u64,
}

impl From<MemberTraffic> for TrafficDocument {
    fn from(traffic: MemberTraffic) -> Self {
        let MemberTraffic { reads, writes, flushes, needless_flushes, updates, bitmap_writes, .. } = traffic;
        Self { reads, writes, flushes, needless_flushes, updates, bitmap_writes }
    }
}

/// How full a write-back window is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WriteBackDocument {
    /// What it holds at most.
    pub window_bytes: u64,
    /// What was answered and is not on its way to the members: a crash now loses it.
    pub dirty_bytes: u64,
}

impl From<WriteBackState> for WriteBackDocument {
    fn from(state: WriteBackState) -> Self {
        let WriteBackState { window_bytes, dirty_bytes } = state;
        Self { window_bytes, dirty_bytes }
    }
}

/// One member of an array.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MemberDocument {
    /// The role.
    pub role: u16,
    /// The drive; left out if it is missing, and for arrays as members.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drive: Option<String>,
    /// What its drive was called when this host saw it last; of members that have none now, if that
    /// is remembered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<String>,
    /// "in-sync", "rebuilding", "incomplete", "missing" or "not-named".
    #[schemars(with = "String")]
    pub state: MemberStateDocument,
    /// Rebuilding: bytes of the member that are rebuilt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuilt_bytes: Option<u64>,
    /// It works, and is much slower than its peers, or silent while they answer: reads go round it.
    /// Left out if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspect: bool,
    /// The drive that it is being copied to, which takes its place then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement: Option<ReplacementDocument>,
    /// The array that is this member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub array: Option<Box<ArrayDocument>>,
}

/// A drive that a member is being copied to.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReplacementDocument {
    /// The drive.
    pub drive: String,
    /// Bytes of the member that are copied.
    pub copied_bytes: u64,
}

/// A drive that belongs to an array and is not used.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LeftOutDocument {
    /// The drive.
    pub drive: String,
    /// Why.
    pub reason: String,
    /// Part of its content is lost, and nobody knows which: it has to be filled anew, as a whole.
    /// Left out if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spoilt: bool,
}

/// An array's condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HealthDocument {
    /// All members are in sync.
    Optimal,
    /// Members are missing, incomplete or rebuilding; all content can be had.
    Degraded,
    /// More members are missing than the level survives, or parts of members.
    Failed,
    /// Members were neither named nor looked for.
    Unknown,
    /// No member is missing, and something else is in the way, a reshape that was interrupted for
    /// example: [`ArrayDocument::problem`] says what.
    Unusable,
}

impl fmt::Display for HealthDocument {
    /// As in the document.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Optimal => "optimal",
            Self::Degraded => "degraded",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Unusable => "unusable",
        })
    }
}

impl HealthDocument {
    /// That of an array as the engine sees it, or as far as its superblocks say.
    fn of(status: &ArrayStatus) -> Self {
        let lost = status.members.iter().filter(|member| member.state != MemberState::InSync).count();
        let is_enough = lost <= status.redundancy;
        if status.problem.is_some() && is_enough { Self::Unusable } else { status.health.into() }
    }
}

impl From<Health> for HealthDocument {
    fn from(health: Health) -> Self {
        match health {
            Health::Optimal => Self::Optimal,
            Health::Degraded => Self::Degraded,
            Health::Failed => Self::Failed,
        }
    }
}

/// How much of its data a member holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemberStateDocument {
    /// All of it.
    InSync,
    /// It is being filled.
    Rebuilding,
    /// A part of it is not there: an image that was cut off, or copied with holes.
    Incomplete,
    /// There is no drive.
    Missing,
    /// The array counts on it; it was neither named nor looked for.
    NotNamed,
}

impl fmt::Display for MemberStateDocument {
    /// As in the document.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::InSync => "in-sync",
            Self::Rebuilding => "rebuilding",
            Self::Incomplete => "incomplete",
            Self::Missing => "missing",
            Self::NotNamed => "not-named",
        })
    }
}

impl From<&ArrayStatus> for ArrayDocument {
    fn from(status: &ArrayStatus) -> Self {
        let survival = status.survival();
        Self {
            name: status.name.clone(),
            uuid: status.uuid.clone(),
            level: status.level,
            chunk_bytes: (status.chunk_bytes > 0).then_some(u64::from(status.chunk_bytes)),
            capacity_bytes: status.problem.is_none().then_some(status.capacity_bytes),
            health: HealthDocument::of(status),
            redundancy: u32::try_from(status.redundancy).unwrap_or(u32::MAX),
            drives_to_spare: survival.now,
            drives_to_spare_when_whole: survival.whole,
            consistency_policy: status.consistency.as_ref().map(ConsistencyDocument::from),
            journal: status.consistency.as_ref().and_then(journal),
            needs_resync: status.needs_resync,
            events: status.events,
            update_time_unix_s: status.update_time_unix_s,
            members: status.members.iter().map(MemberDocument::from).collect(),
            spares: status.spares.clone(),
            left_out: status.left_out.iter().map(LeftOutDocument::from).collect(),
            problem: status.problem.clone(),
            doubt: None,
            write_back: status.write_back.map(WriteBackDocument::from),
            traffic: status.traffic.map(TrafficDocument::from),
            unattached: status.unattached.iter().map(Self::from).collect(),
        }
    }
}

impl ArrayDocument {
    /// The layout in md's words; none where the level has none.
    pub fn layout(&self) -> Option<String> {
        layout_name(self.level)
    }

    /// Whether its level has parity.
    pub fn has_parity(&self) -> bool {
        matches!(self.level, Level::Raid4 | Level::Raid5(_) | Level::Raid6(_))
    }

    /// Whether it was not shut down cleanly, and lacks a member of its own, so that blocks of that
    /// member may be wrong: it is written to only if that is forced. One whose partial parity logs
    /// make up for it needs no resync, and is none.
    pub fn has_write_hole(&self) -> bool {
        let lacks_one = self.members.iter().any(|member| member.state != MemberStateDocument::InSync);
        self.health == HealthDocument::Degraded && self.has_parity() && lacks_one && self.needs_resync
    }

    /// The same of it, or of an array inside.
    pub fn is_dirty_and_degraded(&self) -> bool {
        self.has_write_hole() || self.inner_arrays().any(Self::is_dirty_and_degraded)
    }

    /// Whether its own level, whatever its members are, has parity or copies.
    pub fn has_redundancy(&self) -> bool {
        !matches!(self.level, Level::Linear | Level::Raid0(_))
    }

    /// All drives that are in use for it, those of arrays inside it as well.
    pub fn drives(&self) -> Vec<&str> {
        let mut drives: Vec<&str> = self.journal.iter().chain(&self.spares).map(String::as_str).collect();
        for MemberDocument { drive, array, replacement, .. } in &self.members {
            drives.extend(drive.as_deref());
            drives.extend(replacement.as_ref().map(|it| it.drive.as_str()));
            drives.extend(array.iter().flat_map(|array| array.drives()));
        }
        drives
    }

    /// The arrays that are its members.
    pub fn inner_arrays(&self) -> impl Iterator<Item = &Self> {
        self.members.iter().filter_map(|member| member.array.as_deref())
    }
}

impl From<&MemberStatus> for MemberDocument {
    fn from(member: &MemberStatus) -> Self {
        let (state, rebuilt_bytes) = match member.state {
            MemberState::InSync => (MemberStateDocument::InSync, None),
            MemberState::Rebuilding { position } => (MemberStateDocument::Rebuilding, Some(position)),
            MemberState::Missing => (MemberStateDocument::Missing, None),
        };
        let (drive, array) = match &member.on {
            Some(MemberOn::Drive(drive)) => (Some(drive.clone()), None),
            Some(MemberOn::Array(array)) => (None, Some(Box::new(ArrayDocument::from(array.as_ref())))),
            None => (None, None),
        };
        let replacement = member.replacement.as_ref();
        let replacement =
            replacement.map(|it| ReplacementDocument { drive: it.drive.clone(), copied_bytes: it.position });
        let (role, suspect) = (member.role.0, member.suspect);
        Self { role, drive, last_seen: None, state, rebuilt_bytes, suspect, replacement, array }
    }
}

impl From<&LeftOut> for LeftOutDocument {
    fn from(left_out: &LeftOut) -> Self {
        let reason = match &left_out.cause {
            Cause::Verdict(verdict) => verdict_text(*verdict),
            Cause::Suspicion(suspicion) => suspicion.to_string(),
            Cause::BadBlocks { problem } => format!("its bad-block log cannot be used: {problem}"),
            Cause::Out => "it failed or was replaced; `shoal remove --member` lets it go".to_owned(),
        };
        let spoilt = matches!(&left_out.cause, Cause::Suspicion(suspicion) if suspicion.is_spoilt());
        Self { drive: left_out.name.clone(), reason, spoilt }
    }
}

/// Why a member is left out.
pub fn verdict_text(verdict: Verdict) -> String {
    match verdict {
        Verdict::Stale { updates_missed } => format!("stale: it missed {updates_missed} updates"),
        Verdict::Faulty => "it failed".to_owned(),
        Verdict::RoleTaken(role) => format!("a fresher drive has its role, {}", role.0),
        Verdict::Journal => "it is the array's journal".to_owned(),
        Verdict::Replacement { role, .. } => format!("it is being made a replacement of member {}", role.0),
        Verdict::Unusable => "its role is none that the array has".to_owned(),
        Verdict::Stray => "its number is another member's, or none: a changed copy of a superblock".to_owned(),
        Verdict::InSync(_) | Verdict::Rebuilding { .. } | Verdict::Spare => "it is in use".to_owned(),
    }
}
