//! Commands made ready: their drives are looked at and opened, which may take long, before the
//! array hears of them.

use std::path::{Path, PathBuf};

use shoal_documents::protocol::Command;
use shoal_documents::{ArrayDocument, Fault, HasFault, StateDocument};
use shoal_drive::{Access, Drive, DriveKey};
use shoal_inventory::{
    ActiveMember, Environment, WipeError, candidate, check_wipeable, is_of_array_inside, open_drives, same_file,
};
use shoal_md::Candidate;
use shoal_mdadm::Growth;
use shoal_volume::{Features, MemberUse, ScrubMode, Superblock};

use crate::engine::EngineError;
use crate::handle::ExecuteError;

/// What an array's host can do at once.
#[derive(Debug)]
pub(super) enum HostOrder {
    /// Nothing.
    Show,
    /// Nothing but to refuse a drive that is to be wiped, if the array counts on what it holds.
    Consider { newcomer: Box<Candidate> },
    /// Takes a member out.
    Fail { member: PathBuf },
    /// Adds a drive, which may be wiped.
    Add { path: PathBuf, opened: Result<Drive, WipeError> },
    /// Lets a drive go.
    Remove { drive: PathBuf },
    /// Copies a member to another drive: to a spare that the array has, or to one that may be
    /// wiped.
    Replace { member: PathBuf, spare: PathBuf, opened: Option<Drive> },
    /// Takes a drive back that was a member, opened anew unless the array itself has it.
    ReAdd { path: PathBuf, opened: Result<Drive, WipeError> },
    /// Gives it another shape, with drives that may be wiped.
    Grow { growth: Growth, added: Vec<(PathBuf, Drive)> },
    /// Gives it another name.
    Rename { name: String, homehost: Option<String> },
    /// Compares parity and mirrors with the data.
    Scrub(ScrubMode),
    /// Ends that.
    StopScrub,
    /// Changes the rates of background work.
    Speed { min_bytes_per_s: Option<u64>, max_bytes_per_s: Option<u64> },
}

/// Has the array's host carry out an order.
type Ask<'a> = dyn FnMut(HostOrder) -> Result<StateDocument, ExecuteError> + 'a;

/// Makes a command ready. `ask` has the host carry out what must come before.
pub(super) fn prepare(
    environment: &Environment,
    command: Command,
    ask: &mut Ask<'_>,
) -> Result<HostOrder, ExecuteError> {
    Ok(match command {
        Command::Status | Command::Stop => HostOrder::Show,
        Command::Fail { member } => HostOrder::Fail { member },
        Command::Add { drive, force } => add(environment, drive, force, ask)?,
        Command::Remove { drive } => HostOrder::Remove { drive },
        Command::Replace { member, drive, force } => {
            let array = ask(HostOrder::Show)?.array;
            let opened = if has_spare(&array, &drive) {
                None
            } else {
                consider(environment, &array, &drive, ask)?;
                Some(open_new(&array, &drive, force, ask)?)
            };
            HostOrder::Replace { member, spare: drive, opened }
        }
        Command::ReAdd { drive } => {
            let opened = open_one(&drive);
            if opened.is_ok() {
                refuse_of_array_inside(environment, &ask(HostOrder::Show)?.array, candidate(environment, &drive))?;
            }
            HostOrder::ReAdd { opened, path: drive }
        }
        Command::Grow { raid_devices, chunk_bytes, layout, add, force } => {
            let added = open_newcomers(environment, &ask(HostOrder::Show)?, add, force, ask)?;
            HostOrder::Grow { growth: Growth { raid_devices, chunk_bytes, layout }, added }
        }
        Command::Rename { name, homehost } => HostOrder::Rename { name, homehost },
        Command::Scrub { keep_data } => HostOrder::Scrub(if keep_data { ScrubMode::Repair } else { ScrubMode::Check }),
        Command::StopScrub => HostOrder::StopScrub,
        Command::Speed { min_bytes_per_s, max_bytes_per_s } => HostOrder::Speed { min_bytes_per_s, max_bytes_per_s },
    })
}

/// Makes it ready that a drive is added. One of an array that was given along and is not used
/// stands for that array, if that is forced.
fn add(environment: &Environment, path: PathBuf, force: bool, ask: &mut Ask<'_>) -> Result<HostOrder, ExecuteError> {
    let array = ask(HostOrder::Show)?.array;
    if force && is_of_unused_array(&array, &path) {
        return Ok(HostOrder::Add { opened: open_one(&path), path });
    }
    consider(environment, &array, &path, ask)?;
    if !force {
        refuse_former(environment, &array, &path)?;
    }
    let opened = match open_new(&array, &path, force, ask) {
        Err(ExecuteError::Drive(error)) => Err(error),
        opened => Ok(opened?),
    };
    Ok(HostOrder::Add { opened, path })
}

/// Opens the drives by which an array is to grow, if it is run by somebody who can do that.
fn open_newcomers(
    environment: &Environment,
    state: &StateDocument,
    add: Vec<PathBuf>,
    force: bool,
    ask: &mut Ask<'_>,
) -> Result<Vec<(PathBuf, Drive)>, ExecuteError> {
    if state.engine.is_none() {
        return Err(EngineError::GrowsAtRest.into());
    }
    let open = |drive: PathBuf| {
        consider(environment, &state.array, &drive, ask)?;
        let opened = open_wipeable(&drive, force)?;
        Ok((drive, opened))
    };
    add.into_iter().map(open).collect()
}

