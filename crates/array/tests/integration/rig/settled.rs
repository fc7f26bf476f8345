//! What can be said of a rig in which nothing is going on: whether the drives agree with the model
//! and with each other, looked at past the engine; and which bytes can be had at all.

use shoal_array::{Geometry, Home, MemberState, Role};

use super::Rig;
use super::engine::{Engine, Store};
use super::galois::{self, Input};
use super::model::BLOCK;

impl Rig {
    /// Every copy on every drive holds what the model says, parity agrees with data, and nothing is
    /// unreadable.
    pub(crate) fn check_drives(&self) {
        for engine in 0..self.engines.len() {
            self.check_members(engine);
        }
        for block in 0..self.capacity_bytes() / BLOCK {
            for bytes in self.copies_of(0, block * BLOCK) {
                if let Err(found) = self.model.check_settled(block, bytes) {
                    panic!("on the drives, block {block}: {found}");
                }
            }
        }
    }

    /// All copies of a block, down to the drives.
    fn copies_of(&self, engine: usize, offset: u64) -> Vec<&[u8]> {
        let engine = &self.engines[engine];
        let piece = engine.array.geometry().piece(offset, BLOCK);
        let places = piece.copies.iter();
        let copies = places.flat_map(|(role, member_offset)| match engine.stores[role.index()] {
            Store::Disk(disk) => vec![self.block(disk, *member_offset)],
            Store::Engine(inner) => self.copies_of(inner, *member_offset),
        });
        copies.collect()
    }

    fn block(&self, disk: usize, member_offset: u64) -> &[u8] {
        &self.disks[disk].content[member_offset as usize..(member_offset + BLOCK) as usize]
    }

    /// Parity of an engine's drives, and that all that is used can be read.
    fn check_members(&self, engine: usize) {
        let engine = &self.engines[engine];
        let geometry = engine.array.geometry();
        for role in engine.roles() {
            let Some(disk) = engine.disk(role) else { continue };
            for block in 0..geometry.used_bytes(role) / BLOCK {
                let is_used = geometry.home(role, block * BLOCK) != Home::Unused;
                let is_unreadable = is_used && self.disks[disk].is_unreadable(block);
                assert!(!is_unreadable, "block {block} of {role:?} is still unreadable");
            }
        }
        for row in 0..geometry.rows() {
            self.check_row(engine, geometry, row);
        }
    }

    fn check_row(&self, engine: &Engine, geometry: &Geometry, row: u64) {
        let stripe = geometry.stripe(row).expect("the row exists");
        let chunk_bytes = geometry.shape().chunk_bytes as usize;
        let chunk = |role: Role| {
            let disk = engine.disk(role).expect("parity is on drives");
            &self.disks[disk].content[stripe.member_offset as usize..][..chunk_bytes]
        };
        let mut data = vec![Input::Absent; 255];
        for (exponent, role) in stripe.exponents.iter().zip(&stripe.data) {
            data[usize::from(*exponent)] = Input::Known(chunk(*role));
        }
        let q = if stripe.q.is_some() { Input::Lost } else { Input::Absent };
        let solution = galois::solve(&data, Input::Lost, q, chunk_bytes);
        assert!(solution.p.as_deref() == Some(chunk(stripe.p)), "P of row {row} does not agree with the data");
        if let Some(q) = stripe.q {
            assert!(solution.q.as_deref() == Some(chunk(q)), "Q of row {row} does not agree with the data");
        }
    }

    /// Whether a block of the array can be had, judged from the drives and the members' states.
    pub(crate) fn can_be_had(&self, engine: usize, offset: u64) -> bool {
        let geometry = self.engines[engine].array.geometry();
        let piece = geometry.piece(offset, BLOCK);
        if piece.copies.iter().any(|(role, member_offset)| self.holds(engine, *role, *member_offset)) {
            return true;
        }
        let Some(position) = geometry.position(offset) else { return false };
        let stripe = geometry.stripe(position.row).expect("the row exists");
        let member_offset = piece.copies[0].1;
        let lost = stripe.data.iter().filter(|role| !self.holds(engine, **role, member_offset)).count();
        let parity = [Some(stripe.p), stripe.q].into_iter().flatten();
        lost <= parity.filter(|role| self.holds(engine, *role, member_offset)).count()
    }

    /// Whether a member holds its block and can give it.
    fn holds(&self, engine: usize, role: Role, member_offset: u64) -> bool {
        let engine = &self.engines[engine];
        let is_in_sync = match engine.state(role) {
            MemberState::InSync => true,
            MemberState::Rebuilding { position } => member_offset + BLOCK <= position,
            MemberState::Missing => false,
        };
        let is_bad = engine.array.bad_blocks(role).touches(&(member_offset..member_offset + BLOCK));
        is_in_sync
            && !is_bad
            && match engine.stores[role.index()] {
                Store::Disk(disk) => {
                    !self.disks[disk].is_gone && !self.disks[disk].is_unreadable(member_offset / BLOCK)
                }
                Store::Engine(inner) => self.can_be_had(inner, member_offset),
            }
    }
}
