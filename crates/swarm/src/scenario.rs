//! What happens to an array, as data: everything that a run depends on.
//!
//! A [`Scenario`] can be changed and played again, which is how a failing one is shrunk. So nothing
//! in it relies on anything else in it: a place is wrapped into the content that there is, a fault
//! that the array could not survive in the state that it is in by then is passed over by the
//! player, and so is an order that makes no sense any more.

use std::fmt;

use shoal_sim::{Area, FaultKind, FaultPlan, MisbehaviourKind, Scheduler};
use shoal_volume::{ArrayLevel, ConsistencyPolicy, MinorVersion, ParityLayout, ScrubMode};

use crate::fleet::Make;

/// One world and all that happens in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Where it comes from. It also decides what is left to chance while it is played.
    pub seed: u64,
    /// Level and layout.
    pub level: ArrayLevel,
    /// Drives with a role.
    pub members: usize,
    /// Drives that wait in the array.
    pub spares: usize,
    /// Drives that lie beside the array, blank, to replace others.
    pub drawer: usize,
    /// What each drive is, and the number of the bus that it hangs on: members, spares, drawer.
    pub makes: Vec<(Make, usize)>,
    /// Capacity of the smallest drive.
    pub drive_bytes: u64,
    /// What each drive has beyond that, in the order of `makes`.
    pub extra_bytes: Vec<u64>,
    /// Of levels that have one.
    pub chunk_bytes: u32,
    /// Where superblocks lie.
    pub metadata: MinorVersion,
    /// What brings the array back in sync after a crash.
    pub consistency: ConsistencyPolicy,
    /// The drives hold zeros and the array is taken as in sync; if not, they hold anything, and it
    /// is resynced.
    pub assume_clean: bool,
    /// Requests in flight at most.
    pub depth: u32,
    /// Size of a buffer that the engine computes in.
    pub scratch_bytes: u32,
    /// Size of the write-back window; 0: there is none.
    pub write_back_bytes: u32,
    /// How far drives take and answer I/Os out of their order.
    pub reordering: Reordering,
    /// What is between the array and its drives: with a queue that keeps no order it gives them one
    /// write at a time.
    pub scheduler: Scheduler,
    /// How long after its last write the array is marked clean.
    pub safe_mode_delay_ms: u64,
    /// So many times of a hundred a start is tried with other drives, too.
    pub apart_percent: u64,
    /// What its user does.
    pub steps: Vec<Step>,
    /// What goes wrong.
    pub faults: FaultPlan,
}

/// How far drives take and answer I/Os out of their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reordering {
    /// So many I/Os of a hundred, and answers, are held; 0: all come in order.
    pub held_percent: u64,
    /// For at most so long.
    pub held_ns_max: u64,
}

impl Reordering {
    /// All I/Os in the order in which drives are given them.
    pub const NONE: Self = Self { held_percent: 0, held_ns_max: 1 };

    /// Whether most I/Os are held for a good part of a second.
    pub(crate) fn is_slow(self) -> bool {
        self.held_percent >= 50 && self.held_ns_max >= 400_000_000
    }
}

impl fmt::Display for Reordering {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { held_percent, held_ns_max } = self;
        write!(formatter, "{held_percent} of 100 I/Os and answers are held, for up to {} us", held_ns_max / 1000)
    }
}

/// Something that the user or the owner of the array does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Asks for blocks.
    Read(Run),
    /// Writes blocks.
    Write(Run),
    /// Discards blocks.
    Discard(Run),
    /// Asks for everything to be made durable.
    Flush,
    /// Waits for all answers.
    Settle,
    /// Lets so many milliseconds pass, once all is answered.
    Pass(u64),
    /// Starts a scrub.
    Scrub(ScrubMode),
    /// Copies a member to a drive out of the drawer, which takes its place.
    Replace(usize),
    /// Takes a member out.
    Fail(usize),
    /// Closes the array in order, and opens it again.
    Restart,
    /// Asks for what has to be refused, of a member.
    Misuse(Misuse, usize),
    /// Closes the array in order; Linux runs it with a write journal, and is killed; the array is
    /// opened again.
    Linux(Linux),
    /// Closes the array in order, lets it grow, and opens it again.
    Grow(Growth),
    /// Closes the array in order, and opens it with a drive beside its members that carries its
    /// name and is none of them.
    Meet(Stranger),
}

/// What an owner may ask for by mistake, of a member that is in sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// To make a spare of it.
    Add,
    /// To replace another member with it.
    ReplaceWith,
    /// To forget it.
    Remove,
    /// To take it out where the array cannot do without it.
    Fail,
}

