//! `shoal run`, `shoal stop` and `shoal speed`: an array in a process of its own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use shoal_attach::records::{Attachment, Standing};
use shoal_attaching::Occupied;
use shoal_documents::protocol::Command;
use shoal_documents::{ArrayDocument, HealthDocument};
use shoal_drive::{Access, OpenError};
use shoal_inventory::{DrivesError, is_simulated, open_drives};
use shoal_running::{
    Handle, Opening, Server, Users, WriteBack, check_alerts, check_named_socket, make_runtime_directory, or_alert,
    stop_in_kernel, try_socket, wait_for_members, when_free,
};
use shoal_text::Outside;

use crate::args::{ArrayArgs, Cli, EngineArg, RunArgs, SpeedArgs, SpeedLimits, StopArgs, WriteBackArgs};
use crate::attaching::attachment_of;
use crate::commands::status::state_text;
use crate::exit::Failure;
use crate::output;
use crate::setup::{check_first, claim, environment, member_paths, reach_running};
use crate::signals::stop_on_signals;

/// Runs an array until it is stopped.
pub(crate) fn run(cli: &Cli, args: &RunArgs) -> Result<(), Failure> {
    if args.array.drives.is_empty() && args.array.uuid.is_none() {
        return Err(Failure::usage(
            "an array is run by naming its members, or any one of them and --scan DIR, or its --uuid",
        ));
    }
    let engine = args.engine.engine.into();
    let write_back = write_back(args.write_back, args.engine.engine)?;
    let opening = Opening { force: args.force, engine, write_back, ..Opening::WRITABLE };
    let array = from_anywhere(&args.array)?;
    let alerts = args.unattended.alerts.as_deref();
    let (name, server) = or_alert(environment(), alerts, &array.named(), || -> Result<_, Failure> {
        refuse_waited_for(&array, |_| Ok(false))?;
        check_place(args.array.socket.is_some())?;
        let wait = args.unattended.wait.map(Duration::from_secs);
        wait_for_members(environment(), wait, &array.named());
        refuse_other_place(&array)?;
        let claim = || {
            let checked = check(cli, args, &array, opening);
            let claimed = checked.and_then(|()| claim(cli, &array, &args.simulated, opening, Users::Administrators));
            claimed.map_err(|failure| failure.document())
        };
        let mut host = when_free(environment(), wait, claim)?;
        let array = host.execute(speed(&args.speed))?.array;
        tell_holes(&array);
        Ok((array.name, Server::start(host, args.array.socket.as_deref(), None, alerts, stop_on_signals)?))
    })?;
    output::warn(&format!("array {name} runs, administered at {}; Ctrl-C stops it", server.socket().display()));
    output::document(cli, &server.run()?, state_text)
}

/// Tells that an array which has lost too much is run all the same.
pub(super) fn tell_holes(array: &ArrayDocument) {
    if array.health == HealthDocument::Failed {
        output::warn(&format!(
            "array {} has lost more members than its level survives: it can only be read, and what only those had gives errors",
            Outside(&array.name)
        ));
    }
}

/// Refuses what an array could not be kept running with, before it is started.
fn check(cli: &Cli, args: &RunArgs, array: &ArrayArgs, opening: Opening) -> Result<(), Failure> {
    // A socket is where it will be administered, and no array is reached by it yet.
    let unreached = ArrayArgs { socket: None, ..array.clone() };
    let checked = check_first(cli, &unreached, opening, None, |handle| {
        handle.execute(speed(&args.speed))?;
        check_keeping(array.socket.as_deref(), args.unattended.alerts.as_deref())
    });
    checked.map(drop)
}

/// Refuses a socket that cannot be, and a file that does not say who is told of an array's health.
pub(super) fn check_keeping(socket: Option<&Path>, alerts: Option<&Path>) -> Result<(), Failure> {
    socket.map_or(Ok(()), try_socket)?;
    Ok(alerts.map_or(Ok(()), check_alerts)?)
}

/// What sets the rates of background work.
pub(super) fn speed(rates: &SpeedLimits) -> Command {
    Command::Speed { min_bytes_per_s: rates.min, max_bytes_per_s: rates.max }
}

/// Refuses an array whose attachment waits for a server, unless `is_served` says that it will be
/// served as the attachment needs it: what uses the attachment would go on to wait, and nobody else
/// could serve it.
pub(super) fn refuse_waited_for(
    array: &ArrayArgs,
    is_served: impl FnOnce(&Attachment) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    // A socket is where it will be administered, and no array is reached by it yet.
    let array = ArrayArgs { socket: None, ..array.clone() };
    let Some(attachment) = attachment_of(&array)? else { return Ok(()) };
    if attachment.standing() != Standing::ServerGone || is_served(&attachment)? {
        return Ok(());
    }
    Err(Failure::Refused(format!(
        "array {} is attached as {}, which waits for whoever serves all of it{} at {}: `{}` does; or `shoal detach` it first",
        attachment.name,
        attachment.device.display(),
        if attachment.read_only { "" } else { ", for writing," },
        attachment.socket.display(),
        attachment.attach_command()
    )))
}

