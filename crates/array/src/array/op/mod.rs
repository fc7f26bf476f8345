//! Operations: everything that takes more than one step.
//!
//! ```text
//!            ┌──────────── a read failed ───────────┐
//!            ▼                                      │
//!  lock ► waiting for ──► reading ── all read ──► computing ──► logging ──► writing ──► next columns, or over
//!         buffers, planned                          step by step  (RAID5
//!                                                                 with a log)
//! ```
//!
//! Between computing and writing it may stand in [`line`], for the sake of flash.
//!
//! An operation has a slice of a stripe, or an array range of a mirror, for itself while it lasts.
//! It works through its columns; for each run of columns it takes buffers, is planned, and runs the
//! plan.
//!
//! *Reads that fail.* Nothing has been written then. The operation waits for its other reads and
//! plans anew, with what is known by then. If a member answered that a range is unreadable, the
//! range is halved first, and each half done by itself, down to single blocks: so what is taken
//! from redundancy, written anew, or reported is exactly what cannot be read, and two members with
//! bad blocks in different places of a range are no loss.
//!
//! What cannot be done for several parts together is tried for each part alone before it is given
//! up.
//!
//! *Writes that fail* take their member out; the others go on. What the lost member missed is in
//! the parity or the other copies, as the plan made them agree. Writes to members that are out by
//! then are left away. With a partial parity log, what has not begun to write then waits until the
//! failure is recorded, and is planned anew; see [`logging`].

mod inquiry;
mod line;
mod logging;
mod loss;
mod phases;
mod verdicts;

use alloc::vec::Vec;
use core::ops::Range;

use super::{
    Mismatch, Owner, ScrubMode,
    member::Members,
    order::Ticket,
    plan::{
        Cols, IoPlan, Mirror, Part, Shortfall, View, hull_of, plan_mirror_race, plan_mirror_read, plan_mirror_rebuild,
        plan_mirror_scrub, plan_read, plan_rebuild, plan_scrub, plan_write,
    },
    races::Race,
    scratch::Draft,
    slab::Key,
};
use crate::{BufferId, Copies, EffectId, Health, Role, Stripe};
use inquiry::Inquiry;
use loss::Lost;

/// What an operation is for.
#[derive(Debug)]
pub(super) enum Kind {
    /// Reads that need more than one member. The suspect is asked first (mirrors).
    Read {
        parts: Vec<Part>,
        suspect: Option<Role>,
    },
    Write(Vec<Part>),
    /// A read of a part that goes round its member.
    Race {
        part: Part,
        race: Key<Race>,
    },
    Rebuild(Role),
    Scrub(ScrubMode),
    Resync,
}

impl Kind {
    /// What requests want of it.
    fn parts(&self) -> &[Part] {
        match self {
            Self::Read { parts, .. } | Self::Write(parts) => parts,
            Self::Race { part, .. } => core::slice::from_ref(part),
            Self::Rebuild(_) | Self::Scrub(_) | Self::Resync => &[],
        }
    }
}

