//! Sequential writers on parity levels: the stripe that a writer is about to fill is left alone until it has.
//!
//! A writer that keeps several requests in flight ends most of them in the middle of a row. Done at once, that row
//! would be read and its parity written twice or more; a moment later the next request brings the rest. So while a
//! stream of writes goes on, the row where it ends is *plugged*: its slices are not worked on. The plug is pulled when the
//! stream has passed the row, and when nothing else of the stream is in flight, so that there is no more to come before
//! these are answered. A writer with one request in flight never waits.
//!
//! *Nobody waits for ever.* Others may want a plugged slice, and the stream may wait for them in turn. So a plug lasts no
//! longer than about as many outcomes as there are effects in flight, twice over; it is pulled when nothing is in
//! flight, when a request has to wait for another, and when anything but a write wants a plugged slice.

use super::{Array, requests::Active, slab::Key};

/// Writers that are told apart.
const STREAMS: usize = 4;

/// Outcomes that a plug outlasts at least.
const PATIENCE: usize = 16;

/// One writer.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    /// Array byte after its last write.
    end: u64,
    /// Its writes that run and are not answered.
    unanswered: usize,
    /// The row it ends in, if that is plugged.
    plugged: Option<u64>,
    /// How many of the unanswered end in that row.
    waiting: usize,
    /// The plug is pulled after so many outcomes from now on.
    patience: usize,
}

/// The writers, and which to forget next.
#[derive(Debug, Default)]
pub(super) struct Streams {
    streams: [Stream; STREAMS],
    oldest: usize,
}

impl Array {
    /// All of a write is queued at its slices: it may go on a stream. Plugs the row where it ends.
    pub(super) fn stream_went_on(&mut self, key: Key<Active>) {
        let (start, end) = self.requests[key].range();
        let Some(index) = self.streams.streams.iter().position(|stream| stream.end == start && start > 0) else {
            return self.begin_stream(key, end);
        };
        self.requests[key].stream = Some(index);
        let row = (!end.is_multiple_of(self.profile.row_bytes())).then(|| end / self.profile.row_bytes());
        let stream = &mut self.streams.streams[index];
        stream.end = end;
        stream.unanswered += 1;
        if stream.plugged.is_some() && stream.plugged == row {
            stream.waiting += 1;
            return;
        }
        self.unplug(index);
        let stream = &mut self.streams.streams[index];
        let plugs = row.filter(|row| stream.unanswered > 1 && self.slices.plug(self.profile.slices_of(*row)));
        (stream.plugged, stream.waiting) = (plugs, usize::from(plugs.is_some()));
        stream.patience = 2 * self.effects.in_flight() + PATIENCE;
    }

    /// Begins a stream in the place of the oldest that has nothing in flight; if there is none the write goes unnoticed.
    fn begin_stream(&mut self, key: Key<Active>, end: u64) {
        let places = (0..STREAMS).map(|step| (self.streams.oldest + step) % STREAMS);
        let Some(index) = places.into_iter().find(|index| self.streams.streams[*index].unanswered == 0) else { return };
        self.streams.oldest = (index + 1) % STREAMS;
        self.streams.streams[index] = Stream { end, unanswered: 1, plugged: None, waiting: 0, patience: 0 };
        self.requests[key].stream = Some(index);
    }

    /// A write of the stream is answered.
    pub(super) fn stream_answered(&mut self, index: usize) {
        let stream = &mut self.streams.streams[index];
        stream.unanswered -= 1;
        if stream.unanswered <= stream.waiting {
            self.unplug(index);
        }
    }

    fn unplug(&mut self, index: usize) {
        if let Some(row) = self.streams.streams[index].plugged.take() {
            self.streams.streams[index].waiting = 0;
            self.slices.unplug(&self.profile.slices_of(row));
        }
    }

    /// An effect has ended: plugs that lasted too long are pulled.
    pub(super) fn wear_plugs(&mut self) {
        if !self.slices.has_plugs() {
            return;
        }
        for index in 0..STREAMS {
            let stream = &mut self.streams.streams[index];
            stream.patience = stream.patience.saturating_sub(1);
            if stream.patience == 0 {
                self.unplug(index);
            }
        }
    }

    /// Pulls every plug.
    pub(super) fn unplug_all(&mut self) {
        for index in 0..STREAMS {
            self.unplug(index);
        }
    }
}
