//! Finds out who runs an array, and gives a handle on it.

use std::ops::Range;
use std::path::Path;

use shoal_drive::{Access, Drive};
use shoal_volume::{ArrayVolume, Contents};

use super::client::Client;
use super::handle::Handle;
use super::host::Host;
use super::kernel::{host_by_kernel, refuse_held};
use super::place;
use super::world::HostWorld;
use crate::args::{ArrayArgs, Cli, EngineChoice, SimulatedArrayArgs};
use crate::commands::create::{create_failure, passing_array};
use crate::drives::{join_with_room, member_paths, open_drives, open_failure, open_options, probe};
use crate::exit::Failure;
use crate::simulated::{SimulatedDrives, refuse_options};

/// How an array is opened, if nobody runs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    /// To write to it.
    pub(crate) writable: bool,
    /// Even if it is degraded and was not shut down cleanly.
    pub(crate) force: bool,
    /// Who is to run it.
    pub(crate) engine: EngineChoice,
}

impl Opening {
    /// To write to it, if that is safe.
    pub(crate) const WRITABLE: Self = Self { writable: true, force: false, engine: EngineChoice::Shoal };
}

/// Why the kernel does not run simulated drives.
pub(crate) const NO_KERNEL_FOR_SIMULATED: &str =
    "--engine kernel is for real drives: simulated ones are there for shoal's own engine alone";

/// Drives that may come to an array while it is open.
const MORE_DRIVES: u32 = 64;
/// Requests in flight of the commands that move content.
const TRANSFER_DEPTH: u32 = 8;
/// Size of each.
const TRANSFER_BYTES: u32 = super::protocol::TRANSFER_BYTES_MAX;

/// The request buffers that clients of an array's content have when it is served; those before them are the
/// administrators'.
pub(crate) const SERVED_BUFFERS: Range<u32> = TRANSFER_DEPTH..TRANSFER_DEPTH + 130;
/// Size of each, then: what most clients ask for at a time.
const SERVED_BUFFER_BYTES: u32 = 256 << 10;

/// The array that is named: from the process that runs it, or opened here. `newcomer` is a drive that is to come to
/// it, which may lie beside its members.
pub(crate) fn reach(
    cli: &Cli,
    args: &ArrayArgs,
    opening: Opening,
    newcomer: Option<&Path>,
) -> Result<Box<dyn Handle>, Failure> {
    match reach_running(args)? {
        Some(client) => Ok(client),
        None => Ok(Box::new(claim_with(cli, args, opening, newcomer, (TRANSFER_DEPTH, TRANSFER_BYTES))?)),
    }
}

/// The array that is named, if a process runs it.
pub(crate) fn reach_running(args: &ArrayArgs) -> Result<Option<Box<dyn Handle>>, Failure> {
    if let Some(socket) = &args.socket {
        let client = Client::connect(socket)?;
        let client = client.ok_or_else(|| Failure::Usage(format!("{}: no array runs there", socket.display())))?;
        return Ok(Some(Box::new(client)));
    }
    if place::own_directory().is_none() {
        return Ok(None);
    }
    if let Some(uuid) = args.uuid {
        let client = match std::fs::canonicalize(place::socket_of(&uuid.to_string())) {
            Ok(socket) => Client::connect(&socket)?,
            Err(_) => None, // nobody runs it
        };
        return Ok(client.map(|client| Box::new(client) as Box<dyn Handle>));
    }
    let sockets = args.drives.iter().map(|path| socket_of(path)).collect::<Vec<_>>();
    for (socket, path) in sockets.iter().zip(&args.drives) {
        let Some(socket) = socket else { continue };
        let Some(client) = Client::connect(socket)? else { continue };
        check_same_array(args, path, socket)?;
        return Ok(Some(Box::new(client)));
    }
    Ok(None)
}

/// Where the array is administered that a drive belongs to, if that can be read and leads anywhere.
fn socket_of(path: &Path) -> Option<std::path::PathBuf> {
    let superblock = probe(&Drive::open(path, Access::Read).ok()?).ok()?;
    std::fs::canonicalize(place::socket_of(&superblock.array_uuid.to_string())).ok()
}

