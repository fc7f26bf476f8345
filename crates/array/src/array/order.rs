//! Who may touch which array bytes now: requests that overlap run one after the other, in the order
//! they came.
//!
//! Everything that works on array bytes enters with its range and gets a ticket. A ticket *shares*
//! its range (reads) or has it alone (writes, discards, and the background's steps on mirrors). It
//! waits for every earlier ticket that overlaps it unless both share. Waiting tickets count as
//! present for those that come later, so nobody overtakes, and as each waits only for earlier ones,
//! no circle of waiting can arise.
//!
//! A sharing newcomer is compared with the lone ones only: a load of pure reads costs no comparison
//! at all.

use alloc::vec::Vec;
use core::ops::Range;

use super::slab::{Key, Slab};

/// How a ticket has its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    Shared,
    Alone,
}

/// A place in the order. `T` is who holds it.
#[derive(Debug)]
pub(super) struct Ticket<T> {
    owner: T,
    claim: Claim,
    /// Where in its lane.
    position: usize,
    /// How many earlier tickets it waits for.
    waits_for: usize,
    /// Later tickets that wait for this one.
    waiting: Vec<Key<Self>>,
}

#[derive(Debug)]
struct Entry<T> {
    start: u64,
    end: u64,
    ticket: Key<Ticket<T>>,
}

/// All tickets of one array.
#[derive(Debug)]
pub(super) struct Tickets<T> {
    tickets: Slab<Ticket<T>>,
    shared: Vec<Entry<T>>,
    alone: Vec<Entry<T>>,
}

impl<T: Copy> Tickets<T> {
    pub(super) fn new() -> Self {
        Self { tickets: Slab::new(), shared: Vec::new(), alone: Vec::new() }
    }

    /// Enters; the flag says whether the ticket's turn has come already.
    pub(super) fn enter(&mut self, range: Range<u64>, claim: Claim, owner: T) -> (Key<Ticket<T>>, bool) {
        let mut waits_for = 0;
        let ticket = self.tickets.insert(Ticket { owner, claim, position: 0, waits_for, waiting: Vec::new() });
        let shared: &[Entry<T>] = if claim == Claim::Alone { &self.shared } else { &[] };
        for entry in self.alone.iter().chain(shared) {
            if entry.start < range.end && range.start < entry.end {
                self.tickets[entry.ticket].waiting.push(ticket);
                waits_for += 1;
            }
        }
        let lane = if claim == Claim::Alone { &mut self.alone } else { &mut self.shared };
        lane.push(Entry { start: range.start, end: range.end, ticket });
        let position = lane.len() - 1;
        let entered = &mut self.tickets[ticket];
        entered.position = position;
        entered.waits_for = waits_for;
        (ticket, waits_for == 0)
    }

    /// Who has to leave before this ticket's turn comes, of those that it overlaps.
    pub(super) fn waited_for(&self, ticket: Key<Ticket<T>>) -> Vec<T> {
        let entries = self.alone.iter().chain(&self.shared);
        let tickets = entries.map(|entry| &self.tickets[entry.ticket]);
        tickets.filter(|other| other.waiting.contains(&ticket)).map(|other| other.owner).collect()
    }

    /// Leaves; `turn` is told every owner whose turn comes by it.
    pub(super) fn leave(&mut self, ticket: Key<Ticket<T>>, mut turn: impl FnMut(T)) {
        let left = self.tickets.remove(ticket);
        let lane = if left.claim == Claim::Alone { &mut self.alone } else { &mut self.shared };
        lane.swap_remove(left.position);
        if let Some(moved) = lane.get(left.position) {
            self.tickets[moved.ticket].position = left.position;
        }
        for waiting in left.waiting {
            let waiting = &mut self.tickets[waiting];
            waiting.waits_for -= 1;
            if waiting.waits_for == 0 {
                turn(waiting.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn leave(order: &mut Tickets<char>, ticket: Key<Ticket<char>>) -> Vec<char> {
        let mut turns = vec![];
        order.leave(ticket, |owner| turns.push(owner));
        turns
    }

    #[test]
    fn overlapping_tickets_take_turns_unless_both_share() {
        let mut order = Tickets::new();
        let (a, a_ready) = order.enter(0..10, Claim::Shared, 'a');
        let (b, b_ready) = order.enter(5..15, Claim::Shared, 'b');
        let (c, c_ready) = order.enter(8..9, Claim::Alone, 'c');
        let (d, d_ready) = order.enter(0..9, Claim::Shared, 'd');
        let (_e, e_ready) = order.enter(20..30, Claim::Alone, 'e');
        assert_eq!([a_ready, b_ready, c_ready, d_ready, e_ready], [true, true, false, false, true]);
        assert_eq!(leave(&mut order, a), vec![]);
        assert_eq!(leave(&mut order, b), vec!['c']);
        assert_eq!(leave(&mut order, c), vec!['d']);
        assert_eq!(leave(&mut order, d), vec![]);
    }
}
