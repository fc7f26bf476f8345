//! What could be run of the members that were found: one plan for each array, or for each array of
//! arrays.

use std::io;

use shoal_documents::{Fault, HasFault};
use shoal_drive::{Access, Drive, IoEngine, IoLoop, LoopError, OpenError as DriveError};
use shoal_md::{AssembleError, Candidate, Choice, Proposal, Uuid, Verdict, propose};
use shoal_memory::{Book, Refusal, Store};
use shoal_volume::{
    ArrayStatus, ArrayVolume, BufferPlan, DriveId, Health, OpenError, OpenOptions, OverlayWorld, Parity, RealWorld,
    Superblock, VolumeError, Window, inspect, superblock_in_content,
};

use crate::limits::IOS_MAX;
use crate::search::Found;

/// With what members are read.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    /// How I/O is done; if none, as the kernel permits.
    pub io_engine: Option<IoEngine>,
    /// What computes parity.
    pub parity: Parity,
}

impl Reader {
    fn options(&self) -> OpenOptions {
        OpenOptions { parity: self.parity, ..OpenOptions::read_only() }
    }
}

/// Why a plan cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A member does not open any more.
    #[error(transparent)]
    Member(DriveError),
    /// Somebody writes to a member.
    #[error(transparent)]
    Writer(DriveError),
    /// There is no memory for buffers.
    #[error(transparent)]
    Memory(io::Error),
    /// I/O cannot be done.
    #[error(transparent)]
    Loop(#[from] LoopError),
    /// The members do not make an array.
    #[error(transparent)]
    Array(#[from] OpenError),
    /// It broke.
    #[error(transparent)]
    Volume(#[from] VolumeError),
}

impl HasFault for PlanError {
    fn fault(&self) -> Fault {
        match self {
            Self::Writer(error) => error.fault(),
            Self::Member(_) | Self::Memory(_) | Self::Loop(_) | Self::Volume(_) => Fault::Failed,
            Self::Array(error) => error.fault(),
        }
    }
}

/// Buffers for copying content: count and size.
const TRANSFER: (u32, u32) = (8, 1 << 20);

/// The members of one array, and what is proposed of them.
pub struct Group {
    /// All that were found of it.
    pub members: Vec<Found>,
    /// What to make of them.
    pub proposal: Result<Proposal, AssembleError>,
    /// The superblock in its content: it is a member of an array itself.
    pub(crate) outer: Option<Superblock>,
}

/// What can be looked at as one.
pub struct RecoveryPlan {
    /// One array, or the arrays in an array.
    pub groups: Vec<Group>,
}

/// A world that is never written.
pub type Overlay = OverlayWorld<RealWorld>;

/// Makes a plan for each array that members were found of. `books` is what this host remembers of
/// arrays.
pub fn plans(reader: &Reader, found: Vec<Found>, books: Option<&Store>) -> Result<Vec<RecoveryPlan>, PlanError> {
    let mut plans: Vec<RecoveryPlan> = Vec::new();
    for members in by_array(found, books) {
        let candidates: Vec<_> = members.iter().map(candidate).collect();
        let group = Group { proposal: propose(&candidates), members, outer: None };
        let mut plan = RecoveryPlan { groups: vec![group] };
        plan.groups[0].outer = plan.find_outer(reader)?;
        let around = plan.groups[0].around();
        let same = |other: &&mut RecoveryPlan| around.is_some() && other.groups[0].around() == around;
        match plans.iter_mut().find(same) {
            Some(first) => first.groups.extend(plan.groups),
            None => plans.push(plan),
        }
    }
    Ok(plans)
}

fn by_array(found: Vec<Found>, books: Option<&Store>) -> Vec<Vec<Found>> {
    let mut groups: Vec<Vec<Found>> = Vec::new();
    for member in found {
        let array = member.superblock.array_uuid;
        match groups.iter_mut().find(|group| group[0].superblock.array_uuid == array) {
            Some(group) => group.push(member),
            None => groups.push(vec![member]),
        }
    }
    // Of two images of one member, equally fresh, the first is taken: the one that has more of it,
    // or that this host knows.
    for group in &mut groups {
        let book = books.and_then(|books| books.read(group[0].superblock.array_uuid).ok().flatten());
        if let Some(book) = &book {
            group.iter_mut().for_each(|member| member.is_spoilt = is_spoilt(book, member));
        }
        group
            .sort_by_cached_key(|member| (member.missing_bytes(), book.as_ref().is_some_and(|it| is_copy(it, member))));
    }
    groups
}

/// Whether it lies on other hardware than the member that this host knows.
fn is_copy(book: &Book, member: &Found) -> bool {
    book.moved_from(member.superblock.device_uuid, hardware_of(member).as_deref()).is_some()
}

/// Whether it is the very member of which this host knows that its file has lost content.
fn is_spoilt(book: &Book, member: &Found) -> bool {
    book.refusal(member.superblock.device_uuid) == Some(Refusal::LostContent) && !is_copy(book, member)
}

/// What it lies on, if that can be told.
fn hardware_of(member: &Found) -> Option<String> {
    Drive::open(&member.path, Access::Read).ok().and_then(|drive| drive.hardware())
}

/// A spoilt one is proposed as the oldest of all: it takes part only if the others do not suffice.
fn candidate(member: &Found) -> Candidate {
    let mut superblock = member.superblock.clone();
    if member.is_spoilt {
        superblock.events = 0;
    }
    Candidate { drive: member.name.clone(), superblock }
}

impl Group {
    /// What is proposed to do with each member; nothing if they contradict each other.
    pub fn choice(&self, member: usize) -> Option<Choice> {
        self.proposal.as_ref().ok().map(|proposal| proposal.choices[member])
    }

    /// The members that take part, with the superblocks that they need if theirs will not do.
    pub fn used(&self) -> Vec<(&Found, Option<&Superblock>)> {
        let Ok(proposal) = &self.proposal else { return Vec::new() };
        let mended = |index: usize| proposal.mended.iter().find(|(other, _)| *other == index).map(|(_, mended)| mended);
        // Its own superblock may say that it is in sync.
        let is_out = |index: &usize| {
            let is_old = matches!(proposal.choices[*index], Choice::AsItSays(Verdict::Stale { .. }));
            self.members[*index].is_spoilt && is_old
        };
        let used = proposal.used.iter().filter(|index| !is_out(index));
        used.map(|&index| (&self.members[index], mended(index))).collect()
    }

    /// Members that take no part as they lost content.
    pub fn spoilt(&self) -> Vec<Uuid> {
        let used = self.used();
        let is_out = |member: &&Found| member.is_spoilt && !used.iter().any(|(other, _)| std::ptr::eq(*other, *member));
        self.members.iter().filter(is_out).map(|member| member.superblock.device_uuid).collect()
    }

    /// All members as they are once the proposal is carried out.
    pub fn applied(&self) -> Vec<shoal_memory::Found> {
        let used = self.used();
        let as_applied = |member: &Found| {
            let mended = used.iter().find(|(other, _)| std::ptr::eq(*other, member)).and_then(|(_, mended)| *mended);
            let superblock = mended.unwrap_or(&member.superblock).clone();
            let hardware = hardware_of(member);
            shoal_memory::Found { candidate: Candidate { drive: member.name.clone(), superblock }, hardware }
        };
        self.members.iter().map(as_applied).collect()
    }

    /// The array around it.
    fn around(&self) -> Option<Uuid> {
        self.outer.as_ref().map(|outer| outer.array_uuid)
    }

    /// Whether it could run at all.
    pub fn runs(&self) -> bool {
        self.proposal.as_ref().is_ok_and(|proposal| proposal.health != Health::Failed)
    }
}

impl RecoveryPlan {
    /// Whether this is its name or UUID, or that of an array in it.
    pub fn is_called(&self, wanted: &str) -> bool {
        let superblocks = self.groups.iter().flat_map(|group| &group.members).map(|member| &member.superblock);
        let is_called = |superblock: &Superblock| {
            let name = superblock.name();
            let short = name.rsplit(':').next() == Some(wanted);
            name == wanted || short || superblock.array_uuid.to_string() == wanted
        };
        superblocks.chain(self.groups.iter().flat_map(|group| &group.outer)).any(is_called)
    }

    /// Superblocks that would have to be written.
    pub fn mended(&self) -> Vec<(&Found, &Superblock)> {
        let used = self.groups.iter().flat_map(Group::used);
        used.filter_map(|(member, mended)| Some((member, mended?))).collect()
    }

    /// The members that take part and are not all there, by name.
    pub fn incomplete(&self) -> Vec<&str> {
        let used = self.groups.iter().flat_map(Group::used).map(|(member, _)| member);
        used.filter(|member| member.is_incomplete()).map(|member| member.name.as_str()).collect()
    }

    /// How the array would be.
    pub fn status(&self, reader: &Reader) -> Result<ArrayStatus, PlanError> {
        let (world, buffers, drives) = self.overlay(reader)?;
        Ok(inspect(world, buffers, &drives, &reader.options())?)
    }

    /// Runs it, for reading. Nothing of it reaches the drives.
    pub fn open(&self, reader: &Reader) -> Result<Result<ArrayVolume<Overlay>, OpenError>, PlanError> {
        let (world, buffers, drives) = self.overlay(reader)?;
        Ok(ArrayVolume::open(world, buffers, &drives, &reader.options()))
    }

    /// The superblock of the array that this one's content is a member of.
    fn find_outer(&self, reader: &Reader) -> Result<Option<Superblock>, PlanError> {
        if !self.groups.iter().all(Group::runs) {
            return Ok(None);
        }
        let (world, buffers, drives) = self.overlay(reader)?;
        Ok(superblock_in_content(world, buffers, &drives, &reader.options()))
    }

    /// The members as drives, with the superblocks that are proposed.
    fn overlay(&self, reader: &Reader) -> Result<(Overlay, BufferPlan, Vec<DriveId>), PlanError> {
        let used: Vec<_> = self.groups.iter().flat_map(Group::used).collect();
        let buffers = BufferPlan::for_drives(used.len(), TRANSFER.0, TRANSFER.1);
        let arena = buffers.arena().map_err(PlanError::Memory)?;
        let io_loop = IoLoop::new(reader.io_engine, arena.clone(), IOS_MAX)?;
        let mut below = RealWorld::new(io_loop, arena);
        let mut windows = Vec::new();
        for (member, _) in &used {
            let mut drive = Drive::open(&member.path, Access::Read).map_err(PlanError::Member)?;
            drive.keep_writers_out().map_err(PlanError::Writer)?;
            windows.push(Window {
                name: member.name.clone(),
                drive: below.add_drive(drive)?,
                offset: member.offset,
                size_bytes: member.size_bytes,
                holes: member.holes.clone(),
            });
        }
        let mut world = OverlayWorld::new(below, windows);
        let drives: Vec<_> = (0..).map(DriveId).take(used.len()).collect();
        for (drive, (_, mended)) in drives.iter().zip(&used) {
            if let Some(superblock) = mended {
                world.write(*drive, superblock.super_offset_bytes(), superblock.encode().as_slice());
            }
        }
        Ok((world, buffers, drives))
    }
}
