//! `shoal grow`

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::ProgressBar;
use shoal_documents::protocol::Command;
use shoal_drive::{Access, Drive};
use shoal_inventory::{
    Seen, Wipeable, arrays, hold, members as members_of, open_drives, refuse_active, refuse_copies, refuse_silent,
    remember, same_file,
};
use shoal_memory::Found;
use shoal_running::{Handle, Opening};
use shoal_volume::{
    Absent, AssembleError, BitmapChange, GrowError, GrowOptions, GrowProgress, GrowRefusal, Grown, ParityLayout,
    check_growth, continue_reshape, grow,
};

use crate::args::{ArrayArgs, BitmapPlace, Cli, GrowArgs};
use crate::attaching::check_overwritable;
use crate::commands::rebuild::REBUILD_GOES_ON;
use crate::commands::status::{state_of_array, state_text};
use crate::exit::Failure;
use crate::output;
use crate::progress::{bytes_bar, interrupt_flag, run_background};
use crate::setup::{environment, join, member_paths, reach, reach_running};

/// Memory that content goes through: so many pieces of so many bytes.
const PIECES: (u32, u32) = (32, 1 << 20);

/// Gives an array more members, another chunk or another layout: here, if nobody uses it, or where
/// the kernel runs it.
pub(crate) fn run(cli: &Cli, args: &GrowArgs) -> Result<(), Failure> {
    let options = options(args)?;
    if let Some(running) = reach_running(&args.array)? {
        return grow_running(cli, args, running);
    }
    let mut members = member_paths(&args.array)?;
    refuse_silent(environment(), &members)?;
    refuse_copies(environment(), &members_of(environment(), &members))?;
    if !args.go_on {
        refuse_another_reshape(&members)?;
    }
    let given = &args.array.drives;
    args.drive.iter().try_for_each(|added| refuse_active(environment(), given, &members, added))?;
    members.retain(|member| !args.drive.iter().any(|added| same_file(member, added)));
    let all: Vec<PathBuf> = members.iter().chain(&args.drive).cloned().collect();
    let held = hold(environment(), &arrays(environment(), &members))?;
    // What cannot be is told before what the drives hold.
    let drives = open_drives(&all, Access::Read)?;
    if !args.go_on {
        check(cli, drives, members.len(), &options)?;
    }
    let wipeable = check_overwritable(&args.drive, &args.array, args.force)?;
    let grown = carry_out(cli, args, &all, &wipeable, &options)?;
    drop(held);
    if let Grown::Stopped { .. } = grown {
        return Err(Failure::failed("stopped before the end: `shoal grow --continue` goes on where it stood"));
    }
    show(cli, args, all, grown == Grown::ToBeFilled && !args.no_rebuild)
}

/// Refuses to grow an array that is being grown. Its new members are members already, which is what
/// would be said of them else.
fn refuse_another_reshape(members: &[PathBuf]) -> Result<(), Failure> {
    let members = members_of(environment(), members);
    members.iter().find(|seen| seen.is_reshaping()).map_or(Ok(()), |seen| {
        let (name, why) = (seen.superblock.name(), GrowRefusal::UnderWay);
        Err(grow_failure(GrowError::Refused { name, why }))
    })
}

/// Refuses what would never be done, however the drives are: too few of them, or another shape than
/// the array can have. The first `members` of the drives are the array's. Nothing is written.
fn check(cli: &Cli, drives: Vec<Drive>, members: usize, options: &GrowOptions) -> Result<(), Failure> {
    let mut opened = join(cli, drives, 1, 4096)?;
    let (members, added) = opened.drives.split_at(members);
    check_growth(&mut opened.world, members, added, options).map_err(grow_failure)
}

/// The array goes on to be used meanwhile.
fn grow_running(cli: &Cli, args: &GrowArgs, mut array: Box<dyn Handle>) -> Result<(), Failure> {
    if args.go_on {
        return Err(Failure::usage("the array is running: what the kernel has begun there goes on by itself"));
    }
    if args.bitmap.is_some() {
        return Err(Failure::Refused("the array is running: `shoal stop` it, and then change its bitmap".to_owned()));
    }
    array.execute(Command::Grow {
        raid_devices: args.raid_devices,
        chunk_bytes: args.chunk,
        layout: args.layout.clone(),
        add: args.drive.clone(),
        force: args.force,
    })?;
    let reshape = if args.no_rebuild { None } else { Some(run_background(cli, array.as_mut(), "reshape")?) };
    let document = array.finish()?;
    if let Some(reshape) = reshape {
        reshape.finished_or("`shoal status` shows how far it is")?;
    }
    output::document(cli, &document, state_text)
}

