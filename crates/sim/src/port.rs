//! The block layer in front of a drive: commands become requests.
//!
//! Commands that are submitted are held back (*plugged*) until they are started. Meanwhile each is
//! cut into pieces of `piece_bytes` at most, as the kernel's bios are, and a piece that goes on
//! where the drive's newest request ends is merged into it (a back merge), as long as that does not
//! exceed what the bus and the host allow. So a request may hold parts of several commands, and a
//! command be spread over several requests; it is finished when its last part is. The newest
//! request takes pieces until it is on its way. Pieces are never divided.
//!
//! A drive has one request at a time, as Bulk-Only Transport and parallel ATA do, and the host's
//! [`Scheduler`] says which. A disk that holds several (NCQ) takes the one with the shortest seek
//! among the oldest of them.

use std::collections::VecDeque;

use crate::drive::{Drive, Work};
use crate::pool::Pool;
use crate::scheduler::{Candidate, Sweep};
use crate::{Command, HostModel, Operation, Scheduler};

/// A request, on its way.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) drive: u32,
    pub(crate) operation: Operation,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    /// How many steps of its way it has begun.
    pub(crate) steps: u32,
    /// When it came to be.
    since_ns: u64,
    /// The parts of commands in it, as a list.
    first_part: u32,
    last_part: u32,
}

impl Request {
    fn candidate(&self) -> Candidate {
        Candidate { operation: self.operation, offset: self.offset, length: self.length, since_ns: self.since_ns }
    }

    /// What the drive has to do.
    pub(crate) fn work(&self, request: u32) -> Work {
        Work { request, operation: self.operation, offset: self.offset, length: self.length }
    }
}

/// A command whose parts are on their way.
#[derive(Debug)]
struct Pending {
    token: u64,
    parts: u32,
}

/// A part of a command in a request.
#[derive(Debug)]
struct Part {
    command: u32,
    next: Option<u32>,
}

/// What one drive takes, and what waits for it.
#[derive(Debug)]
pub(crate) struct Port {
    max_request_bytes: u32,
    piece_bytes: u32,
    /// The request that takes further pieces.
    newest: Option<u32>,
    /// Requests that the drive could begin.
    pub(crate) waiting: VecDeque<u32>,
    scheduler: Scheduler,
    sweep: Sweep,
}

impl Port {
    /// Before a drive on a bus that takes requests of up to `bus_request_bytes`.
    pub(crate) fn new(host: &HostModel, bus_request_bytes: u32) -> Self {
        let max_request_bytes = host.max_request_bytes.min(bus_request_bytes);
        Self {
            max_request_bytes,
            piece_bytes: host.piece_bytes.min(max_request_bytes),
            newest: None,
            waiting: VecDeque::new(),
            scheduler: host.scheduler,
            sweep: Sweep::new(),
        }
    }

    /// What of `left` bytes fits into `room`, in whole pieces.
    fn fitting(&self, left: u32, room: u32) -> u32 {
        if left <= room { left } else { room - room % self.piece_bytes }
    }

    /// The request that a drive begins at a moment, which can choose among so many.
    pub(crate) fn take_next(&mut self, now_ns: u64, drive: &Drive, choice: usize, requests: &Requests) -> Option<u32> {
        let place = match self.scheduler {
            _ if choice > 1 => self.nearest(drive, choice, requests),
            Scheduler::None => 0,
            Scheduler::LastFirst => self.last_of_data(requests),
            Scheduler::Deadline => {
                self.sweep.choose(now_ns, self.waiting.iter().map(|&it| requests.at(it).candidate()))
            }
        };
        let request = self.waiting.remove(place)?;
        self.close(request);
        Some(request)
    }

    /// The newest that nothing but data came before; nothing overtakes a flush.
    fn last_of_data(&self, requests: &Requests) -> usize {
        let data = self.waiting.iter().take_while(|&&request| requests.at(request).length > 0).count();
        data.saturating_sub(1)
    }

    /// The one with the shortest seek of the `choice` oldest, and of equals the oldest.
    fn nearest(&self, drive: &Drive, choice: usize, requests: &Requests) -> usize {
        let seek_ns = |request: u32| {
            let work = requests.at(request).work(request);
            work.direction().map_or(0, |direction| drive.reposition_ns(direction, work.offset))
        };
        // Nothing overtakes a flush.
        let data = |&&request: &&u32| requests.at(request).length > 0;
        let candidates = self.waiting.iter().take(choice).take_while(data).enumerate();
        candidates.min_by_key(|&(_, &request)| seek_ns(request)).map_or(0, |(place, _)| place)
    }

    /// Forgets all requests.
    pub(crate) fn clear(&mut self) {
        self.newest = None;
        self.waiting.clear();
    }

    /// A request is on its way: nothing is merged into it any more.
    pub(crate) fn close(&mut self, request: u32) {
        if self.newest == Some(request) {
            self.newest = None;
        }
    }
}

/// All commands and requests that are under way.
#[derive(Debug)]
pub(crate) struct Requests {
    requests: Pool<Request>,
    commands: Pool<Pending>,
    parts: Pool<Part>,
    /// Held back, in the order in which they came to be.
    held: Vec<u32>,
}

impl Requests {
    pub(crate) fn new() -> Self {
        Self { requests: Pool::new(), commands: Pool::new(), parts: Pool::new(), held: Vec::new() }
    }

    /// Commands that are not finished.
    pub(crate) fn commands(&self) -> usize {
        self.commands.len()
    }

    pub(crate) fn at(&self, request: u32) -> &Request {
        self.requests.at(request)
    }

    pub(crate) fn at_mut(&mut self, request: u32) -> &mut Request {
        self.requests.at_mut(request)
    }