/// The window of an array that this engine runs.
pub(super) fn write_back(args: WriteBackArgs, engine: EngineArg) -> Result<WriteBack, Failure> {
    if engine == EngineArg::Kernel && args.size.is_some_and(|size| size > 0) {
        return Err(Failure::usage("--write-back is for shoal's own engine: leave out one of it and --engine kernel"));
    }
    Ok(args.size.into())
}

/// Refuses an array that could not be administered, before anything is written to it: a start
/// without one of its members leaves that one behind for good.
pub(super) fn check_place(is_named: bool) -> Result<(), Failure> {
    if !is_named {
        make_runtime_directory(environment())?;
    }
    Ok(())
}

/// Refuses an array that is to be administered at another one's usual place.
pub(super) fn refuse_other_place(array: &ArrayArgs) -> Result<(), Failure> {
    array.socket.as_deref().map_or(Ok(()), |socket| refuse_place(array, socket))
}

/// Refuses an array that is to be reached at another one's usual place.
pub(super) fn refuse_place(array: &ArrayArgs, socket: &Path) -> Result<(), Failure> {
    Ok(check_named_socket(environment(), socket, &array.named())?)
}

/// The array with its drives' names as they are understood from anywhere.
pub(super) fn from_anywhere(args: &ArrayArgs) -> Result<ArrayArgs, Failure> {
    let absolute = |path: &PathBuf| match is_simulated(path) {
        true => Ok(path.clone()),
        false => std::path::absolute(path).map_err(|error| failed_path(path, &error)),
    };
    let drives = args.drives.iter().map(absolute).collect::<Result<_, _>>()?;
    let scan = args.scan.as_ref().map(absolute).transpose()?;
    Ok(ArrayArgs { drives, scan, ..args.clone() })
}

fn failed_path(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Usage(format!("{}: {error}", path.display()))
}

/// Has the process that runs an array bring it to rest and end; refused while it is used on this
/// machine.
pub(crate) fn stop(cli: &Cli, args: &StopArgs) -> Result<(), Failure> {
    // One that waits for a server loses nothing by the end of a process that does not serve it.
    if let Some(attachment) = attachment_of(&args.array)?.filter(|it| it.standing() != Standing::ServerGone)
        && let Some(Occupied { what, mend }) = Occupied::of(&attachment)?
    {
        let name = &attachment.name;
        if !args.force {
            return Err(Failure::Refused(format!("array {name} is {what}: {mend}")));
        }
        let again = attachment.attach_command();
        output::warn(&format!(
            "array {name} is {what}: what uses it waits from now on, and fails after its deadline, and what was written there and not flushed is lost \
             then, unless `{again}` runs it again before"
        ));
    }
    let state = match reach_running(&args.array)? {
        Some(mut array) => array.execute(Command::Stop)?,
        None => {
            let state = stop_in_kernel(&cli.setup()?, &from_anywhere(&args.array)?.address())?;
            state.map_or_else(|| Err(nobody_to_stop(&args.array)), Ok)?
        }
    };
    output::document(cli, &state, |state| {
        format!("array {} is stopped, and at rest\n{}", Outside(&state.array.name), state_text(state))
    })
}

/// Nobody was reached. Whoever has the drives all the same runs the array, and has lost its socket.
/// A drive that is not there says nothing about the array.
fn nobody_to_stop(array: &ArrayArgs) -> Failure {
    match member_paths(array).map(|paths| open_drives(&paths, Access::Write)) {
        Err(unknown) if array.socket.is_none() => unknown,
        Ok(Err(DrivesError::Open(busy @ OpenError::Busy { .. }))) => {
            Failure::Busy(format!("{busy}; no process runs the array where it could be reached"))
        }
        Ok(Err(error)) if array.socket.is_none() => error.into(),
        _ => Failure::usage("no process runs the array: there is nothing to stop"),
    }
}

/// Changes the rates of background work in a running array.
pub(crate) fn set_speed(cli: &Cli, args: &SpeedArgs) -> Result<(), Failure> {
    let array = reach_running(&args.array)?;
    let mut array = array.ok_or_else(|| Failure::usage("no process runs the array: start it with `shoal run`"))?;
    output::document(cli, &array.execute(speed(&args.speed))?, state_text)
}