/// Refuses drives of which one belongs to the running array and another does not.
fn check_same_array(args: &ArrayArgs, member: &Path, socket: &Path) -> Result<(), Failure> {
    for drive in open_drives(&args.drives, Access::Read)? {
        if socket_of(drive.path()).as_deref() != Some(socket) {
            let (member, other) = (member.display(), drive.path().display());
            return Err(Failure::Usage(format!(
                "{member} is a member of an array that runs and {other} is not: give the members of one"
            )));
        }
    }
    Ok(())
}

/// Opens the array that is named, here, to keep it running; or makes one of simulated drives.
pub(crate) fn claim_to_run(
    cli: &Cli,
    args: &ArrayArgs,
    simulated: &SimulatedArrayArgs,
    opening: Opening,
) -> Result<Host, Failure> {
    claim_or_simulate(cli, args, simulated, opening, (TRANSFER_DEPTH, TRANSFER_BYTES))
}

/// The same with buffers for clients of its content, beside those for administrators.
pub(crate) fn claim_to_serve(
    cli: &Cli,
    args: &ArrayArgs,
    simulated: &SimulatedArrayArgs,
    opening: Opening,
) -> Result<Host, Failure> {
    claim_or_simulate(cli, args, simulated, opening, (SERVED_BUFFERS.end, SERVED_BUFFER_BYTES))
}

fn claim_or_simulate(
    cli: &Cli,
    args: &ArrayArgs,
    simulated: &SimulatedArrayArgs,
    opening: Opening,
    requests: (u32, u32),
) -> Result<Host, Failure> {
    match SimulatedDrives::named(&args.drives)? {
        Some(_) if opening.engine == EngineChoice::Kernel => Err(Failure::usage(NO_KERNEL_FOR_SIMULATED)),
        Some(drives) => simulate(cli, &drives, simulated, opening, requests),
        None => {
            let otherwise = "real ones are made into an array with `shoal create`";
            refuse_options(&[("--level", simulated.level.is_some())], otherwise)?;
            match opening.engine {
                EngineChoice::Shoal => claim_with(cli, args, opening, None, requests),
                EngineChoice::Kernel => host_by_kernel(cli, args, opening, requests),
            }
        }
    }
}

/// Makes an array of simulated drives, which keep the machine's pace and what is written to them.
fn simulate(
    cli: &Cli,
    drives: &SimulatedDrives,
    args: &SimulatedArrayArgs,
    opening: Opening,
    requests: (u32, u32),
) -> Result<Host, Failure> {
    let level = args.level.as_deref();
    let level = level.ok_or_else(|| Failure::usage("simulated drives hold no array yet: say which with --level"))?;
    if !opening.writable {
        return Err(Failure::usage("an array of simulated drives holds nothing to read until it is written to"));
    }
    drives.check_memory()?;
    let opened = drives.open_all(Contents::Kept, requests, crate::seed::fresh())?;
    let world = HostWorld::Simulated(Box::new(opened.world.paced()));
    let options = open_options(cli, true, false)?;
    let create = passing_array(level, args.layout.as_deref(), args.chunk)?;
    let array = ArrayVolume::create(world, opened.plan, &opened.drives, &create, &options).map_err(create_failure)?;
    Ok(Host::of_simulated(array, options.background, drives.notation()))
}

/// Opens the array that is named, here.
fn claim_with(
    cli: &Cli,
    args: &ArrayArgs,
    opening: Opening,
    newcomer: Option<&Path>,
    requests: (u32, u32),
) -> Result<Host, Failure> {
    let mut paths = member_paths(args)?;
    if let Some(newcomer) = newcomer.filter(|_| args.scan.is_some()) {
        paths.retain(|path| !crate::drives::same_file(path, newcomer));
    }
    refuse_held(&paths)?;
    let access = if opening.writable { Access::Write } else { Access::Read };
    let mut drives = open_drives(&paths, access)?;
    for drive in &mut drives {
        // What is read from some members while others change can be wrong.
        drive.keep_writers_out().map_err(open_failure)?;
    }
    let opened = join_with_room(cli, drives, requests, MORE_DRIVES)?;
    Host::open(opened, &open_options(cli, opening.writable, opening.force)?)
}
