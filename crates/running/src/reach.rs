//! Finds out who runs an array, and gives a handle on it.

use std::path::{Path, PathBuf};

use shoal_documents::protocol::Command;
use shoal_documents::{ArrayDocument, Fault, HasFault, StateDocument};
use shoal_inventory::{
    DrivesError, Environment, Look, Named, Purpose, SearchError, Seen, SimulatedDrives, arrays, host_memory, is_there,
    join, look, members_to_open, named_drives,
};
use shoal_md::Uuid;
use shoal_volume::{ArrayVolume, BufferPlan, Contents, CreateOptions, OpenOptions};

use crate::client::Client;
use crate::handle::{ExecuteError, Handle};
use crate::host::Host;
use crate::identity::Identity;
use crate::kernel::host_by_kernel;
use crate::limits::MORE_DRIVES_MAX;
use crate::members::{Members, open_members, unused};
use crate::opening::{ArrayAddress, ClaimError, EngineChoice, Opening, Requests, SERVED, Setup, TRANSFERS};
use crate::outage::Terms;
use crate::place;
use crate::reach_error::ReachError;
use crate::wire::ConnectError;
use crate::world::HostWorld;

/// How long whoever opens an array here keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stay {
    ForOneCommand,
    /// Until it is stopped, whatever befalls its drives.
    Running,
}

/// Who is to have request buffers of an array that is kept running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Users {
    /// Whoever administers it.
    Administrators,
    /// Clients of its content, beside those.
    Clients,
}

impl Users {
    fn requests(self) -> Requests {
        match self {
            Self::Administrators => TRANSFERS,
            Self::Clients => SERVED,
        }
    }
}

/// The array that is named: from the process that runs it, or opened here. `newcomer` is a drive
/// that is to come to it, which may lie beside its members.
pub fn reach(
    setup: &Setup,
    address: &ArrayAddress,
    opening: Opening,
    newcomer: Option<&Path>,
) -> Result<Box<dyn Handle>, ReachError> {
    match reach_running(&setup.environment, address)? {
        Some(client) => Ok(client),
        None => {
            let (purpose, stay) = (opening.purpose(), Stay::ForOneCommand);
            Ok(Box::new(claim_with(setup, address, opening, newcomer, purpose, TRANSFERS, stay)?))
        }
    }
}

/// The array that is named, opened here for reading only, and refused where it would be refused to
/// `opening`: to find out whether a command would be carried out. Nothing is written, nor told on
/// the side; no other process hears of it.
pub fn inspect(
    setup: &Setup,
    address: &ArrayAddress,
    opening: Opening,
    newcomer: Option<&Path>,
) -> Result<Host, ClaimError> {
    let setup = Setup { environment: setup.environment.muted(), ..*setup };
    members_to_open(&setup.environment, &address.named, opening.intent(), newcomer)?;
    let (purpose, opening) = (opening.purpose(), Opening { writable: false, ..opening });
    claim_with(&setup, address, opening, newcomer, purpose, TRANSFERS, Stay::ForOneCommand)
}

/// The array that is named, if a process runs it.
pub fn reach_running(environment: &Environment, address: &ArrayAddress) -> Result<Option<Box<dyn Handle>>, ReachError> {
    if let Some(socket) = &address.socket {
        let client = reach_at(socket, address.named.uuid)?;
        check_drives(environment, &address.named.drives, &client, socket)?;
        return Ok(Some(Box::new(client)));
    }
    if place::own_directory(environment).is_none() {
        return Ok(None);
    }
    if let Some(uuid) = address.named.uuid {
        let Some((client, socket)) = reach_at_usual_place(environment, uuid)? else { return Ok(None) };
        return match of_another(environment, look(environment, &address.named.drives), &client, &socket) {
            Some(seen) => Err(SearchError::OfAnother { drive: seen.path, array: uuid }.into()),
            None => Ok(Some(Box::new(client))),
        };
    }
    let drives = named_drives(environment, &address.named)?;
    let looks = look(environment, &drives);
    for (looked, path) in looks.iter().zip(&drives) {
        let Look::Member(seen) = looked else { continue };
        let reached = reach_at_usual_place(environment, seen.superblock.array_uuid)?;
        let Some((client, socket)) = reached else { continue };
        check_same_array(environment, &drives, looks, path, &socket)?;
        return Ok(Some(Box::new(client)));
    }
    match looks.iter().any(|looked| matches!(looked, Look::Member(_))) {
        true => Ok(None),
        false => reach_by_last_places(environment, &drives),
    }
}

