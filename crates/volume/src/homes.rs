//! Where buffers are, once some of them had to move.
//!
//! A drive that was asked to read writes into memory whenever it pleases, or never; one that was
//! asked to write takes its bytes from there whenever it pleases. Whoever stops waiting for it must
//! not use that memory for anything else before it has answered; and yet the request whose buffer
//! it is goes on without it. So the *buffer moves*: its number stands for other memory from then
//! on, with a copy of what it held, and the memory where it was is *set aside* until every I/O that
//! was begun there has ended. A buffer that has moved stays where it is.
//!
//! | I/O that was begun before the buffer moved | when it ends |
//! | --- | --- |
//! | the one that nobody waits for any more | nothing is taken from it |
//! | a read of another member into another part of the buffer | what it brought is copied to where the buffer is |
//! | a write | nothing: it sent what was to be sent |
//!
//! Only buffers of requests and scratch buffers move. Notes and logs stay with their slots, which
//! are given to nobody else while a drive has something of them.

use std::collections::BTreeMap;

use shoal_array::{BufferId, Span};
use shoal_drive::{Arena, Memory};

use crate::BufferPlan;

/// The memory of each buffer by its number: where it was planned, or where it has moved.
#[derive(Debug)]
pub(crate) struct Homes {
    plan: BufferPlan,
    /// By number: where buffers are that have moved.
    moved: BTreeMap<u32, Memory>,
    /// Places that no buffer is in, and no drive has.
    free: Vec<Memory>,
    /// By their first byte: places that drives may still write to.
    aside: BTreeMap<usize, Aside>,
}

#[derive(Debug)]
struct Aside {
    place: Memory,
    /// I/Os that were begun there and have not ended.
    in_flight: usize,
}

impl Homes {
    /// All buffers are where the plan has them.
    pub(crate) fn new(plan: BufferPlan) -> Self {
        Self { plan, moved: BTreeMap::new(), free: plan.spares().collect(), aside: BTreeMap::new() }
    }

    /// Where a span is now.
    pub(crate) fn memory(&self, span: Span) -> Memory {
        match self.moved.get(&span.buffer.0) {
            None => self.plan.memory(span),
            Some(place) => {
                let inside = u64::from(span.offset) + u64::from(span.length) <= u64::from(place.length);
                assert!(inside, "span {span:?} outside its buffer");
                Memory { offset: place.offset + span.offset as usize, length: span.length }
            }
        }
    }

    /// Whether a buffer is one of those that move, and there is room for it elsewhere.
    pub(crate) fn can_move(&self, buffer: BufferId) -> bool {
        self.plan.can_move(buffer) && self.room_for(buffer).is_some()
    }

    /// Whether a buffer can move and leave enough room for what follows if more drives are given
    /// up, when `given_up` are already: all buffers may have to move once for each.
    pub(crate) fn can_race(&self, buffer: BufferId, given_up: usize) -> bool {
        let room = self.plan.can_move(buffer).then(|| self.room_for(buffer)).flatten();
        let Some(room) = room else { return false };
        let taken = self.free[room].length;
        let drives = self.plan.given_up_max().saturating_sub(given_up);
        self.plan.moving().into_iter().all(|(_, bytes)| {
            let fitting = self.free.iter().filter(|place| place.length >= bytes).count();
            let longer = self.plan.moving().into_iter().filter(|(_, other)| *other >= bytes);
            let needed: usize = longer.map(|(count, _)| count as usize * drives).sum();
            fitting - usize::from(taken >= bytes) >= needed
        })
    }

    fn room_for(&self, buffer: BufferId) -> Option<usize> {
        let length = self.plan.whole(buffer).length;
        let fits = |&(_, place): &(usize, &Memory)| place.length >= length;
        self.free.iter().enumerate().filter(fits).min_by_key(|(_, place)| place.length).map(|(place, _)| place)
    }

