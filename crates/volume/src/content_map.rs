//! Which bytes of content and which bytes of drives have to do with each other.
//!
//! Whoever knows what happened to a drive asks what it means for the content; whoever knows of
//! content asks where it lies. Arrays of arrays are one map. It is a picture of one moment: members
//! that change places change the map.

use std::ops::Range;

use shoal_array::{Geometry, Home, Role};
use shoal_drive::DriveId;
use shoal_md::SECTOR_BYTES;

use crate::array_volume::ArrayVolume;
use crate::tree::{Duty, Node, NodeId, Target, Tree};
use crate::world::World;

/// Where an array's content lies.
#[derive(Clone, Debug)]
pub struct ContentMap {
    geometry: Geometry,
    /// In role order.
    members: Vec<Member>,
}

#[derive(Clone, Debug)]
struct Member {
    /// First byte of the data area.
    data_offset_bytes: u64,
    /// Where the array writes beside its content: superblock, bitmap, list of bad blocks.
    records: Vec<Range<u64>>,
    on: On,
    /// The drive that it is being copied to, and the first byte of the data area there.
    copied_to: Option<(DriveId, u64)>,
}

#[derive(Clone, Debug)]
enum On {
    Nothing,
    Drive(DriveId),
    Array(Box<ContentMap>),
}

impl<W: World> ArrayVolume<W> {
    /// Where the content lies at present.
    pub fn content_map(&self) -> ContentMap {
        map_of(&self.tree, self.root)
    }
}

fn map_of<W: World>(tree: &Tree<W>, node: NodeId) -> ContentMap {
    let geometry = tree.nodes[node.0].array.geometry().clone();
    let member = |role| match tree.nodes[node.0].place(role) {
        None => Member { data_offset_bytes: 0, records: Vec::new(), on: On::Nothing, copied_to: None },
        Some(place) => {
            let on = match place.target {
                Target::Drive(drive) => On::Drive(drive),
                Target::Node(inner) => On::Array(Box::new(map_of(tree, inner))),
            };
            let records = records_of(&tree.nodes[node.0], role);
            let copied_to = copied_to(&tree.nodes[node.0], role);
            Member { data_offset_bytes: place.data_offset_bytes, records, on, copied_to }
        }
    };
    let members = (0..geometry.member_count()).map(|index| member(Role(index as u16))).collect();
    ContentMap { geometry, members }
}

/// What the small arrays of a simulated world use of the room that there is for each.
const RECORD_BYTES: u64 = 4096;

fn records_of(node: &Node, role: Role) -> Vec<Range<u64>> {
    let number = node.slot_of(role).map(|slot| node.slots[slot].number.get());
    let Some(own) = number.and_then(|number| node.membership.superblock(number).ok()) else { return Vec::new() };
    let beside = [own.bitmap_area(), own.bad_block_log_area()].into_iter().flatten().map(|area| area.offset_bytes);
    std::iter::once(own.super_offset_bytes()).chain(beside).map(|at| at..at + RECORD_BYTES).collect()
}

fn copied_to(node: &Node, role: Role) -> Option<(DriveId, u64)> {
    let copy = node.slots.iter().find(|slot| slot.duty == Duty::Replacement(role))?;
    let Target::Drive(drive) = copy.place.target else { return None };
    Some((drive, copy.place.data_offset_bytes))
}

impl ContentMap {
    /// The same of an array of drives, which go by the number of their role, whoever is there.
    #[must_use]
    pub fn by_role(self) -> Self {
        let renamed = |(role, member): (u32, Member)| Member { on: On::Drive(DriveId(role)), ..member };
        Self { members: (0..).zip(self.members).map(renamed).collect(), ..self }
    }

