//! `shoal fail` and `shoal remove`: drives that leave an array.

use std::path::Path;

use crate::args::{ArrayArgs, Cli, FailArgs, RemoveArgs};
use crate::commands::status::state_text;
use crate::drives::same_file;
use crate::exit::Failure;
use crate::output;
use crate::running::{Command, Opening, reach, reach_running};

/// Takes a member out of its array. It is not written any more, and the others remember.
pub(crate) fn run(cli: &Cli, args: &FailArgs) -> Result<(), Failure> {
    take_leave(cli, &args.array, &args.member, Command::Fail { member: args.member.clone() })
}

/// Lets a drive go that failed, or a spare.
pub(crate) fn remove(cli: &Cli, args: &RemoveArgs) -> Result<(), Failure> {
    take_leave(cli, &args.array, &args.drive, Command::Remove { drive: args.drive.clone() })
}

fn take_leave(cli: &Cli, args: &ArrayArgs, drive: &Path, command: Command) -> Result<(), Failure> {
    let mut array = match reach_running(args)? {
        Some(array) => array,
        None => reach(cli, &with_drive(args, drive), Opening::WRITABLE, None)?,
    };
    array.execute(command)?;
    output::document(cli, &array.finish()?, state_text)
}

/// The drive may be among the array's already, under this name or another.
fn with_drive(args: &ArrayArgs, drive: &Path) -> ArrayArgs {
    let mut array = args.clone();
    let given = array.drives.iter().any(|path| same_file(path, drive));
    if !given && array.scan.is_none() {
        array.drives.push(drive.to_owned());
    }
    array
}
