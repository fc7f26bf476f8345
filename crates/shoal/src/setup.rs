//! What libraries are given of the command line and of the environment; and arrays, as arguments
//! name them.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use shoal_drive::{Drive, IoEngine};
use shoal_inventory::{Environment, Intent, Named, Opened, SimulatedDrives, ToOpen, is_simulated, join_for, same_file};
use shoal_running::{ArrayAddress, EngineChoice, Handle, Host, Members, Opening, Setup, Users};
use shoal_volume::{OpenOptions, Parity};

use crate::args::{ArrayArgs, Cli, EngineArg, IoEngineChoice, SimulatedArrayArgs};
use crate::exit::Failure;
use crate::host::memory_available_bytes;
use crate::output;
use crate::simulated::refuse_options;
use crate::temporary_array::temporary_array;

/// Why the kernel does not run simulated drives.
pub(crate) const NO_KERNEL_FOR_SIMULATED: &str =
    "--engine kernel is for real drives: simulated ones are there for shoal's own engine alone";

/// Where things are kept; what there is to tell goes to standard error.
pub(crate) fn environment() -> &'static Environment {
    static ENVIRONMENT: OnceLock<Environment> = OnceLock::new();
    ENVIRONMENT.get_or_init(|| Environment::from_variables(|name| std::env::var_os(name), output::warn))
}

impl Cli {
    /// What arrays are opened with.
    pub(crate) fn setup(&self) -> Result<Setup, Failure> {
        Ok(Setup { environment: environment().clone(), io_engine: self.io_engine(), parity: self.parity()? })
    }

    /// The I/O engine that is asked for; none if it is to be found out.
    pub(crate) fn io_engine(&self) -> Option<IoEngine> {
        match self.io_engine {
            IoEngineChoice::Auto => None,
            IoEngineChoice::Uring => Some(IoEngine::Uring),
            IoEngineChoice::Threads => Some(IoEngine::Threads),
        }
    }

    /// The parity kernel that is asked for.
    pub(crate) fn parity(&self) -> Result<Parity, Failure> {
        if self.parity_kernel == "auto" {
            return Ok(Parity::best());
        }
        let kernel = self.parity_kernel.parse().map_err(Failure::usage)?;
        Parity::with_kernel(kernel).map_err(Failure::usage)
    }
}

/// Options for running an array, with the kernel that is asked for.
pub(crate) fn open_options(cli: &Cli, writable: bool, force: bool) -> Result<OpenOptions, Failure> {
    Ok(cli.setup()?.open_options(writable, force))
}

/// Puts drives into a world with room for `request_count` requests of up to `request_bytes`.
pub(crate) fn join(cli: &Cli, drives: Vec<Drive>, request_count: u32, request_bytes: u32) -> Result<Opened, Failure> {
    Ok(join_for(cli.io_engine(), drives, (request_count, request_bytes))?)
}

impl From<EngineArg> for EngineChoice {
    fn from(argument: EngineArg) -> Self {
        match argument {
            EngineArg::Shoal => Self::Shoal,
            EngineArg::Kernel => Self::Kernel,
        }
    }
}

impl ArrayArgs {
    /// By its members or its UUID.
    pub(crate) fn named(&self) -> Named {
        Named { drives: self.drives.clone(), scan: self.scan.clone(), uuid: self.uuid }
    }

    /// The same, with where it is administered.
    pub(crate) fn address(&self) -> ArrayAddress {
        ArrayAddress { named: self.named(), socket: self.socket.clone() }
    }

    /// As it is to be opened, without members if that was said.
    fn opening(&self, opening: Opening) -> Opening {
        Opening { degraded: self.degraded, ..opening }
    }
}

/// The members given, and those that are found.
pub(crate) fn member_paths(array: &ArrayArgs) -> Result<Vec<PathBuf>, Failure> {
    Ok(shoal_inventory::member_paths(environment(), &array.named())?)
}

/// The array with a member that a command names beside the others, unless it is given already,
/// under this name or another.
pub(crate) fn with_drive(args: &ArrayArgs, drive: &Path) -> ArrayArgs {
    let mut array = args.clone();
    let is_given = array.drives.iter().any(|path| same_file(path, drive));
    if !is_given && !array.scan.as_ref().is_some_and(|directory| lies_in(drive, directory)) {
        array.drives.push(drive.to_owned());
    }
    array
}