    /// The part of a drive that content may lie on, if it is a member.
    pub fn data_area(&self, drive: DriveId) -> Option<Range<u64>> {
        let of_member = |(role, member): (Role, &Member)| match &member.on {
            On::Drive(here) if *here == drive => {
                let start = member.data_offset_bytes;
                Some(start..start + self.geometry.used_bytes(role))
            }
            On::Array(inner) => inner.data_area(drive),
            On::Drive(_) | On::Nothing => None,
        };
        (0..).map(Role).zip(&self.members).find_map(of_member)
    }

    /// The drives that hold a byte of content, and where: one, or one for each copy. Parity is not
    /// counted.
    pub fn places(&self, offset: u64) -> Vec<(DriveId, u64)> {
        let piece = self.geometry.piece(offset, 1);
        let place = |&(role, at): &(Role, u64)| {
            let member = &self.members[role.index()];
            let at = at + member.data_offset_bytes;
            match &member.on {
                On::Nothing => Vec::new(),
                On::Drive(drive) => vec![(*drive, at)],
                On::Array(inner) => inner.places(at),
            }
        };
        piece.copies.iter().flat_map(place).collect()
    }

    /// The bytes of content that a byte of a drive bears on: the one that it holds, and, where
    /// there is parity, all those in the same column of its stripe. A drive that a member is copied
    /// to holds the same. None if it holds no content.
    pub fn bears_on(&self, drive: DriveId, offset: u64) -> Vec<u64> {
        let mut content = Vec::new();
        for (role, member) in (0..).map(Role).zip(&self.members) {
            let on_member = match &member.on {
                On::Drive(here) if *here == drive => vec![offset],
                On::Array(inner) => inner.bears_on(drive, offset),
                On::Drive(_) | On::Nothing => Vec::new(),
            };
            let in_data = on_member.iter().filter_map(|at| at.checked_sub(member.data_offset_bytes));
            let of_copy = member.copied_to.filter(|(copy, _)| *copy == drive);
            let in_copy = of_copy.and_then(|(_, data_offset_bytes)| offset.checked_sub(data_offset_bytes));
            in_data.chain(in_copy).for_each(|at| self.concerned(role, at, &mut content));
        }
        content
    }

    /// All bytes of content in the columns of a byte of content, itself included: those that one
    /// parity ties together.
    pub fn tied_to(&self, offset: u64) -> Vec<u64> {
        let mut content: Vec<_> =
            self.places(offset).into_iter().flat_map(|(drive, at)| self.bears_on(drive, at)).collect();
        content.sort_unstable();
        content.dedup();
        content
    }

    /// The bytes of content, one in each sector, in the columns of what an outer array writes
    /// beside it on the arrays inside.
    pub fn tied_to_records(&self) -> Vec<u64> {
        let mut content = Vec::new();
        for (role, member) in (0..).map(Role).zip(&self.members) {
            let On::Array(inner) = &member.on else { continue };
            let sectors = member.records.iter().cloned().flat_map(|record| record.step_by(SECTOR_BYTES as usize));
            let tied = sectors.flat_map(|at| inner.tied_to(at));
            let in_data = tied.filter_map(|at| at.checked_sub(member.data_offset_bytes));
            let used_bytes = self.geometry.used_bytes(role);
            in_data.filter(|at| *at < used_bytes).for_each(|at| self.concerned(role, at, &mut content));
        }
        content
    }

    fn concerned(&self, role: Role, at: u64, content: &mut Vec<u64>) {
        let (row, column) = match self.geometry.home(role, at) {
            Home::Unused => return,
            Home::P { row } | Home::Q { row } => {
                let stripe = self.geometry.stripe(row).expect("parity lies in a row");
                (row, at - stripe.member_offset)
            }
            Home::Data { offset, .. } => match self.geometry.position(offset) {
                None => return content.push(offset),
                Some(position) => (position.row, u64::from(position.within)),
            },
        };
        let stripe = self.geometry.stripe(row).expect("it was just found");
        let chunk = u64::from(self.geometry.shape().chunk_bytes);
        content.extend((0..stripe.data.len() as u64).map(|index| stripe.offset + index * chunk + column));
    }
}
