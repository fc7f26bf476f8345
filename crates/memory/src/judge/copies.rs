//! Drives with the same superblock.

use super::Known;
use super::doubt::{Doubt, Suspicion};

impl Known<'_> {
    /// Drives that are copies of members which are there.
    pub(super) fn copies(&self) -> Result<Vec<(usize, Suspicion)>, Doubt> {
        let mut copies = Vec::new();
        for index in 0..self.found.len() {
            let same: Vec<_> = (0..self.found.len()).filter(|&other| self.uuid(other) == self.uuid(index)).collect();
            let [first, second, ..] = same[..] else { continue };
            let known = self.book.ever_known(self.uuid(index));
            let hardware = known.and_then(|member| member.hardware.as_deref());
            let is_original =
                |other: &&usize| hardware.is_some() && self.found[**other].hardware.as_deref() == hardware;
            let originals: Vec<_> = same.iter().filter(is_original).collect();
            match originals[..] {
                [&original] if original != index => {
                    copies.push((index, Suspicion::CopyOf { drive: self.drive(original) }));
                }
                [_] => {}
                // Strangers are left out, however many there are of one.
                _ if known.is_none() => {}
                _ => return Err(Doubt::Copies { first: self.drive(first), second: self.drive(second) }),
            }
        }
        Ok(copies)
    }
}