/// Opens a drive for whatever becomes of it.
fn open_one(path: &Path) -> Result<Drive, WipeError> {
    Ok(open_drives(std::slice::from_ref(&path.to_owned()), Access::Write)?.remove(0))
}

/// Opens a drive that may be wiped.
fn open_wipeable(path: &Path, force: bool) -> Result<Drive, WipeError> {
    let paths = [path.to_owned()];
    drop(open_drives(&paths, Access::Read)?); // what is no drive is told before what a drive holds
    Ok(check_wipeable(&paths, force)?.open()?.remove(0))
}

/// Whether a path leads to a drive of an array that was given along and is not used.
fn is_of_unused_array(array: &ArrayDocument, drive: &Path) -> bool {
    let mut drives = array.unattached.iter().flat_map(ArrayDocument::drives);
    drives.any(|other| same_file(Path::new(other), drive))
}

/// Opens a drive that is to come to the array, and may be wiped. If that is forced, and all that is
/// in the way is that the array itself has it, and does not use it any more, the array lets go of
/// it.
fn open_new(array: &ArrayDocument, drive: &Path, force: bool, ask: &mut Ask<'_>) -> Result<Drive, ExecuteError> {
    match open_wipeable(drive, force) {
        Err(busy) if force && busy.fault() == Fault::Busy && is_left_out(array, drive) => {
            check_wipeable(&[drive.to_owned()], force)?;
            ask(HostOrder::Remove { drive: drive.to_owned() })?;
            Ok(open_wipeable(drive, force)?)
        }
        opened => Ok(opened?),
    }
}

/// Whether the array, or one inside it, has a drive that it does not use.
fn is_left_out(array: &ArrayDocument, drive: &Path) -> bool {
    array.left_out.iter().any(|left_out| same_file(Path::new(&left_out.drive), drive))
        || array.inner_arrays().any(|inner| is_left_out(inner, drive))
}

/// Whether a path leads to a spare of the array, or of one inside it.
fn has_spare(array: &ArrayDocument, drive: &Path) -> bool {
    let inner = array.members.iter().filter_map(|member| member.array.as_deref());
    array.spares.iter().any(|spare| same_file(Path::new(spare), drive))
        || inner.into_iter().any(|inner| has_spare(inner, drive))
}

/// Refuses a drive that is to be wiped and that the array has already, or counts on though it has
/// it not, or will when an array inside is back.
fn consider(
    environment: &Environment,
    array: &ArrayDocument,
    drive: &Path,
    ask: &mut Ask<'_>,
) -> Result<(), ExecuteError> {
    refuse_own(array, drive)?;
    let newcomer = candidate(environment, drive);
    refuse_of_array_inside(environment, array, newcomer.clone())?;
    match newcomer {
        Some(newcomer) => ask(HostOrder::Consider { newcomer: Box::new(newcomer) }).map(drop),
        None => Ok(()),
    }
}

/// Refuses a drive that comes alone of an array inside that is away.
fn refuse_of_array_inside(
    environment: &Environment,
    array: &ArrayDocument,
    newcomer: Option<Candidate>,
) -> Result<(), ExecuteError> {
    match newcomer {
        Some(Candidate { drive, superblock }) if is_of_array_inside(environment, array, &superblock) => {
            Err(ExecuteError::Inside { drive, inside: superblock.name(), array: array.name.clone() })
        }
        _ => Ok(()),
    }
}

/// Refuses a drive that was a member of the array, if a bitmap knows what it missed: the rest need
/// not be copied again.
fn refuse_former(environment: &Environment, array: &ArrayDocument, drive: &Path) -> Result<(), ExecuteError> {
    let is_former = |own: &Superblock| {
        let has_role = matches!(own.own_use(), MemberUse::Active(_));
        has_role && own.features.any_of(Features::BITMAP) && own.array_uuid.to_string() == array.uuid
    };
    let Some(former) = candidate(environment, drive).filter(|it| is_former(&it.superblock)) else { return Ok(()) };
    Err(ExecuteError::Former { drive: former.drive, array: array.name.clone() })
}

/// Refuses a drive that the array has.
fn refuse_own(array: &ArrayDocument, drive: &Path) -> Result<(), ExecuteError> {
    let Ok(key) = DriveKey::of_path(drive) else { return Ok(()) }; // to be found missing by whoever opens it
    let is_it = |own: &str| DriveKey::of_path(Path::new(own)).is_ok_and(|other| other == key);
    for member in &array.members {
        if let Some(inner) = &member.array {
            refuse_own(inner, drive)?;
        }
        let replacement = member.replacement.as_ref().map(|replacement| replacement.drive.as_str());
        if member.drive.as_deref().into_iter().chain(replacement).any(is_it) {
            return Err(ActiveMember { drive: drive.display().to_string(), array: array.name.clone() }.into());
        }
    }
    match array.spares.iter().any(|spare| is_it(spare)) {
        true => Err(ExecuteError::Spare { drive: drive.to_owned(), array: array.name.clone() }),
        false => Ok(()),
    }
}
