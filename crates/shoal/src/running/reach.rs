//! Finds out who runs an array, and gives a handle on it.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use shoal_drive::Access;
use shoal_memory::Store;
use shoal_volume::{ArrayVolume, Contents, Incomplete, OpenOptions, SILENCE};

use super::client::Client;
use super::handle::Handle;
use super::host::Host;
use super::kernel::{host_by_kernel, refuse_held};
use super::outage::Terms;
use super::place;
use super::protocol::Command;
use super::world::HostWorld;
use crate::args::{ArrayArgs, Cli, EngineChoice, SimulatedArrayArgs};
use crate::commands::create::{create_failure, passing_array};
use crate::documents::StateDocument;
use crate::drives::{given_twice, join_with_room, member_paths, open_drives, open_failure, open_options};
use crate::exit::Failure;
use crate::look::{Look, Seen, look};
use crate::memory::{Purpose, host_memory};
use crate::newcomer::refuse_active;
use crate::present::members_to_open;
use crate::scan::named_drives;
use crate::simulated::{SimulatedDrives, refuse_options};
use crate::state_directory::state_directory;

/// How an array is opened, if nobody runs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    /// To write to it.
    pub(crate) writable: bool,
    /// Even if it is degraded and was not shut down cleanly; and to read what is left of one that has lost too much.
    pub(crate) force: bool,
    /// What is done with one that has lost too much, unless that is forced.
    pub(crate) incomplete: Incomplete,
    /// Who is to run it.
    pub(crate) engine: EngineChoice,
    /// How long a member may be silent before it is taken out, by shoal's own engine.
    pub(crate) silence: Duration,
    /// How long requests wait for drives that have gone away together, if it is kept running by shoal's own engine.
    pub(crate) deadline: Duration,
}

impl Opening {
    /// To write to it, if that is safe.
    pub(crate) const WRITABLE: Self = Self {
        writable: true,
        force: false,
        incomplete: Incomplete::Refused,
        engine: EngineChoice::Shoal,
        silence: SILENCE,
        deadline: shoal_serve::DEADLINE,
    };

    /// The same for whoever opens it.
    pub(super) fn options(&self, cli: &Cli) -> Result<OpenOptions, Failure> {
        let incomplete = if self.force { Incomplete::Read } else { self.incomplete };
        let silence = Some(self.silence);
        Ok(OpenOptions { incomplete, silence, ..open_options(cli, self.writable, self.force)? })
    }
}

/// How long whoever opens an array here keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stay {
    ForOneCommand,
    /// Until it is stopped, whatever befalls its drives.
    Running,
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
        None => {
            let requests = (TRANSFER_DEPTH, TRANSFER_BYTES);
            Ok(Box::new(claim_with(cli, args, opening, newcomer, purpose(opening), requests, Stay::ForOneCommand)?))
        }
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
    let drives = named_drives(args)?;
    let looks = look(&drives);
    for (looked, path) in looks.iter().zip(&drives) {
        let Some(socket) = socket_of(looked) else { continue };
        let Some(client) = Client::connect(&socket)? else { continue };
        check_same_array(&drives, looks, path, &socket)?;
        return Ok(Some(Box::new(client)));
    }
    reach_by_last_places(&drives)
}

/// The running array whose members were last seen at these paths, if nothing is there: one that is paused, as its drives
/// have gone.
fn reach_by_last_places(drives: &[PathBuf]) -> Result<Option<Box<dyn Handle>>, Failure> {
    let is_there = |drive: &PathBuf| drive.symlink_metadata().is_ok();
    let Some(store) = state_directory().map(Store::new).filter(|_| !drives.iter().any(is_there)) else {
        return Ok(None);
    };
    for array in place::arrays() {
        let Ok(Some(book)) = store.read(array) else { continue };
        let was_there = |drive: &PathBuf| {
            let drive = std::path::absolute(drive).unwrap_or_else(|_| drive.clone());
            book.members().iter().any(|member| Path::new(&member.drive) == drive)
        };
        let socket = std::fs::canonicalize(place::socket_of(&array.to_string()));
        let Some(socket) = socket.ok().filter(|_| !drives.is_empty() && drives.iter().all(was_there)) else { continue };
        if let Some(client) = Client::connect(&socket)? {
            return Ok(Some(Box::new(client)));
        }
    }
    Ok(None)
}