/// Whoever listens at the place that is named; of them it is asked that they run this array, if one
/// is named too.
fn reach_at(socket: &Path, asked: Option<Uuid>) -> Result<Client, ReachError> {
    let socket = socket.to_owned();
    let Some(client) = Client::connect(&socket)? else { return Err(ReachError::Nobody { socket }) };
    match asked {
        Some(asked) if !client.array().includes(asked) => {
            let Identity { name, uuid, .. } = client.array().clone();
            Err(ReachError::OtherArray { socket, name, uuid, asked })
        }
        _ => Ok(client),
    }
}

/// Refuses whoever listens at the place that is named if drives are given too, and say that they
/// are another array's. Of those that have gone or do not answer nothing is known.
fn check_drives(
    environment: &Environment,
    drives: &[PathBuf],
    client: &Client,
    socket: &Path,
) -> Result<(), ReachError> {
    let there: Vec<_> = drives.iter().filter(|drive| is_there(drive)).cloned().collect();
    let mut looks = Vec::new();
    for looked in look(environment, &there) {
        match looked {
            Look::No(why) => return Err(why.into()),
            looked => looks.push(looked),
        }
    }
    match of_another(environment, looks, client, socket) {
        Some(seen) => {
            let Identity { name, uuid, .. } = client.array().clone();
            Err(ReachError::OtherArray { socket: socket.to_owned(), name, uuid, asked: seen.superblock.array_uuid })
        }
        None => Ok(()),
    }
}

/// The first drive that says that it is another array's than the one that runs.
fn of_another(environment: &Environment, looks: Vec<Look>, client: &Client, socket: &Path) -> Option<Seen> {
    let mut members = looks.into_iter().filter_map(Look::member);
    let is_other = |seen: &Seen| {
        let asked = seen.superblock.array_uuid;
        let place = place::socket_of(environment, &asked.to_string());
        let is_home = std::fs::canonicalize(socket).is_ok_and(|socket| leads_home(&place, &socket, client.array()));
        !client.array().includes(asked) && !is_home
    };
    members.find(is_other)
}

/// The array, and where it is reached, if a process runs it at its usual place, or at that of the
/// array that it is inside of.
fn reach_at_usual_place(environment: &Environment, asked: Uuid) -> Result<Option<(Client, PathBuf)>, ReachError> {
    let place = place::socket_of(environment, &asked.to_string());
    // If there is nothing, nobody runs it.
    let Ok(socket) = std::fs::canonicalize(&place) else { return Ok(None) };
    let Some(client) = Client::connect(&socket)? else { return Ok(None) };
    if client.array().includes(asked) || leads_home(&place, &socket, client.array()) {
        return Ok(Some((client, socket)));
    }
    let Identity { name, uuid, .. } = client.array().clone();
    Err(ReachError::Displaced { socket, name, uuid, asked })
}

/// Whether the place of an array is a link, which whoever runs this one made: an array inside it
/// that has lost too much is not in it any more.
fn leads_home(place: &Path, socket: &Path, array: &Identity) -> bool {
    place.is_symlink() && socket.file_name() == Some(place::file_name(&array.uuid).as_ref())
}