    /// Moves a buffer, with what it holds. Where it was is set aside until as many I/Os have
    /// [ended](Self::ended) there as `in_flight` counts among those that it is shown: every I/O
    /// that is under way in that memory.
    ///
    /// # Panics
    /// If it [cannot move](Self::can_move): a bug in the caller.
    pub(crate) fn relocate(&mut self, arena: &Arena, buffer: BufferId, in_flight: impl Fn(Memory) -> usize) {
        let room = self.room_for(buffer).expect("whoever moves a buffer has looked whether it can");
        let length = self.plan.whole(buffer).length;
        let from = self.memory(Span { buffer, offset: 0, length });
        let to = self.free.swap_remove(room);
        let mut bytes = vec![0; length as usize];
        // What a drive may be writing just now is copied as well, and taken for nothing.
        arena.read(from, &mut bytes);
        arena.write(to, &bytes);
        let place = self.moved.insert(buffer.0, to).unwrap_or(from);
        let count = in_flight(place);
        if count == 0 {
            self.free.push(place);
        } else {
            self.aside.insert(place.offset, Aside { place, in_flight: count });
        }
    }

    /// An I/O has ended that was begun in this memory.
    pub(crate) fn ended(&mut self, memory: Memory) {
        let Some((&offset, aside)) = self.aside.range_mut(..=memory.offset).next_back() else { return };
        if !contains(aside.place, memory) {
            return;
        }
        aside.in_flight -= 1;
        if aside.in_flight == 0 {
            let place = aside.place;
            self.aside.remove(&offset);
            self.free.push(place);
        }
    }
}

/// Whether memory lies within a place.
pub(crate) fn contains(place: Memory, memory: Memory) -> bool {
    (place.offset..place.offset + place.length as usize).contains(&memory.offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(buffer: u32, offset: u32, length: u32) -> Span {
        Span { buffer: BufferId(buffer), offset, length }
    }

    #[test]
    fn a_buffer_that_has_moved_takes_its_content_along_and_nobody_gets_its_old_place_too_early() {
        let plan = BufferPlan::for_drives(2, 1, 4096);
        let arena = plan.arena().unwrap();
        let mut homes = Homes::new(plan);
        let before = homes.memory(span(0, 0, 4096));
        arena.write(before, b"fish");
        let mut rooms = 0;
        while homes.can_move(BufferId(0)) {
            // One I/O stays behind in each place.
            homes.relocate(&arena, BufferId(0), |_| 1);
            rooms += 1;
        }
        assert_eq!(rooms, plan.spares().filter(|place| place.length >= plan.request_bytes).count());
        let after = homes.memory(span(0, 0, 4096));
        let mut bytes = [0; 4];
        arena.read(after, &mut bytes);
        assert_eq!((&bytes, before == after), (b"fish", false));
        homes.ended(homes.memory(span(1, 0, 4096)));
        assert!(!homes.can_move(BufferId(0)), "that was elsewhere");
        homes.ended(Memory { offset: before.offset + 512, length: 512 });
        assert!(homes.can_move(BufferId(0)));
        homes.relocate(&arena, BufferId(0), |_| 0);
        assert_eq!(homes.memory(span(0, 0, 4096)), before);
        assert!(homes.can_move(BufferId(0)), "nothing was under way where it was");
    }

    #[test]
    fn races_leave_room_for_drives_that_are_given_up() {
        let plan = BufferPlan::for_drives(3, 1, 4096);
        let arena = plan.arena().unwrap();
        let mut homes = Homes::new(plan);
        let longer = plan.scratch_count as usize;
        let mut races = 0;
        while homes.can_race(BufferId(0), 0) {
            homes.relocate(&arena, BufferId(0), |_| 1);
            races += 1;
        }
        assert_eq!(races, 1 + longer, "one place for each buffer that is as long, or longer");
        assert!(homes.can_race(BufferId(0), 1), "one that is given up has its places already");
        for _ in 0..plan.given_up_max() {
            assert!(homes.can_move(BufferId(0)));
            homes.relocate(&arena, BufferId(0), |_| 1);
        }
    }

    #[test]
    fn notes_and_logs_stay_where_they_are() {
        let plan = BufferPlan::for_drives(2, 1, 4096);
        let homes = Homes::new(plan);
        assert!(homes.can_move(BufferId(plan.first_scratch())));
        assert!(!homes.can_move(plan.note_span(0, crate::buffers::Note::Superblock).buffer));
        assert!(!homes.can_move(plan.log_span(0).buffer));
        assert!(!homes.can_race(plan.log_span(0).buffer, 0));
    }
}
