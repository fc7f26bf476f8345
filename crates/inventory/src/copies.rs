//! Copies of members that are files: one that is given in the place of its original.
//!
//! A copy goes on where its original was, with the same device UUID, and from the first write on
//! the original is stale, though nothing says so. Of drives that is how a member is moved to
//! another one; of files it is a mistake more often than not, if the original is still where this
//! host has last seen it.

use std::path::{Path, PathBuf};

use shoal_documents::{Fault, HasFault};
use shoal_md::Superblock;

use crate::drives::same_file;
use crate::environment::Environment;
use crate::look::{self, Look, Seen};
use crate::places::places;

/// A file is given that is a copy of another one.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} is a copy of {}, which is still there and would be out of date from the first write on: give that one; to go on with \
     the copy, move the other one away, or `shoal trust` the drives that are right",
    copy.display(),
    original.display()
)]
pub struct CopyOfMember {
    copy: PathBuf,
    original: PathBuf,
}

impl HasFault for CopyOfMember {
    fn fault(&self) -> Fault {
        Fault::Refused
    }
}

/// Refuses members that are copies of others, which are where this host has last seen them and are
/// not given.
pub fn refuse_copies(environment: &Environment, members: &[Seen]) -> Result<(), CopyOfMember> {
    let Some(store) = environment.store() else { return Ok(()) };
    let group: Vec<&Seen> = members.iter().collect();
    for seen in members.iter().filter(|seen| seen.path.is_file()) {
        let own = &seen.superblock;
        let Ok(Some(book)) = store.read(own.array_uuid) else { continue };
        let Some(member) = book.members().iter().find(|member| member.uuid == own.device_uuid) else { continue };
        if same_file(&seen.path, Path::new(&member.drive)) {
            continue;
        }
        if let Some(original) = original(environment, own, Path::new(&member.drive), &group) {
            return Err(CopyOfMember { copy: seen.path.clone(), original });
        }
    }
    Ok(())
}

/// The file by the name of a member, in one of the places where it may be, that says that it is
/// this one, and has missed no update that `own` has.
fn original(environment: &Environment, own: &Superblock, name: &Path, group: &[&Seen]) -> Option<PathBuf> {
    let is_given = |place: &PathBuf| group.iter().any(|seen| same_file(&seen.path, place));
    let others: Vec<_> = places(name, group).into_iter().filter(|it| it.is_file() && !is_given(it)).collect();
    let looks = look::look(environment, &others);
    let is_it = |looked: &Look| match looked {
        Look::Member(seen) => {
            let uuids = |of: &Superblock| (of.array_uuid, of.device_uuid);
            uuids(&seen.superblock) == uuids(own) && seen.superblock.events >= own.events
        }
        Look::No(_) | Look::Silent => false,
    };
    others.into_iter().zip(looks).find_map(|(place, looked)| is_it(&looked).then_some(place))
}