/// The running array whose members were last seen at these paths: what is there is a member of
/// nothing. The drives of an array that is paused have gone; what carries no superblock any more is
/// its member only if it says so itself.
fn reach_by_last_places(environment: &Environment, drives: &[PathBuf]) -> Result<Option<Box<dyn Handle>>, ReachError> {
    let Some(store) = environment.store() else { return Ok(None) };
    let drives: Vec<_> =
        drives.iter().map(|drive| std::path::absolute(drive).unwrap_or_else(|_| drive.clone())).collect();
    for array in place::arrays(environment) {
        let Ok(Some(book)) = store.read(array) else { continue };
        let is_at = |drive: &PathBuf, place: &str| std::path::absolute(place).is_ok_and(|place| place == *drive);
        let was_there = |drive: &PathBuf| book.members().iter().any(|member| is_at(drive, &member.drive));
        if drives.is_empty() || !drives.iter().all(was_there) {
            continue;
        }
        let Some((mut client, _)) = reach_at_usual_place(environment, array)? else { continue };
        let there: Vec<_> = drives.iter().filter(|drive| is_there(drive)).collect();
        if there.is_empty() {
            return Ok(Some(Box::new(client)));
        }
        let state = client.execute(Command::Status);
        if state.is_ok_and(|state| there.iter().all(|drive| has_member_at(&state.array, drive))) {
            return Ok(Some(Box::new(client)));
        }
    }
    Ok(None)
}

/// Whether an array works with the drive at this path.
fn has_member_at(array: &ArrayDocument, drive: &Path) -> bool {
    array.members.iter().any(|member| match &member.array {
        Some(inner) => has_member_at(inner, drive),
        None => member.drive.as_ref().is_some_and(|own| Path::new(own) == drive),
    })
}

/// Where the array is administered that a drive belongs to, if that can be read and leads anywhere.
fn socket_of(environment: &Environment, looked: &Look) -> Option<PathBuf> {
    let Look::Member(seen) = looked else { return None };
    std::fs::canonicalize(place::socket_of(environment, &seen.superblock.array_uuid.to_string())).ok()
}

/// Refuses drives of which one belongs to the running array and another does not. Who does not
/// answer is not asked.
fn check_same_array(
    environment: &Environment,
    drives: &[PathBuf],
    looks: Vec<Look>,
    member: &Path,
    socket: &Path,
) -> Result<(), ReachError> {
    let mut known: Vec<Seen> = Vec::new();
    for (looked, other) in looks.into_iter().zip(drives) {
        let is_same = socket_of(environment, &looked).as_deref() == Some(socket);
        match looked {
            Look::No(why) => return Err(why.into()),
            Look::Member(_) if !is_same => {
                return Err(ReachError::Mixed { member: member.to_owned(), other: other.clone() });
            }
            Look::Member(seen) => {
                if let Some(same) = known.iter().find(|it| it.key == seen.key) {
                    return Err(DrivesError::GivenTwice { first: same.path.clone(), second: other.clone() }.into());
                }
                known.push(*seen);
            }
            Look::Silent => {}
        }
    }
    Ok(())
}

/// Opens the array that is named, here, to keep it running.
pub fn claim(setup: &Setup, address: &ArrayAddress, opening: Opening, users: Users) -> Result<Host, ClaimError> {
    let claimed = match opening.engine {
        // Whoever reads what is served gets more than a look.
        EngineChoice::Shoal => {
            claim_with(setup, address, opening, None, Purpose::Start(opening.trust()), users.requests(), Stay::Running)
        }
        EngineChoice::Kernel => host_by_kernel(setup, address, opening, users.requests()),
    };
    claimed.map_err(|error| name_runner(&setup.environment, address, error))
}

/// Says which process of shoal's runs the array, where its members are busy on account of that.
fn name_runner(environment: &Environment, address: &ArrayAddress, error: ClaimError) -> ClaimError {
    if error.fault() != Fault::Busy {
        return error;
    }
    why_busy(reach_runner(environment, address)).unwrap_or(error)
}

