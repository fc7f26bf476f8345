//! The lab book, as the commands write and read it: where it is, what is known of this machine, and
//! who a drive is.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use shoal_drive::{Access, Drive};
use shoal_labbook::{
    DriveFound, DriveIdentity, Ending, Heading, LabBook, LabBookError, Origin, Recorder, Rights, RunUuid,
};
use shoal_volume::{DriveId, World};

use crate::args::{BookArgs, KeepArgs};
use crate::exit::Failure;
use crate::output;
use crate::setup::environment;

/// The file, beside what this host remembers of its arrays.
const FILE: &str = "lab-book.sqlite";
/// What to call it where there is no place for it.
const WHAT: &str = "keep a lab book";

/// Begins a run of a command that measures.
pub(crate) fn begin(args: &KeepArgs, command: &str) -> Recorder<'static> {
    if args.no_book {
        return Recorder::none();
    }
    let directory = || environment().make_state_directory(WHAT).map(|directory| directory.join(FILE));
    match args.book.clone().map_or_else(directory, Ok) {
        Ok(path) => Recorder::begin(&path, &heading(command), &output::warn),
        Err(error) => {
            output::warn(&format!("this run is not kept in the lab book: {error}"));
            Recorder::none()
        }
    }
}

/// What somebody ended who asked for it before it was done: what was measured counts.
pub(crate) fn stopped() -> Failure {
    Failure::Shown("stopped before its end; what was measured until then is kept".to_owned())
}

/// Ends it, as the command ended. What could not be begun, as it was asked for, leaves nothing.
pub(crate) fn end<T>(mut recorder: Recorder<'_>, result: &Result<T, Failure>) {
    if matches!(result, Err(Failure::Usage(_) | Failure::Refused(_))) {
        return recorder.discard();
    }
    let failure = result.as_ref().err().map(ToString::to_string).filter(|failure| !failure.is_empty());
    recorder.end(&Ending { ended_unix_ns: unix_ns(), failure });
}

/// Opens the lab book that is to be read.
pub(crate) fn open(args: &BookArgs, rights: Rights) -> Result<LabBook, Failure> {
    let path = match (&args.book, rights) {
        (Some(path), _) => path.clone(),
        (None, Rights::Write) => environment().make_state_directory(WHAT)?.join(FILE),
        (None, Rights::Read) => {
            let directory = environment().state_directory();
            let missing = || Failure::usage("there is no home: say where the lab book is with --book");
            directory.ok_or_else(missing)?.join(FILE)
        }
    };
    LabBook::open(&path, rights).map_err(failure)
}

/// Whose fault it was: what was named wrongly is its user's.
pub(crate) fn failure(error: LabBookError) -> Failure {
    match error {
        LabBookError::Missing { .. }
        | LabBookError::Foreign { .. }
        | LabBookError::NoSuchRun { .. }
        | LabBookError::NoSuchDrive { .. }
        | LabBookError::SeveralDrives { .. }
        | LabBookError::NoExport { .. } => Failure::usage(error),
        LabBookError::Busy { .. } => Failure::Busy(error.to_string()),
        LabBookError::Newer { .. } | LabBookError::Damaged { .. } | LabBookError::System { .. } => {
            Failure::failed(error)
        }
    }
}

/// The drive that is named: by a path at which it is now, else by who it is, or what it was called.
pub(crate) fn find_drive(book: &LabBook, named: &str) -> Result<DriveFound, Failure> {
    let here = identity_of(Path::new(named)).and_then(|drive| book.find_drive(&drive.identity).ok());
    here.map_or_else(|| book.find_drive(named).map_err(failure), Ok)
}

/// Who is at a path, if it can be told.
pub(crate) fn identity_of(path: &Path) -> Option<DriveIdentity> {
    identity(&Drive::open(path, Access::Read).ok()?)
}

/// Who a drive is, if it can be told.
pub(crate) fn identity(drive: &Drive) -> Option<DriveIdentity> {
    let name = drive.path().display().to_string();
    drive.hardware().map(|identity| DriveIdentity { identity, name })
}

/// Who drives of a world are, as far as it can be told.
pub(crate) fn identities(world: &impl World, drives: &[DriveId]) -> Vec<DriveIdentity> {
    let identity = |&drive: &DriveId| {
        let name = world.facts(drive).name;
        world.hardware(drive).map(|identity| DriveIdentity { identity, name })
    };
    drives.iter().filter_map(identity).collect()
}

/// A simulated drive is its description and its number.
pub(crate) fn simulated(path: &str) -> DriveIdentity {
    DriveIdentity { identity: path.to_owned(), name: path.to_owned() }
}

fn heading(command: &str) -> Heading {
    let system = rustix::system::uname();
    let mut random = [0; 16];
    // The kernel has had time to gather chance; if it refuses, a name that the clock makes will do.
    if rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty()) != Ok(random.len()) {
        random[..8].copy_from_slice(&unix_ns().to_le_bytes());
        random[8..12].copy_from_slice(&std::process::id().to_le_bytes());
    }
    Heading {
        uuid: RunUuid::from_random(random),
        origin: Origin::Measured,
        command: command.to_owned(),
        command_line: std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect(),
        begun_unix_ns: unix_ns(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: format!("{} {}", system.sysname().to_string_lossy(), system.release().to_string_lossy()),
        host: system.nodename().to_string_lossy().into_owned(),
    }
}

fn unix_ns() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX)
}
