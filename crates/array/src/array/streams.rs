//! Sequential writers on parity levels: the row that a writer is about to fill waits until it has,
//! or is not about to.
//!
//! A writer that keeps several requests in flight ends most of them in the middle of a row. Done at
//! once, that row would be read and its parity written twice or more, the second time behind what
//! comes after it, which is what flash hates most; a moment later the next request brings the rest.
//! So the row where a stream of writes ends is *plugged*: its slices are not worked on.
//!
//! **What is a stream.** A write that begins where another one ended, or ends where another one
//! began, makes a stream of the two, upwards or downwards; then each further one that goes on at
//! that edge joins it. Writes join in the order in which they get their turn in the request order,
//! before anything of them is queued. One that has to wait there breaks its stream: the next begins
//! another.
//!
//! **What is plugged.** The row of the stream's edge, if the edge lies within it; one row for each
//! stream. The plug moves on with the edge. A row has one plug at most, and none if anything but
//! writes waits for it.
//!
//! **When a plug is pulled.** As soon as nothing keeps it in place. Two things do:
//!
//! * A *witness*: a write of the stream that is not answered, and no part of which waits for a
//!   plugged row, of whatever stream. It ends by itself, however long its drives take, and its
//!   writer may then say what comes next.
//! * *Patience*, when there is no witness, but the writer had more in flight before and so owes an
//!   answer to an answer: for as long as the stream's last write took, within bounds. So waiting in
//!   vain costs a slow drive's writer little, and a fast drive's writer less.
//!
//! A writer that lets patience run out twice without having gone on in between submits in bursts,
//! and waits for all of a burst. Until it answers an answer neither of the two keeps its plug: it
//! is pulled a millisecond after the latest write of the burst, so that what has to be read is read
//! while the rest of the burst is written.
//!
//! A writer with one request in flight has neither, and never waits.
//!
//! Plugs are looked at when the driver asks for effects, as slices are: by then whatever was to be
//! submitted in one go is there.
//!
//! **Why nobody waits for ever.** A witness waits for operations that hold their slices and buffers
//! and end by themselves, never for a plug: parts that wait for plugged rows make a write no
//! witness, in the moment in which they are queued there or the row is plugged. So there is no
//! circle of plugs that keep each other in place, and each one's last witness ends. Patience ends
//! by the clock. In particular:
//!
//! * *The stream's own next write, or anything else, waits in the request order for a write in a
//!   plugged row*: it can bring nothing, so the rows that it waits for are unplugged when it comes.
//!   If the row is plugged later, what waits is no witness, and the above holds.
//! * *A flush* covers what is answered, waits for no write, and pulls no plug.
//! * *A read that needs the slice, a race, or a step of a rebuild, resync or scrub* pulls the plug:
//!   it needs the row as it is.
//! * *Another writer's part in a plugged row* waits with it, and goes as one batch with it.
//! * *More streams than the table has places*: writes that nothing went on from yet make room
//!   first, then the stream that was silent for longest. If all have something in flight the
//!   newcomer is no stream's: it is done as it comes.
//!
//! What this cannot help: with so little in flight that all of it lies in one row, somebody has to
//! be answered before the row is full, and then it is written in part. So a writer causes no reads
//! if what it has in flight, less its last request, covers a row.

use super::{Array, Owner, order::Ticket, plan::Part, requests::Active, slab::Key, slices::Waiter};
use crate::Instant;

/// Writers that are told apart.
const STREAMS: usize = 16;

/// A stream is kept for as long as so many younger writes that nothing went on from.
const KEPT_LONGER: u64 = 64;

/// Bounds of the patience with a writer.
const PATIENCE_NS: core::ops::RangeInclusive<u64> = 100_000..=50_000_000;

/// A burst is over when nothing came for so long.
const BURST_NS: u64 = 1_000_000;

/// So often in a row has patience to be in vain until nobody has it any more.
const IN_VAIN_MAX: u32 = 2;

/// Which way a stream goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Course {
    /// One write so far: any.
    #[default]
    Any,
    Up,
    Down,
}

/// A row that is left alone.
#[derive(Clone, Copy, Debug)]
struct Plug {
    row: u64,
    /// When patience ends; none while there is a witness.
    until: Option<Instant>,
}

/// One writer.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    /// Array bytes of its last write.
    start: u64,
    end: u64,
    course: Course,
    /// Its only write so far, until that is answered.
    first: Option<Key<Active>>,
    /// Its writes that are not answered.
    unanswered: usize,
    /// Of these, with parts that wait for plugged rows.
    waiting: usize,
    plug: Option<Plug>,
    /// How many it keeps in flight, as far as is known.
    depth: usize,
    /// How often patience with it was in vain since it answered an answer.
    in_vain: u32,
    /// Answers that it was given since its last write.
    answers: usize,
    /// How long the write took that was answered last.
    latency_ns: u64,
    /// When its last write came.
    joined: Instant,
    /// The count of writes at its last one.
    used: u64,
}

