//! Drives that are to come to an array and lose what they hold: never one whose content the array
//! counts on, whatever is forced.

use std::path::{Path, PathBuf};

use shoal_documents::{ArrayDocument, Fault, HasFault};
use shoal_md::{Candidate, MemberUse, Superblock, counts_on};
use shoal_memory::{Suspicion, judge};
use shoal_volume::ManageError;

use crate::drives::{DrivesError, same_file};
use crate::environment::Environment;
use crate::look::{self, Seen};

/// Why a drive does not come to an array.
#[derive(Debug, thiserror::Error)]
pub enum NewcomerError {
    /// It is one of those by which the array was named.
    #[error(transparent)]
    Drives(#[from] DrivesError),
    /// The array counts on what it holds.
    #[error(transparent)]
    Active(#[from] ActiveMember),
}

impl HasFault for NewcomerError {
    fn fault(&self) -> Fault {
        match self {
            Self::Drives(error) => error.fault(),
            Self::Active(error) => error.fault(),
        }
    }
}

/// A drive on whose content an array counts.
#[derive(Debug, thiserror::Error)]
#[error("{}", ManageError::ActiveMember { drive: drive.clone(), array: array.clone() })]
pub struct ActiveMember {
    /// The drive.
    pub drive: String,
    /// The array's name.
    pub array: String,
}

impl HasFault for ActiveMember {
    fn fault(&self) -> Fault {
        Fault::Refused
    }
}

/// What a drive says of itself, if it carries a superblock that can be read.
pub fn candidate(environment: &Environment, path: &Path) -> Option<Candidate> {
    look::member(environment, path).map(|seen| seen.candidate())
}

/// The same of a superblock that was read.
pub fn candidate_at(path: &Path, superblock: Superblock) -> Candidate {
    Candidate { drive: path.display().to_string(), superblock }
}

/// Refuses a drive that is to come to an array at rest and is an active member of it: of the array
/// that is named by the drives `given`, and whose members are at `members`.
pub fn refuse_active(
    environment: &Environment,
    given: &[PathBuf],
    members: &[PathBuf],
    newcomer: &Path,
) -> Result<(), NewcomerError> {
    let Some(seen) = look::member(environment, newcomer) else { return Ok(()) };
    let given = given.iter().find(|given| same_file(given, newcomer));
    if let Some(given) = given.filter(|_| seen.superblock.own_use() != MemberUse::Spare) {
        return Err(DrivesError::GivenTwice { first: given.clone(), second: newcomer.to_owned() }.into());
    }
    let others: Vec<_> = members.iter().filter(|member| !same_file(member, newcomer)).cloned().collect();
    let others = look::members(environment, &others);
    if is_given_up(environment, &others, &seen) {
        return Ok(());
    }
    let others: Vec<_> = others.iter().map(Seen::candidate).collect();
    Ok(refuse_counted_on(&others, &seen.candidate())?)
}

/// Whether this host would start the array of these members without the newcomer, whatever that one
/// says of itself, as it was told to trust the others.
fn is_given_up(environment: &Environment, members: &[Seen], newcomer: &Seen) -> bool {
    let array = newcomer.superblock.array_uuid;
    let of_array = members.iter().filter(|member| member.superblock.array_uuid == array);
    let found: Vec<_> = of_array.chain([newcomer]).map(Seen::found).collect();
    let book = environment.store().and_then(|store| store.read(array).ok()?);
    let is_last = |(index, suspicion): &(usize, Suspicion)| {
        let is_told = matches!(suspicion, Suspicion::NeverSeen | Suspicion::RunApart | Suspicion::GivenUp);
        *index + 1 == found.len() && is_told
    };
    let judged = book.map(|book| judge(Some(&book), &found));
    judged.is_some_and(|judged| judged.doubt.is_none() && judged.left_out.iter().any(is_last))
}

/// Whether a drive belongs to an array that is a member of `array`, or was one, as far as this host
/// knows: of an array inside that is away.
pub fn is_of_array_inside(environment: &Environment, array: &ArrayDocument, drive: &Superblock) -> bool {
    let is_there = |inside: &ArrayDocument| inside.uuid == drive.array_uuid.to_string();
    let Some(store) = environment.store().filter(|_| !array.inner_arrays().any(is_there)) else { return false };
    let books = store.arrays().into_iter().filter(|uuid| uuid.to_string() == array.uuid);
    let mut books = books.filter_map(|uuid| store.read(uuid).ok()?);
    books.any(|book| {
        let left = book.left().iter().map(|left| &left.member);
        book.members().iter().chain(left).any(|member| member.array() == Some(drive.array_uuid))
    })
}

/// Refuses a drive on which the array of `members` counts.
pub fn refuse_counted_on(members: &[Candidate], newcomer: &Candidate) -> Result<(), ActiveMember> {
    if !counts_on(members, newcomer) {
        return Ok(());
    }
    let Candidate { drive, superblock } = newcomer;
    Err(ActiveMember { drive: drive.clone(), array: superblock.name() })
}
