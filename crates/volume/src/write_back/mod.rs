//! A write-back window: writes are answered from memory, and go to the members in an order that
//! suits these.
//!
//! A block device may answer a write before it is durable, until a flush asks for it; every drive
//! does so. An array may too: it keeps what was written in a window of bounded size, and the
//! members get it in whole rows, in ascending order. Flash hates nothing more than to be written
//! where it was just left: half a row that is written now, and its parity once more with the other
//! half, cost a stick the copy of a whole erase unit each.
//!
//! ```text
//!  request ──► window ──► staged in pages, and answered ──► rows that are to go ──► destage buffers ──► engine
//!                │                                           (rows.rs: which, in what order)              ▲
//!                └── whole rows, of which the window holds nothing ───────────────────────────────────────┘
//! ```
//!
//! What passes is not copied, but its writer waits for the members. So a request passes that
//! consists of whole rows, or has many of them; another one is staged as a whole, and its writer
//! goes on filling rows meanwhile.
//!
//! Where many small writes lie close to each other, all of what is around them is read and written
//! anew: see [`stretches`](self::stretches), which has the arithmetic of small writes on flash.
//!
//! *What is promised.* As for a drive with a volatile cache: a write that is answered is read back
//! from then on; it is durable when a flush that began later has ended without an error. A flush
//! waits for all that was dirty when it came, then flushes the members. Flushes that wait together
//! become one. What was not flushed is old or new after a crash, block by block.
//!
//! *What the members refuse* stays in the window and is read from there. Flushes that came before
//! fail, and each that comes later tries it again. Until one succeeds nothing more is staged:
//! writes pass, and are told themselves what becomes of them; what is held of the blocks that they
//! write is written here as well.
//!
//! *What is coherent.* A page that is held is the newest version of its blocks. A read takes those
//! from memory at once, and asks the engine for the gaps. A write goes past the window only where
//! no page is held, so nothing in memory gets old. What is held of a range that is discarded
//! becomes zeros, as a read may come before the engine has begun the discard. Pages are copied to a
//! destage buffer when they leave, and let go once that is written, unless somebody wrote to them
//! meanwhile. The engine keeps requests that overlap in their order, so copies of a page arrive in
//! theirs.
//!
//! *What waits.* A write that finds no room is held until there is some, and whatever comes after
//! it, but for flushes and reads of other places, waits behind it: requests that overlap are not
//! reordered. A held write is not answered, so no flush waits for it. Room comes from loads, which
//! wait for nothing but the engine. A load of a row that is whole takes all of the row at once, or
//! waits for buffers; they all come back when the loads before it have ended.
//!
//! What the window does is a function of what it is told: it has no clock, does no I/O, and gives
//! out [`Step`]s.

mod flushes;
mod loads;
mod pages;
mod prices;
mod rows;
mod staging;
mod stretch;
mod stretches;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use shoal_array::{Command, Completion, Instant, Request, RequestError, RequestId, Span};

use crate::slab::Slab;
use loads::{Load, Loads};
use pages::{PAGE_BYTES, Pages};
use prices::Prices;
pub(crate) use rows::Layout;
use rows::{Epoch, Rows};
use stretch::{Decision, Next, Stretch};

/// The bytes that spans of requests and destage buffers name.
pub(crate) trait Content {
    /// Copies out of a span's first bytes.
    fn read(&self, span: Span, bytes: &mut [u8]);
    /// Copies into a span's first bytes.
    fn write(&self, span: Span, bytes: &[u8]);
}

/// What is to be done outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// This request goes to the engine as it is, which answers it to whoever asked.
    Pass(Request),
    /// This goes to the engine, and the answer to [`WriteBack::ended`].
    Submit(Purpose, Command),
    /// This is the answer.
    Answer(Completion),
}

/// What the window asks the engine for something for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A part of a request, by its number.
    Part(u64),
    /// A part of a load, by its number.
    Load(u64),
    /// A part of the stretch that is read.
    Stretch,
    /// The flushes that wait.
    Flush,
}

/// A request that is not answered, some of which is with the engine.
#[derive(Clone, Copy, Debug)]
struct Open {
    id: RequestId,
    outstanding: usize,
    /// All of it has been looked at.
    is_whole: bool,
    error: Option<RequestError>,
}

