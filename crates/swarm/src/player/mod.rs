//! Plays a scenario: a safety phase with faults at work, then a liveness phase without.
//!
//! The player is the array's user and owner in one. As user he makes requests and holds the answers
//! against what was promised ([`crate::checkers`]). As owner he puts drives back that were pulled,
//! gives the array new ones, opens it again after power cuts, and forces it where shoal says that
//! he has to.
//!
//! He also keeps the faults within what the level survives ([`faults`]): a fault that would take
//! more than that, in the state that the array is in, is passed over.

mod apart;
mod boot;
mod ending;
mod faults;
mod forced;
mod growth;
mod hangs;
mod journal;
mod misuse;
mod outage;
mod power;
mod requests;
mod stranded;
mod strangers;
mod waits;
mod weakness;
mod worlds;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use shoal_sim::Content;
use shoal_volume::{Arena, ArrayLevel, ArrayVolume, ContentMap, DriveId, Level, ScrubMode, Trust, Unflushed, World};

use crate::books::Books;
use crate::checkers::{Answers, Failure, Promises, Silent};
use crate::chronicle::Shared;
use crate::random::Random;
use crate::scenario::{Scenario, Step};
use crate::watched::Watched;
use hangs::Hangs;
use journal::JournalDrive;
use power::Stock;
use requests::Asked;
use stranded::Stranded;

pub(crate) use boot::arena;
pub use waits::Waits;

/// What came of playing a scenario.
#[derive(Clone, Debug)]
pub struct Played {
    /// What a checker objected to.
    pub failure: Option<Failure>,
    /// Equal for equal runs.
    pub trace_hash: u64,
    /// What happened.
    pub counts: Counts,
    /// What passed, line by line, if that was asked for.
    pub lines: String,
}

/// What happened in one scenario, or in many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    /// Requests of the array's user.
    pub requests: u64,
    /// I/Os of the array on its drives.
    pub member_ios: u64,
    /// Virtual time.
    pub virtual_ns: u64,
    /// Worlds of drives of GiB and TiB.
    pub vast: u64,
    /// Power cuts.
    pub power_cuts: u64,
    /// Of these, while the array was being opened.
    pub cut_short: u64,
    /// Drives that were not there when the array was started.
    pub away: u64,
    /// Arrays that had to be forced: dirty and degraded, without a partial parity log.
    pub forced: u64,
    /// Pulled drives.
    pub unplugged: u64,
    /// Hubs that lost their power under a host that did not.
    pub hubs_lost: u64,
    /// Write-back windows that went with their array, and held something.
    pub windows_lost: u64,
    /// Arrays that lost too much and were opened anew.
    pub revived: u64,
    /// Inner arrays that lost what says that they are members, in the write hole.
    pub stranded: u64,
    /// Drives that answered nothing any more.
    pub hung: u64,
    /// Of these, from a start on.
    pub hung_at_start: u64,
    /// Pauses from outside.
    pub stalls: u64,
    /// Reads, writes and flushes that failed.
    pub errors: u64,
    /// Errors and unreadable ranges where there was no other copy.
    pub last_copies: u64,
    /// Ranges that could not be read until written.
    pub latent: u64,
    /// Silent faults: bits flipped, writes lost, misdirected, torn, flushes that made nothing
    /// durable.
    pub silent: u64,
    /// Of these, flushes that a drive lied about and whose writes a power cut took.
    pub lies: u64,
    /// Starts that somebody had to say a word for, as members lacked updates that they had flushed.
    pub doubted: u64,
    /// Faults in superblocks, bitmaps and logs.
    pub marred: u64,
    /// Bits that flipped in bitmaps and partial parity logs.
    pub flipped: u64,
    /// Faults that the array could not have survived in its state, and that were passed over.
    pub passed_over: u64,
    /// Journals that a killed Linux left, to be replayed.
    pub journals: u64,
    /// Growths that were begun.
    pub grown: u64,
    /// Growths that were gone on with at a start.
    pub grown_on: u64,
    /// Members that were replaced while they worked.
    pub replaced: u64,
    /// Orders that had to be refused.
    pub misused: u64,
    /// Starts that were tried on the side with any of the drives.
    pub apart: u64,
    /// Of these, refused.
    pub apart_refused: u64,
    /// Worlds on the side in which two hosts went on, each with some of the drives.
    pub split: u64,
    /// Strangers that lay beside the members at a start.
    pub strangers: u64,
    /// Blocks of 512 bytes that were in the write hole when a member was lost: they may be
    /// anything, by design.
    pub write_hole_blocks: u64,
    /// Blocks of 512 bytes with wrong content that a silent fault bears on, by its place: nobody
    /// could have known, by design.
    pub silent_wrong_blocks: u64,
    /// Bytes that scrubs found not to agree after silent faults.
    pub silent_found_bytes: u64,
    /// How long requests waited.
    pub waits: Waits,
}