/// What Linux does with the array before it is killed, and what is wrong when the array is opened
/// then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linux {
    /// Decides what is written, and what of it gets to the members.
    pub seed: u64,
    /// Writes that are answered.
    pub writes: u32,
    /// What a drive does then.
    pub trouble: Option<Trouble>,
    /// Power cuts, each so many starts and ends of I/Os after the one before.
    pub cuts_after: [Option<u32>; 2],
}

/// What an array is to become, and what goes wrong meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Members more, as far as there are drives.
    pub more: usize,
    /// Another chunk.
    pub chunk_bytes: Option<u32>,
    /// Another layout.
    pub layout: Option<ParityLayout>,
    /// After how many windows it is stopped, to go on at the next start.
    pub windows: Option<u32>,
    /// What a drive does.
    pub trouble: Option<Trouble>,
    /// Power cuts, each so many starts and ends of I/Os after the one before.
    pub cuts_after: [Option<u32>; 2],
}

/// A drive that misbehaves in something that the owner does, if the array can do without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Which.
    pub drive: usize,
    /// How.
    pub kind: MisbehaviourKind,
    /// So many commands of its kind are carried out first.
    pub skip: u32,
}

/// What a drive says that belongs to an array by its name only: much the same as one of the
/// members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stranger {
    /// Like which.
    pub like: usize,
    /// It has that one's own name, too.
    pub is_copy: bool,
    /// How many more updates it has seen.
    pub events: i64,
    /// One of the numbers that it may claim to have; that one's if none.
    pub number: Option<usize>,
}

/// Blocks of 512 bytes, wrapped into the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first one.
    pub first: u64,
    /// How many.
    pub count: u32,
}

impl Step {
    /// Whether it is a request, by whose count faults come.
    pub fn is_request(self) -> bool {
        matches!(self, Self::Read(_) | Self::Write(_) | Self::Discard(_) | Self::Flush)
    }
}

impl Scenario {
    /// All drives: members, spares, drawer.
    pub fn drives(&self) -> usize {
        self.members + self.spares + self.drawer
    }

    /// Capacity of a drive.
    pub fn bytes_of(&self, drive: usize) -> u64 {
        self.drive_bytes + self.extra_bytes[drive]
    }

    /// Whether the drives are so large that nothing may go over all of one.
    pub fn is_vast(&self) -> bool {
        self.drive_bytes > 1 << 30
    }

    /// Arrays of drives.
    pub fn groups(&self) -> usize {
        match self.level {
            ArrayLevel::Plain(_) => 1,
            ArrayLevel::Nested { groups, .. } => groups,
        }
    }

    /// Requests among the steps.
    pub fn requests(&self) -> usize {
        self.steps.iter().filter(|step| step.is_request()).count()
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layout = self.level.layout_name().map_or(String::new(), |layout| format!(" ({layout})"));
        writeln!(
            formatter,
            "level {}{layout}, {} members, {} spares, {} more drives; {} KiB each, chunk {} KiB, metadata {:?}",
            self.level.name(),
            self.members,
            self.spares,
            self.drawer,
            self.drive_bytes >> 10,
            self.chunk_bytes >> 10,
            self.metadata,
        )?;
        writeln!(
            formatter,
            "{:?}, {}, up to {} requests in flight, scratch of {} KiB, window of {} KiB, clean after {} ms, scheduler {:?}",
            self.consistency,
            if self.assume_clean { "in sync from the start" } else { "resynced first" },
            self.depth,
            self.scratch_bytes >> 10,
            self.write_back_bytes >> 10,
            self.safe_mode_delay_ms,
            self.scheduler,
        )?;
        let makes = self.makes.iter().zip(&self.extra_bytes).map(|((make, bus), extra_bytes)| match extra_bytes {
            0 => format!("{}@{bus}", make.name()),
            _ => format!("{}@{bus}+{}K", make.name(), extra_bytes >> 10),
        });
        writeln!(formatter, "drives: {}", makes.collect::<Vec<_>>().join(" "))?;
        writeln!(formatter, "{}", self.reordering)?;
        let (mut faults, mut requests) = (self.faults.faults.iter().peekable(), 0);
        for step in &self.steps {
            requests += u32::from(step.is_request());
            writeln!(formatter, "  {}", Told(step))?;
            while let Some(fault) = faults.next_if(|fault| fault.after_requests <= requests) {
                writeln!(formatter, "  * {}", ToldFault(&fault.kind))?;
            }
        }
        Ok(())
    }
}

