//! A drive that carries the array's name and is none of its members lies beside them when the array
//! is started.
//!
//! It is tried on a copy of the world: whatever a stranger may do to an array there, the scenario
//! goes on without him. What he may not do: make the array panic, never answer, or, if he is behind
//! all of its members, change what it holds. One that is as fresh as they are, or fresher, may
//! deceive it: md's format has nothing to tell him by. A host that remembers the array is deceived
//! by none.

use rand_xoshiro::rand_core::Rng;
use shoal_md::SUPERBLOCK_BYTES;
use shoal_sim::Content;
use shoal_volume::{HostMemory, Superblock};

use super::Player;
use super::boot::options;
use super::power::{has_replaced, superblock};
use crate::checkers::Failure;
use crate::scenario::{Run, Step, Stranger};

/// Device numbers that a stranger may claim beside those of members.
const NUMBERS: [u32; 6] = [0, 1, 127, 383, 0xffff, u32::MAX];

impl Player<'_> {
    /// Closes the array, tries the stranger, and opens it again without him.
    pub(super) fn meet(&mut self, stranger: Stranger) -> Result<(), Failure> {
        let contents = self.close_in_order()?;
        // Power cuts are for the world that goes on.
        let cuts = self.chronicle.borrow_mut().hold_cuts();
        let tried = self.try_stranger(stranger, contents.clone());
        self.chronicle.borrow_mut().resume_cuts(cuts);
        tried?;
        self.boot(contents)
    }

    fn try_stranger(&mut self, stranger: Stranger, mut contents: Vec<Content>) -> Result<(), Failure> {
        let members = self.stock.drives();
        let superblocks: Vec<_> = members.iter().filter_map(|drive| superblock(&contents[*drive])).collect();
        let mut in_use: Vec<_> = members.into_iter().chain(self.journal.drive).collect();
        // A replacement may have become the member when the array was closed.
        let successors = (0..contents.len()).filter(|drive| has_replaced(*drive, &contents));
        let successors: Vec<_> = successors.filter(|drive| !in_use.contains(drive)).collect();
        in_use.extend(successors);
        let Some(like) = superblocks.get(stranger.like % superblocks.len().max(1)) else { return Ok(()) };
        let end = like.super_offset_bytes() + SUPERBLOCK_BYTES as u64;
        let is_free = |drive: &usize| {
            !in_use.contains(drive) && !contents[*drive].is_gone() && end <= self.scenario.bytes_of(*drive)
        };
        let Some(guise) = (0..contents.len()).find(is_free) else { return Ok(()) };
        let freshest = superblocks.iter().map(|own| own.events).max().unwrap_or(0);
        let forged = self.forged(stranger, like);
        let is_behind = forged.events + 1 < freshest && forged.device_uuid != like.device_uuid;
        let content = &mut contents[guise];
        content.disarm();
        let written = content.write(forged.super_offset_bytes(), forged.encode().as_slice());
        written.map_err(|fault| Failure::new("stranger", format!("the drive takes no superblock: {fault:?}")))?;
        let mut given = in_use;
        given.push(guise);
        given.retain(|drive| superblock(&contents[*drive]).is_some());
        self.counts.strangers += 1;
        self.boots += 1;
        self.note(format_args!("a stranger, drive {guise}: {stranger:?}, number {}", forged.dev_number));
        let told = |failure: Failure| Failure { checker: "stranger", what: failure.to_string() };
        let met = self.aside().live_with_him(contents.clone(), &given, None);
        if is_behind {
            met.map_err(told)?;
        }
        // Who remembers the array is not deceived by any.
        self.aside().live_with_him(contents, &given, Some(self.books.copied().memory(self.trust))).map_err(told)
    }

    fn live_with_him(
        &mut self,
        contents: Vec<Content>,
        given: &[usize],
        memory: Option<HostMemory>,
    ) -> Result<(), Failure> {
        let opened = self.open(contents, given, options(self.scenario), memory);
        self.note(format_args!("with the stranger: {:?}", opened.as_ref().err()));
        // Who is refused does no harm.
        let Ok(array) = opened else { return Ok(()) };
        self.note(format_args!("left out: {:?}", array.status().left_out));
        self.array = Some(array);
        self.read_touched()?;
        self.request(Step::Write(Run { first: 0, count: 8 }))?;
        self.request(Step::Flush)?;
        self.settle()?;
        self.pass(1000)?;
        self.array_mut().world_mut().placement.verdict()
    }

    fn forged(&mut self, stranger: Stranger, like: &Superblock) -> Superblock {
        let mut forged = like.clone();
        if !stranger.is_copy {
            self.random.generator().fill_bytes(&mut forged.device_uuid.0);
        }
        forged.events = forged.events.saturating_add_signed(stranger.events);
        if let Some(number) = stranger.number {
            forged.dev_number = NUMBERS[number % NUMBERS.len()];
        }
        forged
    }
}
