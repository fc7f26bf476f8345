//! `shoal fail`

use shoal_drive::Access;
use shoal_volume::{ArrayVolume, ManageError};

use crate::args::{ArrayArgs, Cli, FailArgs};
use crate::commands::status::{array_at_rest, array_text};
use crate::drives::{array_failure, join, member_paths, open_drives, open_options};
use crate::exit::Failure;
use crate::output;

/// Takes a member out of its array. It is not written any more, and the others remember.
pub(crate) fn run(cli: &Cli, args: &FailArgs) -> Result<(), Failure> {
    let member = open_drives(std::slice::from_ref(&args.member), Access::Read)?.remove(0);
    let drives = open_drives(&member_paths(&with_member(args))?, Access::Write)?;
    let position = drives.iter().position(|drive| drive.same_drive_as(&member));
    let position = position.ok_or_else(|| ManageError::NotAMember { drive: member.path().display().to_string() });
    let position = position.map_err(manage_failure)?;
    let opened = join(cli, drives, 1, 4096)?;
    let options = open_options(cli, true, false)?;
    let mut array = ArrayVolume::open(opened.world, opened.plan, &opened.drives, &options).map_err(array_failure)?;
    array.fail_drive(opened.drives[position]).map_err(manage_failure)?;
    let document = array_at_rest(&mut array)?;
    output::document(cli, &document, array_text)
}

/// The member may be among the array's drives already, under this name or another.
fn with_member(args: &FailArgs) -> ArrayArgs {
    let mut array = args.array.clone();
    let given = array.drives.iter().any(|path| same_file(path, &args.member));
    if !given && array.scan.is_none() {
        array.drives.push(args.member.clone());
    }
    array
}

pub(crate) fn same_file(left: &std::path::Path, right: &std::path::Path) -> bool {
    match (shoal_drive::DriveKey::of_path(left), shoal_drive::DriveKey::of_path(right)) {
        (Ok(left), Ok(right)) => left == right,
        _ => left == right,
    }
}

/// Who is at fault when an array does not take a command.
pub(crate) fn manage_failure(error: ManageError) -> Failure {
    match error {
        ManageError::NotAMember { .. } | ManageError::Add(_) => Failure::usage(error),
        ManageError::Refused { .. } => Failure::Refused(error.to_string()),
        ManageError::NoRoom { .. } | ManageError::Superblock(_) | ManageError::Volume(_) => Failure::failed(error),
    }
}
