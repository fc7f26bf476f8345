use alloc::{vec, vec::Vec};

use super::super::{Flight, MemberState, Members};
use super::*;
use crate::{BufferId, Geometry, Instant, Level, MemberIo, Shape, Span};

const MIB: u64 = 1 << 20;

/// A drive that serves one read after the other.
#[derive(Clone, Copy)]
struct Drive {
    ns_per_mib: u64,
    jump_ns: u64,
}

const STICK: Drive = Drive { ns_per_mib: 10_000_000, jump_ns: 500_000 };
const SLOW_STICK: Drive = Drive { ns_per_mib: 30_000_000, jump_ns: 500_000 };
const DISK: Drive = Drive { ns_per_mib: 10_000_000, jump_ns: 12_000_000 };

/// A mirror, and what its drives are at.
struct Mirror {
    members: Members,
    drives: Vec<Drive>,
    heads: Vec<u64>,
    busy_until: Vec<Instant>,
    now: Instant,
    /// By end: the member, its share of which request, and what was remembered.
    in_flight: Vec<(Instant, Role, usize, Option<Flight>)>,
    read_bytes: Vec<u64>,
}

impl Mirror {
    fn new(drives: &[Drive]) -> Self {
        let shape = Shape { level: Level::Raid1, chunk_bytes: 0, member_bytes: vec![1 << 40; drives.len()] };
        let states = vec![MemberState::InSync; drives.len()];
        Self {
            members: Members::new(&Geometry::new(shape).expect("a sound shape"), states),
            drives: drives.to_vec(),
            heads: vec![0; drives.len()],
            busy_until: vec![Instant::default(); drives.len()],
            now: Instant::default(),
            in_flight: vec![],
            read_bytes: vec![0; drives.len()],
        }
    }

    /// Reads on one after the other, so much at a time and so many of them in flight. Returns bytes
    /// a microsecond, after the first eighth.
    fn sequence(&mut self, bytes: u64, depth: usize, count: usize) -> u64 {
        let (mut submitted, mut begun) = (0, self.now);
        let mut left: Vec<usize> = vec![0; count];
        loop {
            while submitted < count && left.iter().filter(|left| **left > 0).count() < depth {
                left[submitted] = self.submit(submitted as u64 * bytes, bytes, submitted);
                submitted += 1;
                if submitted == count / 8 {
                    begun = self.now;
                }
            }
            let Some(next) = (0..self.in_flight.len()).min_by_key(|index| self.in_flight[*index].0) else { break };
            let (end, role, request, flight) = self.in_flight.swap_remove(next);
            self.now = end;
            self.members.io_ended(end, role, flight, true);
            left[request] -= 1;
        }
        bytes * (count - count / 8) as u64 * 1000 / self.now.since_ns(begun)
    }

    fn submit(&mut self, start: u64, bytes: u64, request: usize) -> usize {
        let (mut at, mut shares) = (start, 0);
        while at < start + bytes {
            let copies: Vec<_> = self.members.roles().map(|role| (role, at)).collect();
            let wanted = Wanted::alone(start + bytes - at);
            let copy = self.members.choose(copies.iter().copied(), wanted, &[], true).expect("all can be read");
            let length = self.members.share(self.now, &copies, copy, wanted);
            self.read(copy.0, at, length, request);
            (at, shares) = (at + length, shares + 1);
        }
        shares
    }

    fn read(&mut self, role: Role, offset: u64, length: u64, request: usize) {
        let (index, drive) = (role.index(), self.drives[role.index()]);
        let span = Span { buffer: BufferId(0), offset: 0, length: length as u32 };
        let flight = self.members.io_started(self.now, role, MemberIo::Read { offset, span });
        let jump_ns = if self.heads[index] == offset { 0 } else { drive.jump_ns };
        let end = self.busy_until[index].max(self.now).after_ns(jump_ns + length * drive.ns_per_mib / MIB);
        (self.heads[index], self.busy_until[index]) = (offset + length, end);
        self.read_bytes[index] += length;
        self.in_flight.push((end, role, request, flight));
    }
}

/// Bytes a microsecond of a drive that never jumps.
fn rate(drive: Drive) -> u64 {
    MIB * 1000 / drive.ns_per_mib
}

#[test]
fn a_sequence_is_read_from_all_copies_where_jumps_are_cheap() {
    for (bytes, depth) in [(MIB, 1), (4 * MIB, 1), (MIB, 2), (MIB, 4), (MIB, 16), (256 << 10, 8)] {
        let both = Mirror::new(&[STICK, STICK]).sequence(bytes, depth, 800);
        assert!(both * 100 >= 2 * rate(STICK) * 88, "{bytes} bytes, {depth} in flight: {both}");
    }
    let three = Mirror::new(&[STICK; 3]).sequence(MIB, 6, 800);
    assert!(three * 100 >= 3 * rate(STICK) * 88, "{three}");
}

#[test]
fn a_disk_is_left_alone_with_its_sequence_unless_runs_are_long() {
    for (bytes, depth) in [(MIB, 1), (128 << 10, 1), (128 << 10, 4)] {
        let both = Mirror::new(&[DISK, DISK]).sequence(bytes, depth, 1600);
        assert!(both * 100 >= rate(DISK) * 95, "{bytes} bytes, {depth} in flight: {both}");
    }
    let deep = Mirror::new(&[DISK, DISK]).sequence(MIB, 32, 1600);
    assert!(deep * 100 >= 2 * rate(DISK) * 85, "{deep}");
}

#[test]
fn a_faster_member_takes_more() {
    for drives in [[STICK, SLOW_STICK], [SLOW_STICK, STICK]] {
        for depth in [1, 4] {
            let mut mirror = Mirror::new(&drives);
            let both = mirror.sequence(MIB, depth, 800);
            let all = rate(STICK) + rate(SLOW_STICK);
            assert!(both * 100 >= all * 75, "{depth} in flight: {both} of {all}");
        }
    }
}