/// A request that waits for room, or behind one that does.
#[derive(Clone, Copy, Debug)]
struct Held {
    request: Request,
    /// Writes: content before this is staged, or with the engine.
    cursor: u64,
    /// Writes of which some is with the engine.
    open: Option<u64>,
}

/// A flush that waits for what was dirty when it came.
#[derive(Clone, Copy, Debug)]
struct Flush {
    id: RequestId,
    epoch: Epoch,
}

/// The window of one array.
#[derive(Debug)]
pub(crate) struct WriteBack {
    pages: Pages,
    rows: Rows,
    loads: Loads,
    /// No member of the array is missing or incomplete.
    is_whole: bool,
    stretch: Option<Stretch>,
    decision: Option<Decision>,
    prices: Prices,
    /// When the last load landed, or the first one of several began.
    busy_since: Instant,
    /// The time, when something last happened.
    now: Instant,
    open: Slab<Open>,
    held: VecDeque<Held>,
    flushes: VecDeque<Flush>,
    /// The flushes that the engine is flushing for.
    flushing: Vec<Flush>,
    /// Where the members have refused something: the epoch with whose end all of it is tried again.
    refused: Option<Epoch>,
    /// Since when something has been dirty without a sweep, and when the last write came.
    dirty_since: Option<(Instant, Instant)>,
    steps: VecDeque<Step>,
}

fn part(span: Span, skipped: u64, length: u64) -> Span {
    let [skipped, length] = [skipped, length].map(|bytes| u32::try_from(bytes).expect("a part of a span is as short"));
    span.part(skipped, length)
}

impl WriteBack {
    /// A window of so many bytes over an array; what it sends the members is sent from these
    /// buffers.
    pub(crate) fn new(layout: Layout, window_bytes: u64, buffers: &[Span]) -> Self {
        let pages = u32::try_from(window_bytes / PAGE_BYTES).unwrap_or(u32::MAX).max(1);
        Self {
            pages: Pages::new(pages),
            rows: Rows::new(layout),
            loads: Loads::new(buffers),
            is_whole: false,
            stretch: None,
            decision: None,
            prices: Prices::default(),
            busy_since: Instant::default(),
            now: Instant::default(),
            open: Slab::new(),
            held: VecDeque::new(),
            flushes: VecDeque::new(),
            flushing: Vec::new(),
            refused: None,
            dirty_since: None,
            steps: VecDeque::new(),
        }
    }

    /// Bytes that are answered and not on their way to the members.
    pub(crate) fn dirty_bytes(&self) -> u64 {
        self.rows.dirty_bytes()
    }

    /// Bytes that there is room for.
    pub(crate) fn window_bytes(&self) -> u64 {
        self.pages.total_count() as u64 * PAGE_BYTES
    }

    /// The members have been given everything, and nothing is under way: what they refused is all
    /// that is held.
    pub(crate) fn is_at_rest(&self) -> bool {
        let has_left = self.loads.is_empty() && (self.pages.is_empty() || self.refused.is_some());
        let waits = !self.held.is_empty() || !self.flushes.is_empty() || !self.flushing.is_empty();
        has_left && !waits && self.rows.next().is_none()
    }

    /// Says whether the array is whole. One that is not loses what a missing member had in a row
    /// that a crash falls into.
    pub(crate) fn set_whole(&mut self, is_whole: bool) {
        self.is_whole = is_whole;
        if let Some(stretch) = self.stretch.as_mut().filter(|_| !is_whole) {
            stretch.is_dropped = true;
        }
    }

    /// Takes a request in that lies within the array, in whole blocks.
    pub(crate) fn submit(&mut self, now: Instant, request: Request, content: &impl Content) {
        self.now = now;
        let range = request.command.range();
        match request.command {
            Command::Flush => self.flush(request.id),
            Command::Read { .. } if !self.is_held_up(&request.command) => self.read(request, range, content),
            Command::Read { .. } | Command::Write { .. } | Command::Discard { .. } => {
                self.held.push_back(Held { request, cursor: range.start, open: None });
                self.serve_held(now, content);
            }
        }
    }

    /// Whether a read has to wait for a write that is held.
    fn is_held_up(&self, command: &Command) -> bool {
        let is_behind = |held: &Held| held.request.command.overlaps(command);
        self.held.iter().any(is_behind)
    }

