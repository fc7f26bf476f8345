//! `shoal share` and `shoal unshare`: directories and mounted arrays for others in the local
//! network.

mod clients;
mod configuration;
mod document;
pub(super) mod machine;
mod passwords;
mod request;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use shoal_inventory::arrays;
use shoal_share::ShareId;
use shoal_share::configuration::exports::Tree;
use shoal_share::machine::{Keeper, Machine, Record, ShareStatus, State, networks_of_machine, parse_id};

use document::{ClientLine, ShareDocument};

pub(crate) use document::{ConfigurationDocument, SharesDocument};
use machine::machine;

use crate::args::{ArrayArgs, Cli, ShareArgs, UnshareArgs};
use crate::attaching::attachment_of;
use crate::exit::Failure;
use crate::output;
use crate::setup::{environment, member_paths};

/// How long servers may take to start or to stop.
const PATIENCE: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_millis(50);

/// Shares something, or shows what is shared.
pub(crate) fn share(cli: &Cli, args: &ShareArgs) -> Result<(), Failure> {
    if args.status {
        return show(cli, Vec::new());
    }
    if !rustix::process::geteuid().is_root() && args.configuration_only.is_none() {
        return Err(Failure::usage("servers are started as root; --configuration-only DIR needs nobody"));
    }
    if args.serve {
        let keeper =
            Keeper::become_it(machine()?, output::warn).map_err(|error| Failure::Refused(error.to_string()))?;
        let began = Instant::now();
        return keeper.keep(|| began.elapsed()).map_err(Failure::failed);
    }
    if !(args.smb || args.nfs || args.ftp) {
        return Err(Failure::usage("say how: --smb, --nfs, --ftp, or several of them"));
    }
    let request = request::of(args)?;
    if let Some(directory) = &args.configuration_only {
        return configuration::write(cli, &request.record, directory);
    }
    request::hold_against_others(&request.record, &machine()?.records().map_err(Failure::failed)?)?;
    passwords::see_to(&request.record, args.password_file.as_deref())?;
    let notes = request.carry_out(|| set_up(&request.record))?;
    show(cli, notes)
}

/// Writes a share down and has it served; undone if it cannot be.
fn set_up(record: &Record) -> Result<(), Failure> {
    let machine = machine()?;
    let before = machine.records().map_err(Failure::failed)?.into_iter().find(|other| other.name == record.name);
    machine.keep(record).map_err(Failure::failed)?;
    let served = machine.call_keeper().map_err(Failure::failed).and_then(|()| wait_until_served(&machine, record));
    if served.is_err() {
        let undone = match before {
            Some(before) => machine.keep(&before),
            None => machine.forget(record),
        };
        undone.and_then(|()| machine.settle_keeper()).map_err(Failure::failed)?;
    }
    served
}

fn wait_until_served(machine: &Machine, record: &Record) -> Result<(), Failure> {
    for _ in 0..PATIENCE.as_millis() / PAUSE.as_millis() {
        match machine.status().into_iter().find(|status| status.revision == record.revision) {
            Some(ShareStatus { state: State::Served, .. }) => return Ok(()),
            Some(status) => return Err(Failure::Failed(format!("{}: {}", record.name, status.problems.join("; ")))),
            None => std::thread::sleep(PAUSE),
        }
    }
    Err(Failure::Failed(format!("{}: its servers have not started after {} s", record.name, PATIENCE.as_secs())))
}

/// Ends shares.
pub(crate) fn unshare(cli: &Cli, args: &UnshareArgs) -> Result<(), Failure> {
    let machine = machine()?;
    let records = machine.records().map_err(Failure::failed)?;
    let gone: Vec<Record> = if args.all { records } else { wanted(&args.what, records)? };
    if gone.is_empty() && !args.all {
        return Err(Failure::usage("that is not shared: `shoal share --status` shows what is"));
    }
    for record in &gone {
        machine.forget(record).map_err(Failure::failed)?;
    }
    machine.settle_keeper().map_err(Failure::failed)?;
    let left = |record: &Record| {
        let (user, directory) = (record.user_id, record.directory.display());
        format!("{}: files in {directory} belong to user {user} as before", record.name)
    };
    show(cli, gone.iter().map(left).collect())
}

/// The shares that somebody names: by a directory, a name, or an array, which need not be mounted
/// any more.
fn wanted(what: &ArrayArgs, records: Vec<Record>) -> Result<Vec<Record>, Failure> {
    let of_path = |path: &PathBuf| {
        let absolute = path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.clone());
        let is_it = |record: &&Record| record.directory == absolute || path.to_str() == Some(record.name.as_str());
        records.iter().filter(is_it).cloned().collect::<Vec<_>>()
    };
    let named: Vec<Record> = what.drives.iter().flat_map(of_path).collect();
    let is_directory = !what.drives.is_empty() && what.drives.iter().all(|path| path.is_dir());
    if !named.is_empty() || is_directory {
        return Ok(named);
    }
    let ids = array_ids(what)?;
    let mounts = attachment_of(what)?.map(|attachment| attachment.mounted_at()).transpose()?.unwrap_or_default();
    let is_of_array = |record: &Record| {
        parse_id(&record.id).is_some_and(|id| ids.contains(&id))
            || mounts.iter().any(|mount| record.directory.starts_with(mount))
    };
    Ok(records.into_iter().filter(is_of_array).collect())
}

/// What shares of the whole of an array are called: as the array, by what its members say.
fn array_ids(array: &ArrayArgs) -> Result<Vec<ShareId>, Failure> {
    let known = array.uuid.iter().map(ToString::to_string);
    let members = arrays(environment(), &member_paths(array)?).into_iter().map(|uuid| uuid.to_string());
    Ok(known.chain(members).filter_map(|uuid| parse_id(&uuid)).collect())
}

/// Shows all shares.
fn show(cli: &Cli, notes: Vec<String>) -> Result<(), Failure> {
    let machine = machine()?;
    let status = machine.status();
    let is_kept = machine.keeper_process().is_some();
    let interfaces = networks_of_machine().map_err(Failure::failed)?;
    let describe = |record: Record| {
        let told = status.iter().find(|told| is_kept && told.revision == record.revision);
        let (state, problems) = match told {
            Some(told) => (told.state, told.problems.clone()),
            None => (State::Stopped, vec!["no process keeps its servers: run `shoal share --serve`".to_owned()]),
        };
        ShareDocument { clients: clients::lines(&record, &interfaces, Tree::Names), share: record, state, problems }
    };
    let shares = machine.records().map_err(Failure::failed)?.into_iter().map(describe).collect();
    output::document(cli, &SharesDocument { shares, notes }, text)
}

fn text(document: &SharesDocument) -> String {
    let mut text = String::new();
    for ShareDocument { share, state, problems, clients } in &document.shares {
        let state = format!("{state:?}").to_lowercase();
        text += &format!("{}: {}, {state}\n", share.name, share.directory.display());
        text += &problems.iter().map(|problem| format!("  {problem}\n")).collect::<String>();
        text +=
            &clients.iter().map(|ClientLine { system, line }| format!("  {system:<16} {line}\n")).collect::<String>();
    }
    if document.shares.is_empty() {
        text += "nothing is shared\n";
    }
    text + &document.notes.iter().map(|note| format!("{note}\n")).collect::<String>()
}
