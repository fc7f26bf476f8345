//! `shoal fail`

use crate::args::{ArrayArgs, Cli, FailArgs};
use crate::commands::status::state_text;
use crate::drives::same_file;
use crate::exit::Failure;
use crate::output;
use crate::running::{Command, Opening, reach, reach_running};

/// Takes a member out of its array. It is not written any more, and the others remember.
pub(crate) fn run(cli: &Cli, args: &FailArgs) -> Result<(), Failure> {
    let mut array = match reach_running(&args.array)? {
        Some(array) => array,
        None => reach(cli, &with_member(args), Opening::WRITABLE, None)?,
    };
    array.execute(Command::Fail { member: args.member.clone() })?;
    output::document(cli, &array.finish()?, state_text)
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
