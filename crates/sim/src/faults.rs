//! What goes wrong with drives, as data.
//!
//! A [`Misbehaviour`] is armed in a drive's [`Content`](crate::Content), and strikes when a command
//! of its kind comes along. A [`FaultPlan`] says which faults befall which drives of a world, and
//! when: by the count of requests that the world's user has made, so that a plan means the same at
//! any speed. Whoever plays a world carries a plan out: only he has the simulation for stalls and
//! pulled plugs, and the contents for everything else.

use std::ops::Range;

use crate::content::SECTOR_BYTES;

/// How a command failed, as the host sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The drive answers that it could not (EIO).
    Io,
    /// The drive is not there (ENODEV).
    Gone,
    /// The drive did not answer in time (ETIMEDOUT).
    TimedOut,
    /// The drive has no room left (ENOSPC).
    NoSpace,
}

/// What a drive will do once, instead of what it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misbehaviour {
    /// How.
    pub kind: MisbehaviourKind,
    /// Only commands that lie within these bytes of the drive count. Flushes always do.
    pub within: Range<u64>,
    /// So many such commands are carried out first.
    pub skip: u32,
}

impl Misbehaviour {
    /// Where a write of so many bytes goes that is misdirected.
    pub(crate) fn lands_at(&self, offset: u64, length: u64) -> u64 {
        let last = self.within.end.saturating_sub(length);
        match self.kind {
            MisbehaviourKind::WriteMisdirected { distance } => {
                offset.saturating_add_signed(distance).clamp(self.within.start.min(last), last)
            }
            _ => offset,
        }
    }

    /// The bytes that silently do not hold what they should once a command of these bytes was met
    /// by it.
    pub(crate) fn damaged_by(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let length = range.end - range.start;
        match self.kind {
            MisbehaviourKind::WriteLost => vec![range.clone()],
            MisbehaviourKind::WriteTorn => {
                let second_half = range.start + half(length)..range.end;
                vec![second_half]
            }
            MisbehaviourKind::WriteMisdirected { .. } => {
                let at = self.lands_at(range.start, length);
                vec![range.clone(), at..at + length]
            }
            MisbehaviourKind::ReadFails(_)
            | MisbehaviourKind::WriteFails(_)
            | MisbehaviourKind::FlushFails(_)
            | MisbehaviourKind::FlushLost => Vec::new(),
        }
    }
}

/// The first half of so many bytes, in whole sectors.
pub(crate) fn half(length: u64) -> u64 {
    length / 2 / SECTOR_BYTES * SECTOR_BYTES
}

/// How a drive misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MisbehaviourKind {
    /// A read fails; the next one of the same place need not.
    ReadFails(Fault),
    /// A write fails, and leaves each of its sectors old or new.
    WriteFails(Fault),
    /// A flush fails, and what it was to make durable is given up: it can be read, no later flush
    /// covers it, and a power cut may take it. (Linux gives up dirty pages in the same way, and a
    /// drive that resets its cache.)
    FlushFails(Fault),
    /// A flush is acknowledged and makes nothing durable. A later one does; a power cut before that
    /// may take what it was to cover.
    FlushLost,
    /// A write is acknowledged and never done.
    WriteLost,
    /// A write is acknowledged and done so many bytes further on (or back), at most at the end of
    /// `within`.
    WriteMisdirected {
        /// Bytes; a multiple of a sector.
        distance: i64,
    },
    /// A write is acknowledged, and only its first half is done (at least a sector is not).
    WriteTorn,
}

impl MisbehaviourKind {
    /// Whether the host hears nothing of it.
    pub fn is_silent(self) -> bool {
        matches!(self, Self::FlushLost | Self::WriteLost | Self::WriteMisdirected { .. } | Self::WriteTorn)
    }
}

/// The faults of a world, in the order in which they come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultPlan {
    /// In ascending order of `after_requests`.
    pub faults: Vec<PlannedFault>,
}

/// One fault of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedFault {
    /// It comes when so many requests have been made.
    pub after_requests: u32,
    /// What.
    pub kind: FaultKind,
}

/// A part of a drive, as whoever keeps something on it divides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// Where content lies.
    Content,
    /// Where it is written what the drive is for.
    Metadata,
    /// Where it is written what is under way: bitmap or log.
    Log,
}

/// What befalls a drive, or the whole world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A drive does not get on with anything for a while.
    Stall {
        /// Which.
        drive: usize,
        /// How long.
        duration_ns: u64,
    },
    /// A command of a drive will go wrong.
    Misbehave {
        /// Which drive.
        drive: usize,
        /// How, and which command.
        misbehaviour: Misbehaviour,
    },
    /// Sectors of a drive cannot be read until they are written.
    Latent {
        /// Which drive.
        drive: usize,
        /// Which part of it.
        area: Area,
        /// First byte, wrapped into the area.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// A bit changes by itself.
    BitFlip {
        /// Which drive.
        drive: usize,
        /// Which part of it.
        area: Area,
        /// Which byte, wrapped into the area.
        offset: u64,
        /// Which bit of it, 0 to 7.
        bit: u32,
    },
    /// A drive is pulled: what its cache held may be lost.
    Unplug {
        /// Which.
        drive: usize,
    },
    /// A pulled drive is plugged in again, and the system gives it another name.
    Return {
        /// Which, by its first name.
        drive: usize,
    },
    /// A drive answers nothing any more, until it is pulled or loses its power.
    Hang {
        /// Which.
        drive: usize,
    },
    /// A drive is there when the host starts next, and soon answers nothing.
    HangAtStart {
        /// Which.
        drive: usize,
        /// So many I/Os of all drives are started before.
        after_ios: u32,
    },
    /// All drives of a hub lose their power at once, and the host does not: what their caches held
    /// may be lost.
    HubLoss {
        /// The bus that the hub is on; all of them if none.
        bus: Option<usize>,
    },
    /// Power is cut for all drives and the host, and comes back.
    PowerCut {
        /// After so many more starts and ends of I/Os on drives, wherever they come from; at once
        /// if none. One that is planned while another is still to come counts from there.
        after_events: u32,
    },
    /// As [`FaultKind::PowerCut`], counted from the next I/O that fails.
    PowerCutAfterError {
        /// So many starts and ends of I/Os later.
        after_events: u32,
    },
    /// When the host starts next, a drive is not there.
    Away {
        /// Which.
        drive: usize,
        /// For so many starts.
        starts: u32,
    },
}
