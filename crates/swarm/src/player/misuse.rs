//! The owner asks for what has to be refused, and the array has to be none the worse for it.

use shoal_volume::ManageError;

use super::Player;
use crate::checkers::Failure;
use crate::scenario::Misuse;

impl Player<'_> {
    /// Asks for something that would cost data, or makes no sense.
    pub(super) fn misuse(&mut self, misuse: Misuse, seat: usize) -> Result<(), Failure> {
        let seats = self.seats();
        let number = seat % seats.len();
        let (Some(drive), true) = (seats[number].drive, seats[number].is_in_sync) else { return Ok(()) };
        let Some(id) = self.ids[drive] else { return Ok(()) };
        // In an array of arrays a drive is an inner one's, and a spare could go to another.
        let other = seats.iter().enumerate().find(|(other, seat)| *other != number && seat.drive.is_some());
        let other = other.and_then(|(_, seat)| self.ids[seat.drive?]);
        let size = self.group_size();
        let group = number / size * size;
        let is_lost = |place: &usize| *place != number && !seats[*place].is_held;
        let is_last = (group..group + size).filter(is_lost).count() >= self.redundancy() && self.has_parity();
        self.note_struck();
        let refusals = self.refusals;
        // What the array has not heard of yet, it may hear first of all.
        let has_refused = self.failing.contains(&drive) || self.content(drive).owes_a_flush();
        let asked: Result<(), ManageError> = match (misuse, other) {
            (Misuse::Add, _) => self.array_mut().add_drive(id),
            (Misuse::ReplaceWith, Some(other)) => self.array_mut().replace_drive(other, id),
            (Misuse::Remove, _) => self.array_mut().remove_drive(id),
            (Misuse::Fail, _) if is_last => self.array_mut().fail_drive(id),
            (Misuse::ReplaceWith, None) | (Misuse::Fail, _) => return Ok(()),
        };
        self.counts.misused += 1;
        self.note_struck();
        // A drive that fails while it is looked at is no member any more, and may be taken.
        let has_failed = has_refused || self.refusals > refusals;
        self.note(format_args!("drive {drive} is in use: {misuse:?}: {asked:?}"));
        match asked {
            // It may have heard only now that the drive does not work, and has filled it since.
            Ok(()) if !has_failed && self.seats().get(number).is_some_and(|now| now.is_in_sync) => Err(Failure::new(
                "refuses",
                format!("drive {drive} is a member in sync, and `{misuse:?}` of it is taken for an order"),
            )),
            Ok(()) if misuse != Misuse::Remove && !has_failed => {
                Err(Failure::new("refuses", format!("`{misuse:?}` of drive {drive} took a member that was needed")))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}