/// What an operation has for itself.
#[derive(Debug)]
pub(super) enum Site {
    /// A slice.
    Stripe { slice: u64, stripe: Stripe },
    /// A piece, and its first array byte; the ticket is the background's, requests have their own.
    Mirror { copies: Copies, offset: u64, ticket: Option<Key<Ticket<Owner>>> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// For its turn, or for buffers.
    Waiting,
    Reading,
    Computing,
    Logging,
    /// Put off until what has failed is recorded; see [`logging`].
    Recording,
    /// Ready to write, after the one on the slice before; see [`line`].
    InLine,
    Writing,
    /// A rebuild step that is done, but not all before it are.
    Holding,
}

/// What is done in one go.
#[derive(Clone, Debug)]
struct Turn {
    cols: Cols,
    /// These parts, as far as they lie within the columns.
    parts: Range<usize>,
}

/// One operation.
#[derive(Debug)]
pub(super) struct Op {
    kind: Kind,
    site: Site,
    phase: Phase,
    /// What is at work.
    turn: Turn,
    /// What is to be done after it, last first.
    todo: Vec<Turn>,
    /// Members that cannot be read within the columns at work.
    bad: Vec<Role>,
    /// A bad member does not answer at all: there is no use in halving.
    is_gone: bool,
    read_failed: bool,
    plan: IoPlan,
    /// The log's entries of the columns at work, as long as they are needed.
    log: Option<EffectId>,
    outstanding: usize,
    scratch: Vec<BufferId>,
    /// Scrub: what is found out of the columns at work.
    inquiry: Inquiry,
    /// Scrub: what was found in the columns at work.
    found: Vec<Found>,
    /// Rebuild: where it could not go on.
    stopped_at: Option<u64>,
    /// Scrub: there was nothing left to compare with.
    is_moot: bool,
    /// Background: what can be had from nobody.
    lost: Vec<Lost>,
    /// Race: it has all that it was to read.
    has_computed: bool,
    /// Rebuild: some of it became bad blocks of the member that is filled.
    has_bad_blocks: bool,
}

/// A mismatch, and the writes in the plan that repair it.
#[derive(Debug)]
struct Found {
    mismatch: Mismatch,
    writes: Range<usize>,
    /// How many of them are not done.
    missing: usize,
}

/// What became of a background step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) stopped_at: Option<u64>,
    pub(super) is_moot: bool,
    pub(super) has_bad_blocks: bool,
}

impl Op {
    pub(super) fn new(mut kind: Kind, site: Site, cols: Cols) -> Self {
        if let Kind::Write(parts) = &mut kind {
            // The parts of each block, and those of blocks that lie side by side, are neighbours in
            // the list then.
            parts.sort_unstable_by_key(|part| (part.index, part.cols.start));
        }
        let part_count = kind.parts().len();
        Self {
            kind,
            site,
            phase: Phase::Waiting,
            turn: Turn { cols, parts: 0..part_count },
            todo: Vec::new(),
            bad: Vec::new(),
            is_gone: false,
            read_failed: false,
            plan: IoPlan::default(),
            log: None,
            outstanding: 0,
            scratch: Vec::new(),
            inquiry: Inquiry::default(),
            found: Vec::new(),
            stopped_at: None,
            is_moot: false,
            lost: Vec::new(),
            has_computed: false,
            has_bad_blocks: false,
        }
    }

    /// The race that it is for.
    fn race(&self) -> Option<Key<Race>> {
        if let Kind::Race { race, .. } = self.kind { Some(race) } else { None }
    }

    /// The background's ticket.
    pub(super) fn set_ticket(&mut self, own: Key<Ticket<Owner>>) {
        if let Site::Mirror { ticket, .. } = &mut self.site {
            *ticket = Some(own);
        }
    }

    pub(super) fn note_bad(&mut self, role: Role, is_gone: bool) {
        self.bad.push(role);
        self.is_gone |= is_gone;
    }

    /// Leaves the second half of the columns at work for later; `false` if they are one block.
    pub(super) fn halve(&mut self, block_bytes: u32) -> bool {
        let cols = self.turn.cols;
        let blocks = cols.length() / block_bytes;
        if blocks < 2 {
            return false;
        }
        let middle = cols.start + blocks / 2 * block_bytes;
        self.todo.push(Turn { cols: Cols { start: middle, ..cols }, parts: self.turn.parts.clone() });
        self.turn.cols.end = middle;
        self.bad.clear();
        true
    }

    /// What is impossible for several parts together may not be so for each; `false` if there is
    /// only one.
    fn separate(&mut self) -> bool {
        let Turn { cols, parts } = self.turn.clone();
        if parts.len() < 2 {
            return false;
        }
        let all = self.kind.parts();
        let within = parts.filter(|index| all[*index].cols.common(cols).is_some());
        self.todo.extend(within.map(|index| Turn { cols, parts: index..index + 1 }));
        true
    }

