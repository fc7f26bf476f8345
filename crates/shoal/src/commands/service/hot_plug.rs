//! `shoal hot-plug`: a drive that was plugged in is handed to its array.
//!
//! | the array | what is done |
//! | --- | --- |
//! | runs, and has the drive | nothing |
//! | is paused, as its drives are gone | nothing: it looks for them by itself |
//! | runs, and the member whose name it has does not answer | that is waited for: it answers, or is taken out |
//! | runs, and lacks it | it is taken back, if this host knows it as a member and the array's bitmap knows what it missed; what would have to wipe it is refused, and a stranger, too: anybody can write the array's UUID on a stick |
//! | does not run, and is a service | the service is started, which waits for what is missing; then as above |
//! | does not run, and is none | refused: nobody has said that shoal is to run it |

use std::path::Path;
use std::time::{Duration, Instant};

use shoal_documents::protocol::Command;
use shoal_documents::{ArrayDocument, Fault, HasFault, StateDocument};
use shoal_drive::DriveKey;
use shoal_inventory::{Look, PATIENCE, Seen, Silence, look_within, store};
use shoal_running::{ExecuteError, Handle};
use shoal_unattended::service::{array_unit, owner_of};
use shoal_volume::Superblock;

use super::super::status::state_text;
use super::system;
use crate::args::{ArrayArgs, Cli, HotPlugArgs};
use crate::exit::Failure;
use crate::output;
use crate::setup::{environment, reach_running};

/// Longer than a member may be silent before it is taken out; a service's time to start has room
/// for it.
const BUSY_PATIENCE: Duration = Duration::from_secs(180);
/// From one try to the next.
const PAUSE: Duration = Duration::from_secs(1);

/// Hands the drive over.
pub(crate) fn run(cli: &Cli, args: &HotPlugArgs) -> Result<(), Failure> {
    let path = std::path::absolute(&args.drive).map_err(Failure::usage)?;
    let Some(look) = look_within(std::slice::from_ref(&path), PATIENCE).pop() else { return Ok(()) };
    let Seen { superblock, hardware, .. } = match look {
        Look::Member(seen) => *seen,
        Look::No(why) => return Err(why.into()),
        Look::Silent => return Err(Silence { path }.into()),
    };
    let array = ArrayArgs { drives: vec![path.clone()], ..ArrayArgs::default() };
    let mut running = match reach_running(&array)? {
        Some(running) => running,
        None => start(&superblock.array_uuid, &array)?,
    };
    let state = running.execute(Command::Status)?;
    if state.paused.is_some() || has(&state.array, &path) {
        return output::document(cli, &state, state_text);
    }
    refuse_stranger(&superblock, hardware.as_deref(), &path)?;
    let state = take_back(running.as_mut(), &path).map_err(|error| advice(error.into(), &superblock.array_uuid))?;
    output::document(cli, &state, state_text)
}

/// Tries again while the array is busy: nobody else would.
fn take_back(running: &mut dyn Handle, drive: &Path) -> Result<StateDocument, ExecuteError> {
    let begun = Instant::now();
    loop {
        match running.execute(Command::ReAdd { drive: drive.to_owned() }) {
            Err(why) if why.fault() == Fault::Busy && begun.elapsed() < BUSY_PATIENCE => std::thread::sleep(PAUSE),
            done => return done,
        }
    }
}

/// Lets nobody in by itself that was never a member here.
fn refuse_stranger(superblock: &Superblock, hardware: Option<&str>, path: &Path) -> Result<(), Failure> {
    let book = store(environment())
        .map(|store| store.read(superblock.array_uuid))
        .transpose()
        .map_err(Failure::failed)?
        .flatten();
    if book.is_some_and(|book| book.knows(superblock.device_uuid, hardware)) {
        return Ok(());
    }
    let (path, uuid) = (path.display(), superblock.array_uuid);
    Err(Failure::Refused(format!(
        "{path} was never seen in array {uuid} by this host, and is not taken by itself: if it belongs there, shoal re-add \
         --drive {path} --uuid {uuid}"
    )))
}

/// Has the service manager start the array, and waits until it runs: a member that comes at the
/// last moment may be too late for the start itself.
fn start(uuid: &shoal_md::Uuid, array: &ArrayArgs) -> Result<Box<dyn Handle>, Failure> {
    let owner = owner_of(Path::new("/"), uuid).ok_or_else(|| {
        Failure::Usage(format!("array {uuid} is not run by shoal: `shoal service install` makes it a service"))
    })?;
    if !system::has_manager() {
        return Err(Failure::usage("no process runs the array, and this machine has no systemd that could start it"));
    }
    let line = ["systemctl", "start", &array_unit(&owner)].map(str::to_owned).to_vec();
    system::run(&[line])?;
    reach_running(array)?.ok_or_else(|| Failure::Failed(format!("{} does not run the array", array_unit(&owner))))
}

/// Whether an array, or one inside it, has a drive.
fn has(array: &ArrayDocument, path: &Path) -> bool {
    let Ok(key) = DriveKey::of_path(path) else { return false };
    let is_it = |drive: &str| DriveKey::of_path(Path::new(drive)).is_ok_and(|other| other == key);
    array.members.iter().any(|member| {
        member.drive.as_deref().is_some_and(is_it)
            || member.replacement.as_ref().is_some_and(|it| is_it(&it.drive))
            || member.array.as_deref().is_some_and(|inner| has(inner, path))
    }) || array.spares.iter().any(|spare| is_it(spare))
}

fn advice(failure: Failure, uuid: &shoal_md::Uuid) -> Failure {
    match failure {
        Failure::Refused(why) => {
            Failure::Refused(format!("{why}; to fill it anew: shoal add --force --drive DRIVE --uuid {uuid}"))
        }
        other => other,
    }
}