    /// Lets requests go on in their order, until one of them finds no room.
    fn serve_held(&mut self, now: Instant, content: &impl Content) {
        while let Some(mut held) = self.held.pop_front() {
            let range = held.request.command.range();
            match held.request.command {
                Command::Write { span, .. } => {
                    if !self.stage(now, &mut held, (&range, span), content) {
                        return self.held.push_front(held);
                    }
                }
                Command::Read { .. } => self.read(held.request, range, content),
                Command::Discard { .. } => self.discard(held.request, range),
                Command::Flush => self.flush(held.request.id),
            }
        }
    }

    fn ask(&mut self, open: u64, command: Command) {
        self.open.entry_mut(open).expect("it is not answered").outstanding += 1;
        self.steps.push_back(Step::Submit(Purpose::Part(open), command));
    }

    /// All of a request has been looked at: it is answered when the engine has done its parts.
    fn looked_at(&mut self, open: u64) {
        self.open.entry_mut(open).expect("it is not answered").is_whole = true;
        self.answer_if_done(open);
    }

    fn answer_if_done(&mut self, open: u64) {
        let it = self.open.entry_mut(open).expect("it is not answered");
        if it.is_whole && it.outstanding == 0 {
            let Open { id, error, .. } = self.open.take(open);
            self.steps.push_back(Step::Answer(Completion { id, result: error.map_or(Ok(()), Err) }));
        }
    }

    /// The engine has done what a step asked for.
    pub(crate) fn ended(
        &mut self,
        now: Instant,
        purpose: Purpose,
        result: Result<(), RequestError>,
        content: &impl Content,
    ) {
        self.now = now;
        match purpose {
            Purpose::Part(open) => {
                let it = self.open.entry_mut(open).expect("it is not answered");
                it.outstanding -= 1;
                it.error = it.error.or(result.err());
                self.answer_if_done(open);
            }
            Purpose::Load(load) => {
                if let Some(load) = self.loads.ended(load, result.is_ok()) {
                    self.landed(&load);
                    self.look_for_flushes();
                    self.serve_held(now, content);
                }
            }
            Purpose::Stretch => self.stretch_read(result.is_ok(), content),
            Purpose::Flush => self.flushed(result),
        }
    }

    /// The next thing to do outside.
    pub(crate) fn next_step(&mut self, content: &impl Content) -> Option<Step> {
        if self.steps.is_empty() {
            self.keep_room();
            self.load(content);
        }
        self.steps.pop_front()
    }

    /// Sees to it that an eighth of the window is free or on its way, so that writes seldom wait.
    fn keep_room(&mut self) {
        if self.refused.is_some() {
            return; // nothing is staged
        }
        let total = self.pages.total_count() as u64;
        loop {
            let leaving = self.loads.page_count() as u64 + self.rows.due_bytes() / PAGE_BYTES;
            let is_short = !self.held.is_empty() && self.loads.page_count() == 0 && self.rows.next().is_none();
            if !is_short && (self.pages.free_count() as u64 + leaving) * 8 >= total {
                return;
            }
            if !self.rows.make_room() {
                return;
            }
        }
    }

    /// Begins loads of what is to go, as long as there are buffers for them.
    fn load(&mut self, content: &impl Content) {
        while self.stretch.is_none()
            && let Some(row) = self.rows.next()
        {
            match self.next_load(row) {
                Next::Row => {}
                Next::Stretch(range) => return self.begin_stretch(range),
                Next::Later => return,
            }
            let layout = *self.rows.layout();
            let Some(filled) = self.loads.fill(&layout, row, &mut self.pages, content) else { return };
            let epoch = self.rows.leave(row, filled.bytes);
            self.row_goes(row);
            let (load, writes) = Load::of_row(&layout, row, epoch, filled);
            self.begin_load(load, writes);
        }
    }

    fn begin_load(&mut self, load: Load, writes: Vec<(u64, Span)>) {
        if self.loads.page_count() == 0 {
            self.busy_since = self.now;
        }
        let load = self.loads.begin(load, writes.len());
        let submit = |(offset, span)| Step::Submit(Purpose::Load(load), Command::Write { offset, span });
        self.steps.extend(writes.into_iter().map(submit));
    }
}

impl Open {
    fn of(id: RequestId) -> Self {
        Self { id, outstanding: 0, is_whole: false, error: None }
    }
}