    /// The parts at work.
    fn parts(&self) -> Vec<Part> {
        let at_work = &self.kind.parts()[self.turn.parts.clone()];
        at_work.iter().filter_map(|part| part.clip(self.turn.cols)).collect()
    }

    pub(super) fn scratch_held(&self) -> usize {
        self.scratch.len()
    }

    pub(super) fn outstanding(&self) -> usize {
        self.outstanding
    }

    pub(super) fn holds_slice(&self) -> bool {
        matches!(self.site, Site::Stripe { .. })
    }

    /// The columns at work, as sync bytes.
    fn sync_range(&self) -> Range<u64> {
        let (Site::Stripe { stripe: Stripe { member_offset: start, .. }, .. } | Site::Mirror { offset: start, .. }) =
            &self.site;
        start + u64::from(self.turn.cols.start)..start + u64::from(self.turn.cols.end)
    }

    fn member_offset(&self, role: Role) -> u64 {
        match &self.site {
            Site::Stripe { stripe, .. } => stripe.member_offset,
            Site::Mirror { copies, .. } => copies.iter().find(|copy| copy.0 == role).map_or(0, |copy| copy.1),
        }
    }

    /// Plans the turn at work; `logs`: the array has a partial parity log; `raced`: the member that
    /// a race goes round.
    fn plan(
        &self,
        members: &Members,
        logs: bool,
        raced: Option<Role>,
        draft: &mut Draft<'_>,
    ) -> Result<IoPlan, Shortfall> {
        let (cols, bad) = (self.turn.cols, self.bad.as_slice());
        match &self.site {
            Site::Stripe { stripe, .. } => {
                let view = View { stripe, cols, members, bad, around: raced };
                match &self.kind {
                    Kind::Read { .. } => plan_brisk_read(&view, &self.parts(), draft),
                    Kind::Race { .. } => plan_read(&view, &self.parts(), draft),
                    Kind::Rebuild(role) => plan_rebuild(&view, *role, draft),
                    Kind::Scrub(_) | Kind::Resync => plan_scrub(&view, draft),
                    Kind::Write(_) if members.health() == Health::Failed => Err(Shortfall),
                    Kind::Write(_) => {
                        let parts = self.parts();
                        let Some(cols) = hull_of(&parts) else { return Ok(IoPlan::default()) };
                        plan_write(&View { cols, ..view }, &parts, logs, draft)
                    }
                }
            }
            Site::Mirror { copies, offset, .. } => {
                let mirror = Mirror { copies, offset: *offset, cols, members, bad };
                match &self.kind {
                    Kind::Read { suspect, .. } => plan_mirror_read(&mirror, &self.parts(), *suspect),
                    Kind::Race { part, .. } => {
                        let around = raced.ok_or(Shortfall)?;
                        plan_mirror_race(&mirror, &part.clip(cols).ok_or(Shortfall)?, around, draft)
                    }
                    Kind::Rebuild(role) => plan_mirror_rebuild(&mirror, *role, draft),
                    Kind::Scrub(_) | Kind::Resync => plan_mirror_scrub(&mirror, draft),
                    Kind::Write(_) => unreachable!("writes to mirrors need no operation"),
                }
            }
        }
    }
}

/// A read that goes round a member that has stalled, if the others suffice and are known to have
/// the same.
fn plan_brisk_read(view: &View<'_>, parts: &[Part], draft: &mut Draft<'_>) -> Result<IoPlan, Shortfall> {
    let wanted = parts.iter().map(|part| view.stripe.data[part.index]);
    if let Some(around) = view.members.stalled_among(wanted).filter(|_| view.is_synced()) {
        let brisk = plan_read(&View { around: Some(around), ..*view }, parts, draft);
        if brisk.is_ok() {
            return brisk;
        }
    }
    plan_read(view, parts, draft)
}
