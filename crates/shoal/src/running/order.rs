//! Commands made ready: their drives are looked at and opened, which may take long, before the array hears of them.

use std::path::{Path, PathBuf};

use shoal_drive::{Access, Drive, DriveKey};
use shoal_mdadm::Growth;
use shoal_volume::ScrubMode;

use super::engine::GROWS_AT_REST;
use super::protocol::Command;
use crate::documents::{ArrayDocument, StateDocument};
use crate::drives::{check_wipeable, open_drives, same_file};
use crate::exit::Failure;

/// What an array's host can do at once.
#[derive(Debug)]
pub(super) enum Order {
    /// Nothing.
    Show,
    /// Takes a member out.
    Fail { member: PathBuf },
    /// Adds a drive, which may be wiped.
    Add { path: PathBuf, opened: Result<Drive, Failure> },
    /// Lets a drive go.
    Remove { drive: PathBuf },
    /// Copies a member to another drive: to a spare that the array has, or to one that may be wiped.
    Replace { member: PathBuf, spare: PathBuf, opened: Option<Drive> },
    /// Takes a drive back that was a member, opened anew unless the array itself has it.
    ReAdd { path: PathBuf, opened: Result<Drive, Failure> },
    /// Gives it another shape, with drives that may be wiped.
    Grow { growth: Growth, added: Vec<(PathBuf, Drive)> },
    /// Compares parity and mirrors with the data.
    Scrub(ScrubMode),
    /// Ends that.
    StopScrub,
    /// Changes the rates of background work.
    Speed { min_bytes_per_s: Option<u64>, max_bytes_per_s: Option<u64> },
}

/// Makes a command ready. `ask` has the host carry out what must come before.
pub(super) fn prepare(
    command: Command,
    ask: &mut dyn FnMut(Order) -> Result<StateDocument, Failure>,
) -> Result<Order, Failure> {
    Ok(match command {
        Command::Status | Command::Stop => Order::Show,
        Command::Fail { member } => Order::Fail { member },
        Command::Add { drive, force } => {
            refuse_own(&ask(Order::Show)?.array, &drive)?;
            let opened = open_wipeable(&drive, force);
            Order::Add { path: drive, opened }
        }
        Command::Remove { drive } => Order::Remove { drive },
        Command::Replace { member, drive, force } => {
            let array = ask(Order::Show)?.array;
            let opened = if has_spare(&array, &drive) {
                None
            } else {
                refuse_own(&array, &drive)?;
                Some(open_wipeable(&drive, force)?)
            };
            Order::Replace { member, spare: drive, opened }
        }
        Command::ReAdd { drive } => {
            let opened = open_drives(std::slice::from_ref(&drive), Access::Write);
            Order::ReAdd { path: drive, opened: opened.map(|mut drives| drives.remove(0)) }
        }
        Command::Grow { raid_devices, chunk_bytes, layout, add, force } => {
            let added = open_newcomers(&ask(Order::Show)?, add, force)?;
            Order::Grow { growth: Growth { raid_devices, chunk_bytes, layout }, added }
        }
        Command::Scrub { repair } => Order::Scrub(if repair { ScrubMode::Repair } else { ScrubMode::Check }),
        Command::StopScrub => Order::StopScrub,
        Command::Speed { min_bytes_per_s, max_bytes_per_s } => Order::Speed { min_bytes_per_s, max_bytes_per_s },
    })
}

/// Opens the drives by which an array is to grow, if it is run by somebody who can do that.
fn open_newcomers(state: &StateDocument, add: Vec<PathBuf>, force: bool) -> Result<Vec<(PathBuf, Drive)>, Failure> {
    if state.engine.is_none() {
        return Err(Failure::Refused(GROWS_AT_REST.to_owned()));
    }
    let open = |drive: PathBuf| {
        refuse_own(&state.array, &drive)?;
        open_wipeable(&drive, force).map(|opened| (drive, opened))
    };
    add.into_iter().map(open).collect()
}

/// Opens a drive that may be wiped.
fn open_wipeable(path: &Path, force: bool) -> Result<Drive, Failure> {
    let paths = [path.to_owned()];
    drop(open_drives(&paths, Access::Read)?); // what is no drive is told before what a drive holds
    check_wipeable(&paths, force)?;
    Ok(open_drives(&paths, Access::Write)?.remove(0))
}

/// Whether a path leads to a spare of the array, or of one inside it.
fn has_spare(array: &ArrayDocument, drive: &Path) -> bool {
    let inner = array.members.iter().filter_map(|member| member.array.as_deref());
    array.spares.iter().any(|spare| same_file(Path::new(spare), drive))
        || inner.into_iter().any(|inner| has_spare(inner, drive))
}

/// Refuses a drive that the array has already.
fn refuse_own(array: &ArrayDocument, drive: &Path) -> Result<(), Failure> {
    let Ok(key) = DriveKey::of_path(drive) else { return Ok(()) }; // to be found missing by whoever opens it
    let same = |own: &str| DriveKey::of_path(Path::new(own)).is_ok_and(|other| other == key);
    for member in &array.members {
        if let Some(inner) = &member.array {
            refuse_own(inner, drive)?;
        }
    }
    let members = array.members.iter().filter_map(|member| member.drive.as_deref());
    let replacements = array.members.iter().filter_map(|member| member.replacement.as_ref());
    let members = members.chain(replacements.map(|replacement| replacement.drive.as_str()));
    let own = members.chain(array.spares.iter().map(String::as_str)).find(|own| same(own));
    own.map_or(Ok(()), |own| {
        Err(Failure::Usage(format!("{own} and {} are the same drive: give it once", drive.display())))
    })
}
