//! Who uses the drives: readers with a window, writers with a deep queue, one I/O at a time; and
//! how arrays spread it.

use shoal_sim::{Command, Operation, Simulation};

pub(crate) const KIB: u64 = 1 << 10;
pub(crate) const MIB: u64 = 1 << 20;

/// A run of bytes on one drive.
pub(crate) type Piece = (usize, u64, u32);

/// RAID0: chunks in turn.
pub(crate) fn raid0(drives: u64, chunk_bytes: u64) -> impl Fn(u64, u64) -> Vec<Piece> {
    move |offset, length| {
        let place = |chunk: u64| ((chunk % drives) as usize, chunk / drives * chunk_bytes);
        cut(offset, length, chunk_bytes, |chunk, within, bytes| {
            let (drive, start) = place(chunk);
            vec![(drive, start + within, bytes)]
        })
    }
}

/// RAID5 in whole stripes, left-symmetric: data, then the parity of each stripe.
pub(crate) fn raid5_stripes(drives: u64, chunk_bytes: u64) -> impl Fn(u64, u64) -> Vec<Piece> {
    move |offset, length| {
        let data = drives - 1;
        let parity_of = |stripe: u64| drives - 1 - stripe % drives;
        let mut pieces = cut(offset, length, chunk_bytes, |chunk, within, bytes| {
            let (stripe, number) = (chunk / data, chunk % data);
            let drive = (parity_of(stripe) + 1 + number) % drives;
            vec![(drive as usize, stripe * chunk_bytes + within, bytes)]
        });
        let stripes = offset / (data * chunk_bytes)..(offset + length).div_ceil(data * chunk_bytes);
        pieces.extend(stripes.map(|it| (parity_of(it) as usize, it * chunk_bytes, chunk_bytes as u32)));
        pieces
    }
}

fn cut(offset: u64, length: u64, chunk_bytes: u64, place: impl Fn(u64, u64, u32) -> Vec<Piece>) -> Vec<Piece> {
    let (mut position, end) = (offset, offset + length);
    let mut pieces = Vec::new();
    while position < end {
        let within = position % chunk_bytes;
        let bytes = (chunk_bytes - within).min(end - position);
        pieces.extend(place(position / chunk_bytes, within, bytes as u32));
        position += bytes;
    }
    pieces
}

/// Drives in use.
pub(crate) struct User {
    pub(crate) simulation: Simulation,
    token: u64,
    finished: Vec<u64>,
}

impl User {
    pub(crate) fn new(simulation: Simulation) -> Self {
        Self { simulation, token: 0, finished: Vec::new() }
    }

    fn submit(&mut self, operation: Operation, pieces: &[Piece]) -> u64 {
        for &(drive, offset, length) in pieces {
            self.simulation.submit(Command { token: self.token, drive, operation, offset, length });
            self.token += 1;
        }
        self.simulation.start();
        pieces.len() as u64
    }

    fn wait(&mut self, at_least: usize) -> u64 {
        self.finished.clear();
        self.simulation.run_until(at_least, None, &mut self.finished);
        self.finished.len() as u64
    }

    /// A reader who submits a window, waits for all of it, and pauses: bytes a second.
    pub(crate) fn read_windows(
        &mut self,
        map: impl Fn(u64, u64) -> Vec<Piece>,
        total: u64,
        window: u64,
        turn_ns: u64,
    ) -> u64 {
        self.windows(Operation::Read, map, total, window, turn_ns)
    }

    /// The same for reads or writes.
    pub(crate) fn windows(
        &mut self,
        operation: Operation,
        map: impl Fn(u64, u64) -> Vec<Piece>,
        total: u64,
        window: u64,
        turn_ns: u64,
    ) -> u64 {
        let began_ns = self.simulation.now_ns();
        let mut offset = 0;
        let mut end_ns = began_ns;
        while offset < total {
            let length = window.min(total - offset);
            let count = self.submit(operation, &map(offset, length));
            assert_eq!(self.wait(count as usize), count);
            end_ns = self.simulation.now_ns();
            self.simulation.advance(turn_ns);
            offset += length;
        }
        rate(total, end_ns - began_ns)
    }

    /// Writeback of a large file: 16 MiB are kept outstanding, and come 8 MiB at a time.
    pub(crate) fn write_back(&mut self, map: impl Fn(u64, u64) -> Vec<Piece>, total: u64) -> u64 {
        let (deep, batch) = (16 * MIB, 8 * MIB);
        let began_ns = self.simulation.now_ns();
        let (mut offset, mut sizes, mut outstanding) = (0, Vec::new(), 0);
        let first_token = self.token;
        loop {
            while offset < total && outstanding + batch <= deep {
                let length = batch.min(total - offset);
                let pieces = map(offset, length);
                sizes.extend(pieces.iter().map(|piece| u64::from(piece.2)));
                outstanding += pieces.iter().map(|piece| u64::from(piece.2)).sum::<u64>();
                self.submit(Operation::Write, &pieces);
                offset += length;
            }
            if outstanding == 0 {
                return rate(total, self.simulation.now_ns() - began_ns);
            }
            assert!(self.wait(1) > 0);
            let done = self.finished.iter().map(|token| sizes[(token - first_token) as usize]);
            outstanding -= done.sum::<u64>();
        }
    }

    /// One operation at a time, the same on each drive: bytes a second of one, and all latencies in
    /// ascending order.
    pub(crate) fn one_at_a_time(
        &mut self,
        operation: Operation,
        drives: usize,
        count: u64,
        offset_of: impl Fn(u64) -> u64,
    ) -> (u64, Vec<u64>) {
        let began_ns = self.simulation.now_ns();
        let mut latencies = Vec::new();
        for number in 0..count {
            let submitted_ns = self.simulation.now_ns();
            let pieces: Vec<_> = (0..drives).map(|drive| (drive, offset_of(number), 4096)).collect();
            self.submit(operation, &pieces);
            self.wait(drives);
            latencies.push(self.simulation.now_ns() - submitted_ns);
        }
        latencies.sort_unstable();
        (rate(count * 4096, self.simulation.now_ns() - began_ns), latencies)
    }
}

pub(crate) fn rate(bytes: u64, duration_ns: u64) -> u64 {
    bytes * 1_000_000_000 / duration_ns
}
