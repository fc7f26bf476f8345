//! `shoal add`

use shoal_drive::Access;
use shoal_volume::ArrayVolume;

use crate::args::{AddArgs, Cli};
use crate::commands::fail::{manage_failure, same_file};
use crate::commands::rebuild::REBUILD_GOES_ON;
use crate::commands::status::{array_at_rest, array_text};
use crate::drives::{array_failure, check_wipeable, join, member_paths, open_drives, open_options};
use crate::exit::Failure;
use crate::output;
use crate::progress::run_background;

/// Adds a drive to an array. If a member is missing, the drive takes its place and is filled.
pub(crate) fn run(cli: &Cli, args: &AddArgs) -> Result<(), Failure> {
    let mut paths = member_paths(&args.array)?;
    if args.array.scan.is_some() {
        // It may lie beside the members, and even have been one.
        paths.retain(|path| !same_file(path, &args.drive));
    }
    paths.push(args.drive.clone());
    drop(open_drives(&paths, Access::Read)?);
    check_wipeable(std::slice::from_ref(&args.drive), args.force)?;
    let opened = join(cli, open_drives(&paths, Access::Write)?, 1, 4096)?;
    let (added, members) = opened.drives.split_last().expect("the new drive is one of them");
    let options = open_options(cli, true, false)?;
    let mut array = ArrayVolume::open(opened.world, opened.plan, members, &options).map_err(array_failure)?;
    array.add_drive(*added).map_err(manage_failure)?;
    let mut rebuild = None;
    if !args.no_rebuild {
        rebuild = Some(run_background(cli, &mut array, "rebuild", &mut |_| {})?);
    }
    let document = array_at_rest(&mut array)?;
    if let Some(rebuild) = rebuild {
        rebuild.finished_or(REBUILD_GOES_ON)?;
    }
    output::document(cli, &document, array_text)
}