/// Whether a search of a directory finds a drive.
fn lies_in(drive: &Path, directory: &Path) -> bool {
    let drive = std::path::absolute(drive).ok();
    let parent = drive.as_deref().and_then(Path::parent).and_then(|parent| parent.canonicalize().ok());
    parent.is_some_and(|parent| directory.canonicalize().is_ok_and(|directory| directory == parent))
}

/// The members that are to be opened.
pub(crate) fn members_to_open(array: &ArrayArgs, opening: Opening) -> Result<ToOpen, Failure> {
    let intent: Intent = array.opening(opening).intent();
    Ok(shoal_inventory::members_to_open(environment(), &array.named(), intent, None)?)
}

/// The array's members, opened and kept from others.
pub(crate) fn open_members(array: &ArrayArgs, opening: Opening) -> Result<Members, Failure> {
    Ok(shoal_running::open_members(environment(), &array.named(), array.opening(opening), None)?)
}

/// The array that is named: from the process that runs it, or opened here. `newcomer` is a drive
/// that is to come to it, which may lie beside its members.
pub(crate) fn reach(
    cli: &Cli,
    array: &ArrayArgs,
    opening: Opening,
    newcomer: Option<&Path>,
) -> Result<Box<dyn Handle>, Failure> {
    Ok(shoal_running::reach(&cli.setup()?, &array.address(), array.opening(opening), newcomer)?)
}

/// Has `check` look at the array that is named before it is started: a start without members leaves
/// them behind, whatever becomes of the command. One that a process runs, that does not open, or
/// that is simulated, is not looked at.
pub(crate) fn check_first<T>(
    cli: &Cli,
    array: &ArrayArgs,
    opening: Opening,
    newcomer: Option<&Path>,
    check: impl FnOnce(&mut dyn Handle) -> Result<T, Failure>,
) -> Result<Option<T>, Failure> {
    let is_simulated = array.drives.iter().any(|drive| is_simulated(drive));
    if !opening.writable || is_simulated || reach_running(array)?.is_some() {
        return Ok(None);
    }
    // Why it does not open is told when it is opened in earnest.
    let inspected = shoal_running::inspect(&cli.setup()?, &array.address(), array.opening(opening), newcomer);
    inspected.ok().map(|mut array| check(&mut array)).transpose()
}

/// The array that is named, if a process runs it.
pub(crate) fn reach_running(array: &ArrayArgs) -> Result<Option<Box<dyn Handle>>, Failure> {
    Ok(shoal_running::reach_running(environment(), &array.address())?)
}

/// Opens the array that is named, here, to keep it running for `users`; or makes one of simulated
/// drives.
pub(crate) fn claim(
    cli: &Cli,
    array: &ArrayArgs,
    simulated: &SimulatedArrayArgs,
    opening: Opening,
    users: Users,
) -> Result<Host, Failure> {
    match SimulatedDrives::named(&array.drives)? {
        Some(_) if opening.engine == EngineChoice::Kernel => Err(Failure::usage(NO_KERNEL_FOR_SIMULATED)),
        Some(drives) => simulate(cli, &drives, simulated, opening, users),
        None => {
            let otherwise = "real ones are made into an array with `shoal create`";
            refuse_options(&[("--level", simulated.level.is_some())], otherwise)?;
            Ok(shoal_running::claim(&cli.setup()?, &array.address(), array.opening(opening), users)?)
        }
    }
}

/// Makes an array of simulated drives.
fn simulate(
    cli: &Cli,
    drives: &SimulatedDrives,
    args: &SimulatedArrayArgs,
    opening: Opening,
    users: Users,
) -> Result<Host, Failure> {
    let level = args.level.as_deref();
    let level = level.ok_or_else(|| Failure::usage("simulated drives hold no array yet: say which with --level"))?;
    if !opening.writable {
        return Err(Failure::usage("an array of simulated drives holds nothing to read until it is written to"));
    }
    drives.check_memory(memory_available_bytes().unwrap_or(u64::MAX))?;
    let create = temporary_array(level, args.layout.as_deref(), args.chunk)?;
    Ok(shoal_running::simulate(&cli.setup()?, drives, &create, opening, users, crate::seed::fresh())?)
}