impl Stream {
    /// The way it goes on by this write, if it does.
    fn course_of(&self, start: u64, end: u64) -> Option<Course> {
        match self.course {
            Course::Any | Course::Up if self.end == start && start > 0 => Some(Course::Up),
            Course::Any | Course::Down if self.start == end => Some(Course::Down),
            _ => None,
        }
    }

    fn edge(&self) -> u64 {
        if self.course == Course::Down { self.start } else { self.end }
    }

    /// One more write of it.
    fn join(&mut self, now: Instant, (start, end): (u64, u64), course: Course) {
        if self.answers > 0 && self.unanswered > 0 {
            self.in_vain = 0;
        }
        (self.start, self.end, self.course) = (start, end, course);
        (self.first, self.answers, self.joined) = (None, 0, now);
        self.unanswered += 1;
        self.depth = self.depth.max(self.unanswered);
        if let Some(plug) = &mut self.plug {
            plug.until = None;
        }
    }

    fn has_witness(&self) -> bool {
        self.unanswered > self.waiting
    }

    /// Whether it waits for all that it has in flight before it goes on.
    fn is_bursty(&self) -> bool {
        self.in_vain >= IN_VAIN_MAX
    }

    /// Whether it is expected to go on though it has no more answers to come.
    fn owes_a_write(&self) -> bool {
        self.unanswered < self.depth && !self.is_bursty()
    }

    /// Whether its plug stays in place; patience begins here, and is found to be over.
    fn keeps_plug(&mut self, now: Instant) -> bool {
        let is_owed = self.owes_a_write();
        let patience_ns = self.latency_ns.clamp(*PATIENCE_NS.start(), *PATIENCE_NS.end());
        let (has_witness, is_bursty, burst_end) =
            (self.has_witness(), self.is_bursty(), self.joined.after_ns(BURST_NS));
        let Some(plug) = &mut self.plug else { return true };
        if is_bursty {
            plug.until = Some(burst_end);
            return burst_end > now;
        }
        if has_witness {
            plug.until = None;
            return true;
        }
        if !is_owed {
            return false;
        }
        if *plug.until.get_or_insert(now.after_ns(patience_ns)) > now {
            return true;
        }
        self.in_vain += 1;
        self.depth = self.unanswered;
        false
    }
}

/// The writers.
#[derive(Debug, Default)]
pub(super) struct Streams {
    streams: [Stream; STREAMS],
    /// Writes so far.
    writes: u64,
}

impl Streams {
    /// The stream that goes on by this write, and which way.
    fn find(&self, start: u64, end: u64) -> Option<(usize, Course)> {
        let courses = self.streams.iter().enumerate();
        courses
            .filter(|(_, stream)| stream.used > 0)
            .find_map(|(index, stream)| stream.course_of(start, end).map(|course| (index, course)))
    }

    /// The place for a new one: of a write that nothing went on from, or of a stream that has
    /// nothing in flight.
    fn place(&self) -> Option<usize> {
        let can_go = |stream: &&Stream| stream.course == Course::Any || stream.unanswered == 0;
        let age = |stream: &Stream| stream.used + if stream.course == Course::Any { 0 } else { KEPT_LONGER };
        let places = (0..STREAMS).filter(|index| can_go(&&self.streams[*index]));
        places.min_by_key(|index| age(&self.streams[*index]))
    }

    fn is_plugged(&self, row: u64) -> bool {
        self.streams.iter().any(|stream| stream.plug.is_some_and(|plug| plug.row == row))
    }
}

impl Array {
    /// A write is about to be queued at its slices: it may go on a stream. The row where it ends is
    /// plugged, the one where the stream ended before is not any more.
    pub(super) fn stream_goes_on(&mut self, key: Key<Active>) {
        self.streams.writes += 1;
        let (start, end) = self.requests[key].range();
        let Some((index, course)) = self.streams.find(start, end) else { return self.begin_stream(key) };
        self.requests[key].stream = Some(index);
        let used = self.streams.writes;
        let stream = &mut self.streams.streams[index];
        stream.join(self.now, (start, end), course);
        stream.used = used;
        let row_bytes = self.profile.row_bytes();
        let edge = stream.edge();
        let row = (!edge.is_multiple_of(row_bytes)).then(|| edge / row_bytes);
        if row.is_some() && stream.plug.map(|plug| plug.row) == row {
            return;
        }
        let is_worth_it = stream.unanswered > 1 || stream.owes_a_write();
        self.unplug(index);
        if let Some(row) = row.filter(|row| is_worth_it && !self.streams.is_plugged(*row)) {
            self.plug(index, row);
        }
    }

