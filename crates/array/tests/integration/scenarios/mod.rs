//! Small scenes of which the right course is known beforehand.

mod background;
mod costs;
mod records;

use shoal_array::{Background, BufferId, MemberIo, MemberState, RequestError, Role, Span};

use crate::rig::disk::Counts;
use crate::rig::engine::{Origin, Setup};
use crate::rig::model::Model;
use crate::rig::random::Random;
use crate::rig::shapes::Topology;
use crate::rig::{Rig, Schedule};

const BUFFERS: u32 = 32;
const BUFFER_BYTES: u32 = 64 << 10;

/// A rig, and buffers for requests.
struct Scene {
    rig: Rig,
    buffers: BufferId,
}

impl Scene {
    fn new(topology: &Topology, missing: &[Role], background: Background) -> Self {
        let setup = Setup { scratch_extra: 200, scratch_bytes: 4096, background, log: None };
        let degraded: Vec<_> = missing.iter().map(|role| (*role, MemberState::Missing)).collect();
        let mut rig = Rig::new(topology, &setup, &degraded, Random::new(1));
        rig.schedule = Schedule::InOrder;
        let buffers = rig.memory.add(BUFFERS, BUFFER_BYTES);
        Self { rig, buffers }
    }

    /// A span that no request uses.
    fn span(&mut self, length: u64) -> Span {
        let is_used = |buffer: u32| {
            self.rig.engines[0].open.iter().any(|open| {
                matches!(open.io, MemberIo::Read { span, .. } | MemberIo::Write { span, .. } if span.buffer.0 == buffer)
            })
        };
        let buffer = (self.buffers.0..self.buffers.0 + BUFFERS).find(|buffer| !is_used(*buffer));
        Span { buffer: BufferId(buffer.expect("more buffers than requests")), offset: 0, length: length as u32 }
    }

    /// Submits without polling.
    fn read(&mut self, offset: u64, length: u64) {
        let span = self.span(length);
        let id = self.rig.next_request();
        self.rig.submit_unpolled(0, id, MemberIo::Read { offset, span }, Origin::Story);
    }

    /// Submits without polling.
    fn write(&mut self, offset: u64, length: u64) {
        let span = self.span(length);
        let id = self.rig.next_request();
        Model::fill(offset, id.number, self.rig.memory.bytes_mut(span));
        self.rig.model.submit(id.number, offset, length, false);
        self.rig.submit_unpolled(0, id, MemberIo::Write { offset, span }, Origin::Story);
    }

    /// Polls, and carries everything out.
    fn run(&mut self) {
        self.rig.drain(0);
        self.rig.settle();
    }

    /// The results of what was answered since the last time, in the order of the answers.
    fn results(&mut self) -> Vec<Result<(), RequestError>> {
        self.rig.answers.drain(..).map(|answer| answer.result).collect()
    }

    /// I/O of all members together.
    fn counts(&self) -> Counts {
        let mut sum = Counts::default();
        for disk in &self.rig.disks {
            sum.reads += disk.counts.reads;
            sum.read_bytes += disk.counts.read_bytes;
            sum.writes += disk.counts.writes;
            sum.written_bytes += disk.counts.written_bytes;
            sum.flushes += disk.counts.flushes;
            sum.discards += disk.counts.discards;
        }
        sum
    }
}