/// Where the array is administered that a drive belongs to, if that can be read and leads anywhere.
fn socket_of(looked: &Look) -> Option<PathBuf> {
    let Look::Member(seen) = looked else { return None };
    std::fs::canonicalize(place::socket_of(&seen.superblock.array_uuid.to_string())).ok()
}

/// Refuses drives of which one belongs to the running array and another does not. Who does not
/// answer is not asked.
fn check_same_array(drives: &[PathBuf], looks: Vec<Look>, member: &Path, socket: &Path) -> Result<(), Failure> {
    let mut known: Vec<Seen> = Vec::new();
    for (looked, other) in looks.into_iter().zip(drives) {
        let is_same = socket_of(&looked).as_deref() == Some(socket);
        match looked {
            Look::No(failure) => return Err(failure),
            Look::Member(_) if !is_same => {
                let (member, other) = (member.display(), other.display());
                return Err(Failure::Usage(format!(
                    "{member} is a member of an array that runs and {other} is not: give the members of one"
                )));
            }
            Look::Member(seen) => {
                if let Some(same) = known.iter().find(|it| it.key == seen.key) {
                    return Err(given_twice(&same.path, other));
                }
                known.push(*seen);
            }
            Look::Silent => {}
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
            let claimed = match opening.engine {
                EngineChoice::Shoal => {
                    // Whoever reads what is served gets more than a look.
                    let purpose = Purpose::Start { force: opening.force };
                    claim_with(cli, args, opening, None, purpose, requests, Stay::Running)
                }
                EngineChoice::Kernel => host_by_kernel(cli, args, opening, requests),
            };
            claimed.map_err(|failure| name_runner(args, failure))
        }
    }
}

/// Says which process of shoal's runs the array, where its members are busy on account of that.
fn name_runner(args: &ArrayArgs, failure: Failure) -> Failure {
    let (Failure::Busy(_), Ok(Some(mut running))) = (&failure, reach_running(args)) else { return failure };
    let Ok(StateDocument { array, running: Some(process), .. }) = running.execute(Command::Status) else {
        return failure;
    };
    let (name, uuid, id) = (&array.name, &array.uuid, process.process_id);
    let command = command_of(id).map_or(String::new(), |command| format!(" (`{command}`)"));
    Failure::Busy(format!(
        "array {name} is busy: process {id}{command} runs it already, and all commands reach it there; to run it anew, `shoal stop --uuid {uuid}` \
         first"
    ))
}

/// What a process was started with, as far as a line has room for it.
fn command_of(process_id: u32) -> Option<String> {
    const LETTERS_MAX: usize = 120;
    let bytes = std::fs::read(format!("/proc/{process_id}/cmdline")).ok()?;
    let words: Vec<_> = bytes.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    let program = Path::new(words.first()?.as_ref()).file_name()?.to_string_lossy().into_owned();
    let line = [&[program.into()], &words[1..]].concat().join(" ");
    let shown: String = line.trim_end().chars().take(LETTERS_MAX).collect();
    Some(if shown.len() < line.trim_end().len() { shown + " ..." } else { shown })
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
    let options = OpenOptions { silence: Some(opening.silence), ..open_options(cli, true, false)? };
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
    purpose: Purpose,
    requests: (u32, u32),
    stay: Stay,
) -> Result<Host, Failure> {
    if let Some(newcomer) = newcomer {
        // Before the array is opened without it, and would write down that it is gone.
        refuse_active(args, &member_paths(args)?, newcomer)?;
    }
    let paths = members_to_open(args, opening, newcomer)?;
    refuse_held(&paths)?;
    let access = if opening.writable { Access::Write } else { Access::Read };
    let mut drives = open_drives(&paths, access)?;
    for drive in &mut drives {
        // What is read from some members while others change can be wrong.
        drive.keep_writers_out().map_err(open_failure)?;
    }
    let opened = join_with_room(cli, drives, requests, MORE_DRIVES)?;
    let options = opening.options(cli)?;
    let terms = Terms { options, deadline: opening.deadline, scan: args.scan.clone() };
    let terms = matches!(stay, Stay::Running).then_some(terms);
    Host::open(opened, &options, host_memory(args, purpose), terms)
}

/// What a command that ends opens an array for.
pub(crate) fn purpose(opening: Opening) -> Purpose {
    if opening.writable { Purpose::Start { force: opening.force } } else { Purpose::Look }
}