    fn begin_stream(&mut self, key: Key<Active>) {
        let Some(index) = self.streams.place() else { return };
        let (start, end) = self.requests[key].range();
        let used = self.streams.writes;
        let forgotten = &mut self.streams.streams[index];
        let first = Some(key);
        let before = core::mem::replace(
            forgotten,
            Stream { start, end, first, unanswered: 1, depth: 1, used, ..Stream::default() },
        );
        if let Some(first) = before.first {
            self.requests[first].stream = None;
        }
        self.requests[key].stream = Some(index);
    }

    /// A write of the stream is answered.
    pub(super) fn stream_answered(&mut self, index: usize, latency_ns: u64) {
        let stream = &mut self.streams.streams[index];
        stream.unanswered -= 1;
        stream.answers += 1;
        stream.first = None;
        stream.latency_ns = latency_ns;
    }

    fn plug(&mut self, index: usize, row: u64) {
        let slices = self.profile.slices_of(row);
        if self.slices.plug(slices.clone()) {
            self.streams.streams[index].plug = Some(Plug { row, until: None });
            for request in self.slices.writers_in(slices) {
                self.part_is_plugged(request);
            }
        }
    }

    fn unplug(&mut self, index: usize) {
        let Some(plug) = self.streams.streams[index].plug.take() else { return };
        let slices = self.profile.slices_of(plug.row);
        self.slices.unplug(&slices);
        for request in self.slices.writers_in(slices) {
            self.part_is_free(request);
        }
    }

    fn part_is_plugged(&mut self, request: Key<Active>) {
        let request = &mut self.requests[request];
        request.plugged_parts += 1;
        if let (Some(stream), 1) = (request.stream, request.plugged_parts) {
            self.streams.streams[stream].waiting += 1;
        }
    }

    fn part_is_free(&mut self, request: Key<Active>) {
        let request = &mut self.requests[request];
        request.plugged_parts -= 1;
        if let (Some(stream), 0) = (request.stream, request.plugged_parts) {
            self.streams.streams[stream].waiting -= 1;
        }
    }

    /// Queues somebody at a slice. Whoever is not a writer pulls its plug.
    pub(super) fn queue_at_slice(&mut self, slice: u64, waiter: Waiter) {
        if self.slices.is_plugged(slice) {
            match &waiter {
                Waiter::Write(Part { request, .. }) => self.part_is_plugged(*request),
                Waiter::Read(..) | Waiter::Race(..) | Waiter::Step(_) => self.unplug_row(self.profile.row_of(slice)),
            }
        }
        self.slices.queue(slice, waiter);
    }

    fn unplug_row(&mut self, row: u64) {
        let is_at = |stream: &Stream| stream.plug.is_some_and(|plug| plug.row == row);
        if let Some(index) = self.streams.streams.iter().position(is_at) {
            self.unplug(index);
        }
    }

    /// Somebody has to wait in the order: whatever it waits for is unplugged.
    pub(super) fn unplug_for(&mut self, ticket: Key<Ticket<Owner>>) {
        if !self.slices.has_plugs() {
            return;
        }
        for owner in self.order.waited_for(ticket) {
            if let Owner::Request(request) = owner {
                self.unplug_rows_of(request);
            }
        }
    }

    fn unplug_rows_of(&mut self, request: Key<Active>) {
        if self.requests[request].plugged_parts == 0 {
            return;
        }
        let (start, end) = self.requests[request].range();
        let rows = start / self.profile.row_bytes()..=(end - 1) / self.profile.row_bytes();
        for index in 0..STREAMS {
            if self.streams.streams[index].plug.is_some_and(|plug| rows.contains(&plug.row)) {
                self.unplug(index);
            }
        }
    }

    /// Pulls the plugs that nothing keeps in place.
    pub(super) fn look_at_plugs(&mut self) {
        if !self.slices.has_plugs() {
            return;
        }
        for index in 0..STREAMS {
            if !self.streams.streams[index].keeps_plug(self.now) {
                self.unplug(index);
            }
        }
    }

    /// When patience with a writer ends.
    pub(super) fn patience_due(&self) -> Option<Instant> {
        if !self.slices.has_plugs() {
            return None;
        }
        self.streams.streams.iter().filter_map(|stream| stream.plug?.until).min()
    }

    /// For invariant checks: what is counted is what is there.
    pub(super) fn streams_add_up(&self) -> bool {
        let mut found = [(0, 0); STREAMS];
        for request in self.requests.values() {
            if let Some(stream) = request.stream {
                found[stream].0 += 1;
                found[stream].1 += usize::from(request.plugged_parts > 0);
            }
        }
        self.streams.streams.iter().zip(found).all(|(stream, found)| (stream.unanswered, stream.waiting) == found)
    }
}