    /// Makes requests of a command, and holds them back.
    pub(crate) fn take_in(&mut self, now_ns: u64, command: Command, port: &mut Port) {
        let Command { token, operation, mut offset, length, .. } = command;
        let number = self.commands.insert(Pending { token, parts: 0 });
        let mut left = length;
        loop {
            let merged = self.merge(number, operation, offset, left, port);
            let taken = match merged {
                0 => {
                    let taken = port.fitting(left, port.max_request_bytes);
                    self.open(now_ns, number, Command { offset, length: taken, ..command }, port);
                    taken
                }
                merged => merged,
            };
            left -= taken;
            offset += u64::from(taken);
            if left == 0 {
                return;
            }
        }
    }

    /// Adds to the newest request what fits, and returns how much.
    fn merge(&mut self, command: u32, operation: Operation, offset: u64, left: u32, port: &Port) -> u32 {
        let Some(newest) = port.newest.filter(|_| left > 0) else { return 0 };
        let request = self.requests.at_mut(newest);
        if request.operation != operation || request.offset + u64::from(request.length) != offset {
            return 0;
        }
        let taken = port.fitting(left, port.max_request_bytes - request.length);
        if taken > 0 {
            request.length += taken;
            let last = request.last_part;
            let part = self.part(command);
            self.parts.at_mut(last).next = Some(part);
            self.requests.at_mut(newest).last_part = part;
        }
        taken
    }

    fn open(&mut self, since_ns: u64, number: u32, command: Command, port: &mut Port) {
        let Command { drive, operation, offset, length, .. } = command;
        let part = self.part(number);
        let drive = u32::try_from(drive).expect("drives are counted in tens");
        let request =
            Request { drive, operation, offset, length, steps: 0, since_ns, first_part: part, last_part: part };
        let request = self.requests.insert(request);
        // Only data are merged.
        port.newest = (length > 0).then_some(request);
        self.held.push(request);
    }

    fn part(&mut self, command: u32) -> u32 {
        self.commands.at_mut(command).parts += 1;
        self.parts.insert(Part { command, next: None })
    }

    /// Everything that is held back, to be started; the list comes back by [`Requests::give_back`].
    pub(crate) fn take_held(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.held)
    }

    pub(crate) fn give_back(&mut self, mut list: Vec<u32>) {
        list.clear();
        self.held = list;
    }

    /// A request is over: appends the tokens of the commands that are finished with it.
    pub(crate) fn finish(&mut self, request: u32, finished: &mut Vec<u64>) {
        let mut next = Some(self.requests.remove(request).first_part);
        while let Some(part) = next {
            let part = self.parts.remove(part);
            next = part.next;
            let command = self.commands.at_mut(part.command);
            command.parts -= 1;
            if command.parts == 0 {
                finished.push(self.commands.remove(part.command).token);
            }
        }
    }

    /// Forgets that requests of a drive were held back, and returns the numbers of all that it has.
    pub(crate) fn give_up(&mut self, drive: u32) -> Vec<u32> {
        let requests = &self.requests;
        self.held.retain(|&request| requests.at(request).drive != drive);
        self.requests.numbers_of(|request| request.drive == drive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u32 = 1024;

    fn port(piece_bytes: u32) -> Port {
        Port::new(&HostModel { piece_bytes, ..HostModel::default() }, 120 * KIB)
    }

    /// What (offset, length) in KiB of reads become.
    fn requests(piece_bytes: u32, reads: &[(u64, u32)]) -> Vec<(u64, u32)> {
        let (mut requests, mut port) = (Requests::new(), port(piece_bytes));
        for (token, &(offset, length)) in (0..).zip(reads) {
            let (offset, length) = (offset << 10, length * KIB);
            requests.take_in(0, Command { token, drive: 0, operation: Operation::Read, offset, length }, &mut port);
        }
        let held = requests.take_held();
        let of = |&request: &u32| (requests.at(request).offset >> 10, requests.at(request).length / KIB);
        let result = held.iter().map(of).collect();
        let mut finished = Vec::new();
        held.iter().for_each(|&request| requests.finish(request, &mut finished));
        assert_eq!(finished, (0..reads.len() as u64).collect::<Vec<_>>());
        assert_eq!(requests.commands() + requests.parts.len() + requests.requests.len(), 0);
        result
    }

    #[test]
    fn pages_are_merged_up_to_the_largest_request_and_whole_ios_only_if_they_fit() {
        let two_chunks = [(0, 64), (64, 64)];
        assert_eq!(requests(4 * KIB, &two_chunks), [(0, 120), (120, 8)]);
        assert_eq!(requests(1 << 20, &two_chunks), [(0, 64), (64, 64)]);
        assert_eq!(requests(1 << 20, &[(0, 32), (32, 32), (64, 32), (96, 32)]), [(0, 96), (96, 32)]);
    }

    #[test]
    fn large_commands_are_split_and_what_does_not_follow_is_not_merged() {
        assert_eq!(requests(1 << 20, &[(0, 512)]), [(0, 120), (120, 120), (240, 120), (360, 120), (480, 32)]);
        assert_eq!(requests(4 * KIB, &[(0, 4), (8, 4), (4, 4)]), [(0, 4), (8, 4), (4, 4)]);
    }

    #[test]
    fn flushes_are_not_merged_and_end_what_is() {
        let (mut requests, mut port) = (Requests::new(), port(4 * KIB));
        for (token, operation, offset, length) in
            [(0, Operation::Write, 0, 4096), (1, Operation::Flush, 4096, 0), (2, Operation::Write, 4096, 4096)]
        {
            requests.take_in(0, Command { token, drive: 0, operation, offset, length }, &mut port);
        }
        assert_eq!(requests.take_held().len(), 3);
    }
}