struct Told<'a>(&'a Step);

impl fmt::Display for Told<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Step::Read(run) => write!(formatter, "read {run}"),
            Step::Write(run) => write!(formatter, "write {run}"),
            Step::Discard(run) => write!(formatter, "discard {run}"),
            Step::Flush => write!(formatter, "flush"),
            Step::Settle => write!(formatter, "wait for all answers"),
            Step::Pass(milliseconds) => write!(formatter, "let {milliseconds} ms pass"),
            Step::Scrub(ScrubMode::Check) => write!(formatter, "scrub"),
            Step::Scrub(ScrubMode::Repair) => write!(formatter, "scrub and repair"),
            Step::Replace(member) => write!(formatter, "replace member {member}"),
            Step::Fail(member) => write!(formatter, "take member {member} out"),
            Step::Restart => write!(formatter, "close, and open again"),
            Step::Misuse(misuse, member) => write!(formatter, "ask for {misuse:?} of member {member}"),
            Step::Linux(linux) => write!(formatter, "close, let Linux be killed with a journal, and open: {linux:?}"),
            Step::Grow(growth) => write!(formatter, "close, let it grow, and open: {growth:?}"),
            Step::Meet(stranger) => write!(formatter, "close, and open with a stranger: {stranger:?}"),
        }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} blocks at {}", self.count, self.first)
    }
}

/// A fault, as people read it.
pub(crate) struct ToldFault<'a>(pub(crate) &'a FaultKind);

impl fmt::Display for ToldFault<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            FaultKind::Stall { drive, duration_ns } => {
                write!(formatter, "drive {drive} stalls for {} ms", duration_ns / 1_000_000)
            }
            FaultKind::Misbehave { drive, misbehaviour } => {
                let what = told_kind(misbehaviour.kind);
                write!(formatter, "drive {drive}: {what}, {} of them later", misbehaviour.skip)
            }
            FaultKind::Latent { drive, area, offset, length } => {
                write!(formatter, "drive {drive}: {length} bytes at {offset} of its {} cannot be read", told(*area))
            }
            FaultKind::BitFlip { drive, area, offset, bit } => {
                write!(formatter, "drive {drive}: bit {bit} of {offset} of its {} flips", told(*area))
            }
            FaultKind::Unplug { drive } => write!(formatter, "drive {drive} is pulled"),
            FaultKind::Return { drive } => write!(formatter, "drive {drive} is back under another name"),
            FaultKind::Hang { drive } => write!(formatter, "drive {drive} answers nothing any more"),
            FaultKind::HangAtStart { drive, after_ios } => {
                write!(formatter, "drive {drive} answers nothing any more {after_ios} I/Os after the next start")
            }
            FaultKind::HubLoss { bus: None } => write!(formatter, "all drives lose their power, and the host does not"),
            FaultKind::HubLoss { bus: Some(bus) } => write!(formatter, "the drives of bus {bus} lose their power"),
            FaultKind::PowerCut { after_events: 0 } => write!(formatter, "power is cut"),
            FaultKind::PowerCut { after_events } => {
                write!(formatter, "power is cut, {after_events} starts and ends of I/O later")
            }
            FaultKind::PowerCutAfterError { after_events } => {
                write!(formatter, "power is cut, {after_events} starts and ends of I/O after the next error")
            }
            FaultKind::Away { drive, starts } => {
                write!(formatter, "drive {drive} is not there at the next {starts} starts")
            }
        }
    }
}

fn told(area: Area) -> &'static str {
    match area {
        Area::Content => "content",
        Area::Metadata => "metadata",
        Area::Log => "bitmap or log",
    }
}

fn told_kind(kind: MisbehaviourKind) -> String {
    match kind {
        MisbehaviourKind::ReadFails(fault) => format!("a read fails ({fault:?})"),
        MisbehaviourKind::WriteFails(fault) => format!("a write fails ({fault:?})"),
        MisbehaviourKind::FlushFails(fault) => format!("a flush fails ({fault:?})"),
        MisbehaviourKind::FlushLost => "a flush makes nothing durable".to_owned(),
        MisbehaviourKind::WriteLost => "a write is lost".to_owned(),
        MisbehaviourKind::WriteMisdirected { distance } => format!("a write lands {distance} bytes off"),
        MisbehaviourKind::WriteTorn => "a write is torn".to_owned(),
    }
}