/// The process of shoal's that runs an array, as the reason why its members are busy; none if none
/// does.
pub fn runner(environment: &Environment, array: Uuid) -> Option<ClaimError> {
    let named = Named { uuid: Some(array), ..Named::default() };
    why_busy(reach_running(environment, &ArrayAddress { named, socket: None }))
}

fn why_busy(reached: Result<Option<Box<dyn Handle>>, ReachError>) -> Option<ClaimError> {
    let mut running = match reached {
        Ok(running) => running?,
        Err(ReachError::Connect(ConnectError::Greeting(ExecuteError::Silent { socket, how }))) => {
            return Some(ClaimError::Silent { socket, how });
        }
        Err(_) => return None,
    };
    let Ok(StateDocument { array, running: Some(process), .. }) = running.execute(Command::Status) else {
        return None;
    };
    let process_id = process.process_id;
    Some(ClaimError::RunsAlready { name: array.name, uuid: array.uuid, process_id, command: command_of(process_id) })
}

/// Whoever runs the array: at its usual place, or where it is to be administered now, which may
/// also be somebody else's place.
fn reach_runner(environment: &Environment, address: &ArrayAddress) -> Result<Option<Box<dyn Handle>>, ReachError> {
    let usual = ArrayAddress { socket: None, ..address.clone() };
    let reached = reach_running(environment, &usual)?;
    let (None, Some(socket)) = (&reached, &address.socket) else { return Ok(reached) };
    let named = address.named.uuid.into_iter().chain(arrays(environment, &address.named.drives));
    let asked: Vec<Uuid> = named.collect();
    let client = reach_at(socket, None)?;
    let is_asked = asked.iter().any(|&uuid| client.array().includes(uuid));
    Ok(is_asked.then(|| Box::new(client) as Box<dyn Handle>))
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

/// Makes an array of simulated drives, to keep it running: they keep the machine's pace, and what
/// is written to them. All chance follows from `seed`.
pub fn simulate(
    setup: &Setup,
    drives: &SimulatedDrives,
    create: &CreateOptions,
    opening: Opening,
    users: Users,
    seed: u64,
) -> Result<Host, ClaimError> {
    let (count, bytes) = users.requests();
    let window_bytes = opening.write_back.bytes_for_simulated(drives, create.level);
    let plan = BufferPlan::for_drives(drives.count(), count, bytes).with_write_back(window_bytes);
    let opened = drives.open_planned(Contents::Kept, plan, seed)?;
    let world = HostWorld::Simulated(Box::new(opened.world.paced()));
    let options = OpenOptions { silence: Some(opening.silence), ..setup.open_options(true, false) };
    let array = ArrayVolume::create(world, opened.plan, &opened.drives, create, &options)?;
    Ok(Host::of_simulated(&setup.environment, array, options.background, drives.notation()))
}

/// Opens the array that is named, here.
fn claim_with(
    setup: &Setup,
    address: &ArrayAddress,
    opening: Opening,
    newcomer: Option<&Path>,
    purpose: Purpose,
    requests: Requests,
    stay: Stay,
) -> Result<Host, ClaimError> {
    let (environment, named) = (&setup.environment, &address.named);
    let Members { drives, remarks } = open_members(environment, named, opening, newcomer)?;
    let (count, bytes) = requests;
    let plan = BufferPlan::for_drives(drives.len(), count, bytes).with_room_for(MORE_DRIVES_MAX);
    let window_bytes = if opening.writable { opening.write_back.bytes_for(&drives) } else { 0 };
    let plan = plan.with_write_back(window_bytes);
    let opened = join(setup.io_engine, drives, plan)?;
    let options = opening.options(setup);
    let terms = Terms { options, deadline: opening.deadline, scan: named.scan.clone() };
    let terms = matches!(stay, Stay::Running).then_some(terms);
    let host = Host::open(environment, opened, &options, host_memory(environment, purpose), terms)?;
    environment.tell_all(&remarks);
    environment.tell_all(&unused(&host.array.status(), newcomer));
    Ok(host)
}