fn options(args: &GrowArgs) -> Result<GrowOptions, Failure> {
    // Whether the array's level has it is found out with the array.
    let layout = |name: &String| {
        let unknown =
            |_| format!("`{name}` is no layout of levels 5 and 6: give one of mdadm's, such as left-symmetric");
        name.parse::<ParityLayout>().map_err(|error| Failure::Usage(unknown(error)))
    };
    let layout = args.layout.as_ref().map(layout).transpose()?;
    let bitmap = args.bitmap.map(|place| match place {
        BitmapPlace::None => BitmapChange::Remove,
        BitmapPlace::Internal => BitmapChange::Add { chunk_bytes: args.bitmap_chunk },
    });
    Ok(GrowOptions { raid_devices: args.raid_devices, chunk_bytes: args.chunk, layout, bitmap })
}

fn carry_out(
    cli: &Cli,
    args: &GrowArgs,
    all: &[PathBuf],
    wipeable: &Wipeable,
    options: &GrowOptions,
) -> Result<Grown, Failure> {
    let mut drives = open_drives(all, Access::Write)?;
    wipeable.confirm(&drives)?;
    for drive in &mut drives {
        drive.keep_writers_out()?;
    }
    let mut opened = join(cli, drives, PIECES.0, PIECES.1)?;
    let mut progress = ReshapeBar { bar: bytes_bar(cli, 0, "reshape"), signalled: interrupt_flag()? };
    let (members, added) = opened.drives.split_at(all.len() - args.drive.len());
    let absent = if args.array.degraded { Absent::LeftBehind } else { Absent::Refused };
    let grown = if args.go_on {
        continue_reshape(&mut opened.world, members, absent, &mut progress)
    } else {
        grow(&mut opened.world, members, added, options, &mut progress)
    };
    progress.bar.finish_and_clear();
    // They are let go of before they are looked at again.
    drop(opened);
    if !grown.as_ref().is_err_and(GrowError::is_refusal) {
        remember(environment(), &members_of(environment(), all).iter().map(Seen::found).collect::<Vec<_>>());
    }
    grown.map_err(grow_failure)
}

/// Shows how far a reshape has come, until somebody stops it.
struct ReshapeBar {
    bar: ProgressBar,
    signalled: Arc<AtomicBool>,
}

impl GrowProgress for ReshapeBar {
    /// Whatever becomes of this process, its new members are looked for when the array is.
    fn has_begun(&mut self, found: Vec<Found>) {
        remember(environment(), &found);
    }

    fn goes_on(&mut self, done_bytes: u64, total_bytes: u64) -> bool {
        self.bar.set_length(total_bytes);
        self.bar.set_position(done_bytes);
        !self.signalled.load(Ordering::Relaxed)
    }
}

/// The array as it is now; a mirror's new members are filled first, if that is wanted.
fn show(cli: &Cli, args: &GrowArgs, all: Vec<PathBuf>, fill: bool) -> Result<(), Failure> {
    let array = ArrayArgs { drives: all, scan: None, uuid: None, ..args.array.clone() };
    if !fill {
        // As it is: the array may be one inside another, which these drives alone cannot be.
        return output::document(cli, &state_of_array(cli, &array)?, state_text);
    }
    let mut array = reach(cli, &array, Opening::WRITABLE, None)?;
    let rebuild = run_background(cli, array.as_mut(), "rebuild")?;
    let document = array.finish()?;
    rebuild.finished_or(REBUILD_GOES_ON)?;
    output::document(cli, &document, state_text)
}

/// Who is at fault when an array does not grow.
fn grow_failure(error: GrowError) -> Failure {
    match error {
        GrowError::Refused { .. } => Failure::Refused(error.to_string()),
        GrowError::Assemble(AssembleError::DifferentArrays { .. }) => {
            Failure::usage(format!("{error}; an array of arrays cannot be grown"))
        }
        GrowError::NoMember { .. } | GrowError::Geometry { .. } | GrowError::Add(_) => Failure::usage(error),
        GrowError::Assemble(_) | GrowError::Drive { .. } | GrowError::TooFewMembers | GrowError::Volume(_) => {
            Failure::failed(error)
        }
    }
}