impl Counts {
    /// Adds what happened elsewhere.
    pub(crate) fn add(&mut self, other: &Self) {
        // None is left out: the pattern has to name them all.
        macro_rules! sum {
            ($($count:ident)*) => {
                let Self { $($count,)* waits } = other;
                $(self.$count += $count;)*
                self.waits.add(waits);
            };
        }
        sum!(
            requests member_ios virtual_ns vast power_cuts cut_short away forced unplugged hubs_lost windows_lost revived stranded hung hung_at_start
            stalls errors last_copies latent silent lies doubted marred flipped passed_over journals grown grown_on replaced misused apart apart_refused split
            strangers write_hole_blocks silent_wrong_blocks silent_found_bytes
        );
    }
}

/// Plays one scenario as the array's user and owner, and holds what it does against what was
/// promised.
pub(crate) struct Player<'a> {
    scenario: &'a Scenario,
    /// Members of the complete array.
    members: usize,
    arena: Arena,
    chronicle: Shared,
    /// None only between one array and the next.
    array: Option<ArrayVolume<Watched>>,
    promises: Promises,
    answers: Answers<Asked>,
    silent: Silent,
    /// Where content lay when the array was made: drives by their number in the scenario. Their
    /// places are the *seats*, whoever sits there later.
    seats: ContentMap,
    /// The id of each drive of the scenario; none while it is pulled.
    ids: Vec<Option<DriveId>>,
    hangs: Hangs,
    /// Drives that have refused to write or flush, since they were taken in.
    failing: BTreeSet<usize>,
    /// How often drives have refused to write or flush.
    refusals: u64,
    /// Drives that have failed to read something. Others may be asked for it now.
    rereading: BTreeSet<usize>,
    /// The number of each drive, as they appear one after the other: a new one after each loss of
    /// power under a living host.
    incarnations: Vec<u64>,
    /// What the host remembers of the array.
    books: Books,
    /// How much this host believes beyond its books: all, once drives have lied and somebody has
    /// said so.
    trust: Trust,
    /// What the user knows of what he was answered.
    client: Unflushed,
    /// Drives that were plugged in again and are not taken in yet.
    returned: BTreeSet<usize>,
    /// Blocks that are lost if a member is, until parity agrees again.
    holes: BTreeSet<usize>,
    /// Some blocks were.
    has_lost_to_holes: bool,
    /// Armed silent faults: what their drive bore on at that time.
    armed: BTreeMap<usize, (DriveId, ContentMap)>,
    /// Drives that are not there, or will not be at the next start: for so many starts more.
    away: BTreeMap<usize, u32>,
    stranded: Stranded,
    stock: Stock,
    journal: JournalDrive,
    /// Members whose bitmap or log has a wrong bit, until they are read and written anew.
    flipped: BTreeSet<usize>,
    /// Members, old and new, of a growth that has not ended yet.
    growing: Vec<usize>,
    /// Request buffers that are free.
    buffers: Vec<u32>,
    next_id: u64,
    random: Random,
    boots: u64,
    counts: Counts,
}

