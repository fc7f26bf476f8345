//! An array's members, opened and kept from others.
//!
//! Who is to be given is found out before they are held, as it decides whom to hold. Whoever had
//! the array by then may change it until they are: with a drive that was added or replaced
//! meanwhile, the list that was given is one of a member too few. So it is found out again once
//! they are held, and nobody else can change them any more.

use std::path::{Path, PathBuf};

use shoal_documents::LeftOutDocument;
use shoal_drive::{Access, Drive};
use shoal_inventory::{
    DrivesError, Environment, Named, ToOpen, member_paths, members_to_open, open_drives, refuse_active, same_file,
};
use shoal_volume::{ArrayStatus, Cause, Consistency, Health, LeftOut, MemberOn, Verdict};

use crate::kernel::refuse_held;
use crate::limits::TRIES_MAX;
use crate::opening::{ClaimError, Opening};

/// An array's members, kept from others.
#[derive(Debug)]
pub struct Members {
    /// Open, as they were given.
    pub drives: Vec<Drive>,
    /// Without whom it is started: to be told once it is, a sentence each.
    pub remarks: Vec<String>,
}

/// Opens the members of the array that is named, to be read or written as `opening` says. Refused
/// is a list that lacks some which are there. `newcomer` is a drive that is to come to it and is no
/// member.
pub fn open_members(
    environment: &Environment,
    named: &Named,
    opening: Opening,
    newcomer: Option<&Path>,
) -> Result<Members, ClaimError> {
    let access = if opening.writable { Access::Write } else { Access::Read };
    let (ToOpen { remarks, .. }, drives) =
        once_held(|| find(environment, named, opening, newcomer), |found| hold(&found.paths, access))?;
    Ok(Members { drives, remarks })
}

/// What `find` finds once that is held, with what `hold` has made of it.
fn once_held<T>(
    mut find: impl FnMut() -> Result<ToOpen, ClaimError>,
    mut hold: impl FnMut(&ToOpen) -> Result<T, ClaimError>,
) -> Result<(ToOpen, T), ClaimError> {
    let mut found = find()?;
    for _ in 0..TRIES_MAX {
        let held = hold(&found)?;
        let again = find()?;
        if again.paths == found.paths {
            return Ok((again, held));
        }
        found = again;
    }
    Err(ClaimError::Unsteady)
}

fn hold(paths: &[PathBuf], access: Access) -> Result<Vec<Drive>, ClaimError> {
    refuse_held(paths)?;
    let mut drives = open_drives(paths, access)?;
    for drive in &mut drives {
        // What is read from some members while others change can be wrong.
        drive.keep_writers_out().map_err(DrivesError::Open)?;
    }
    Ok(drives)
}

/// Who was given and is not used by the array, or one inside it, though it lacks a member, a
/// sentence each. What this host remembers against a drive is told where that is weighed, and a
/// newcomer has yet to come.
pub(crate) fn unused(array: &ArrayStatus, newcomer: Option<&Path>) -> Vec<String> {
    let is_newcomer = |name: &str| newcomer.is_some_and(|newcomer| same_file(newcomer, Path::new(name)));
    let is_told = |left_out: &&LeftOut| matches!(left_out.cause, Cause::Suspicion(_)) || is_newcomer(&left_out.name);
    let lacks_one = array.health != Health::Optimal;
    let has_bitmap = array.consistency == Some(Consistency::Bitmap);
    let is_of_arrays = array.members.iter().any(|member| matches!(member.on, Some(MemberOn::Array(_))));
    let own = array.left_out.iter().filter(|left_out| lacks_one && !is_told(left_out)).map(|left_out| {
        let LeftOutDocument { drive, reason, .. } = LeftOutDocument::from(left_out);
        let mend = match left_out.cause {
            Cause::Verdict(Verdict::Stale { .. } | Verdict::Faulty) if is_of_arrays => {
                "; `shoal re-add --drive DRIVE MEMBER...`, with one of its drives and all of them given, brings it back"
            }
            Cause::Verdict(Verdict::Stale { .. } | Verdict::Faulty) if has_bitmap => "; `shoal re-add` brings it back",
            Cause::Verdict(Verdict::Stale { .. } | Verdict::Faulty) => "; `shoal add --force` fills it anew",
            _ => "",
        };
        format!("{drive} is not used: {reason}{mend}")
    });
    let inner = array.members.iter().filter_map(|member| match &member.on {
        Some(MemberOn::Array(inner)) => Some(unused(inner, newcomer)),
        Some(MemberOn::Drive(_)) | None => None,
    });
    own.chain(inner.flatten()).collect()
}

fn find(
    environment: &Environment,
    named: &Named,
    opening: Opening,
    newcomer: Option<&Path>,
) -> Result<ToOpen, ClaimError> {
    if let Some(newcomer) = newcomer {
        // Before the array is opened without it, and would write down that it is gone.
        refuse_active(environment, &named.drives, &member_paths(environment, named)?, newcomer)?;
    }
    Ok(members_to_open(environment, named, opening.intent(), newcomer)?)
}

#[cfg(test)]
mod tests {
    use shoal_inventory::PresentError;

    use super::*;

    fn found(drives: &[&str]) -> Result<ToOpen, ClaimError> {
        Ok(ToOpen {
            paths: drives.iter().map(PathBuf::from).collect(),
            remarks: drives.iter().map(|it| (*it).into()).collect(),
        })
    }

    fn not_given() -> Result<ToOpen, ClaimError> {
        Err(PresentError::NotGiven { array: "pond".into(), drives: vec!["d3".into()] }.into())
    }

    /// Looks for members that are these, one after the other, and says which were opened.
    fn open(finds: Vec<Result<ToOpen, ClaimError>>) -> (Result<ToOpen, ClaimError>, usize) {
        let (mut finds, mut held) = (finds.into_iter(), 0);
        let opened = once_held(
            || finds.next().unwrap(),
            |_| {
                held += 1;
                Ok(())
            },
        );
        (opened.map(|(found, ())| found), held)
    }

    #[test]
    fn a_list_that_lacks_a_member_by_the_time_that_it_is_held_is_refused() {
        let (opened, held) = open(vec![found(&["d0", "d1"]), not_given()]);
        assert!(matches!(opened, Err(ClaimError::Present(PresentError::NotGiven { .. }))));
        assert_eq!(held, 1);
        assert_eq!(open(vec![not_given()]).1, 0);
    }

    #[test]
    fn what_is_opened_is_what_was_found_once_it_was_held() {
        let (opened, held) = open(vec![found(&["d0"]), found(&["d0", "d1"]), found(&["d0", "d1"])]);
        assert_eq!((opened.unwrap().remarks.len(), held), (2, 2));
    }

    #[test]
    fn members_that_change_without_end_are_not_waited_for() {
        let finds = (0..=TRIES_MAX).map(|number| found(&[&format!("d{number}")])).collect();
        assert!(matches!(open(finds), (Err(ClaimError::Unsteady), TRIES_MAX)));
    }
}