/// Plays a scenario on memory that may have been used before.
pub(crate) fn play(scenario: &Scenario, arena: &Arena, is_traced: bool) -> Played {
    let mut player = match Player::begin(scenario, arena.clone(), is_traced) {
        Ok(player) => player,
        Err(failure) => {
            let (counts, lines) = (Counts::default(), String::new());
            return Played { failure: Some(failure), trace_hash: 0, counts, lines };
        }
    };
    player.meet_client();
    let failure = player.play().err().filter(|_| !player.stranded.is_all);
    player.array = None;
    player.counts.vast = u64::from(scenario.is_vast());
    player.counts.write_hole_blocks += player.promises.excused_count() as u64;
    player.counts.silent_wrong_blocks = player.silent.wrong_count() as u64;
    let mut chronicle = player.chronicle.borrow_mut();
    player.counts.virtual_ns = chronicle.total_ns;
    player.counts.member_ios = chronicle.io_count;
    Played { failure, trace_hash: chronicle.hash.value(), counts: player.counts, lines: chronicle.take_lines() }
}

impl Player<'_> {
    fn play(&mut self) -> Result<(), Failure> {
        let scenario = self.scenario;
        let mut faults = scenario.faults.faults.iter().peekable();
        let mut requests = 0;
        for step in &scenario.steps {
            requests += u32::from(step.is_request());
            let done = self.take(*step);
            self.outlive(done)?;
            while let Some(fault) = faults.next_if(|fault| fault.after_requests <= requests) {
                let struck = self.strike(&fault.kind);
                self.outlive(struck)?;
            }
            let done = self.look_around();
            self.outlive(done)?;
            if !self.stranded.drives.is_empty() {
                break;
            }
        }
        self.end()
    }

    fn take(&mut self, step: Step) -> Result<(), Failure> {
        match step {
            Step::Read(_) | Step::Write(_) | Step::Discard(_) | Step::Flush => self.request(step),
            Step::Settle => self.settle(),
            Step::Pass(milliseconds) => {
                self.settle()?;
                self.pass(milliseconds)
            }
            Step::Scrub(mode) => {
                self.scrub(mode);
                Ok(())
            }
            Step::Replace(seat) => self.replace(seat),
            Step::Fail(seat) => self.take_out(seat),
            Step::Restart => self.restart(),
            Step::Misuse(misuse, seat) => self.misuse(misuse, seat),
            Step::Linux(linux) => self.run_linux(linux),
            Step::Grow(growth) => self.grow(growth),
            Step::Meet(stranger) => self.meet(stranger),
        }
    }

    /// What the owner does by himself between two steps.
    fn look_around(&mut self) -> Result<(), Failure> {
        self.note_struck();
        self.revive_failed()?;
        self.take_in_returned()?;
        self.array_mut().world_mut().placement.verdict()
    }

    fn array_mut(&mut self) -> &mut ArrayVolume<Watched> {
        self.array.as_mut().expect("there is an array between steps")
    }

    fn array(&self) -> &ArrayVolume<Watched> {
        self.array.as_ref().expect("there is an array between steps")
    }

    fn content(&mut self, drive: usize) -> &mut Content {
        self.array_mut().world_mut().inner_mut().content_mut(drive)
    }

    fn now_ns(&self) -> u64 {
        self.array().world().now().ns
    }

    fn note(&self, line: std::fmt::Arguments<'_>) {
        self.chronicle.borrow_mut().note(line);
    }

    fn scrub(&mut self, mode: ScrubMode) {
        self.note(format_args!("scrub: {mode:?}"));
        // Refused where there is nothing to compare, or while something else is under way.
        let _ = self.array_mut().scrub(mode);
    }

    /// How many members of a group may be lost.
    fn redundancy(&self) -> usize {
        let level = match self.scenario.level {
            ArrayLevel::Plain(level) => level,
            ArrayLevel::Nested { inner, .. } => inner,
        };
        level.redundancy(self.group_size())
    }

    /// Whether stripes have parity, and so a write hole.
    fn has_parity(&self) -> bool {
        let is_parity = |level| matches!(level, Level::Raid4 | Level::Raid5(_) | Level::Raid6(_));
        match self.scenario.level {
            ArrayLevel::Plain(level) => is_parity(level),
            ArrayLevel::Nested { outer, inner, .. } => is_parity(outer) || is_parity(inner),
        }
    }

    fn group_size(&self) -> usize {
        self.members / self.scenario.groups()
    }
}
