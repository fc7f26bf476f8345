//! `shoal share` and `shoal unshare`: directories and mounted arrays for others in the local network.

mod clients;
mod configuration;
mod passwords;
mod wish;

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use shoal_share::ShareId;
use shoal_share::configuration::exports::Tree;

use crate::args::{ArrayArgs, Cli, ShareArgs, UnshareArgs};
use crate::attaching::attachment_of;
use crate::drives::member_paths;
use crate::exit::Failure;
use crate::look::arrays;
use crate::output;
use crate::sharing::{
    Keeper, Record, ShareStatus, State, call_keeper, keeper_process, networks_of_machine, parse_id, read_status,
    records, stop_keeper,
};

/// How long servers may take to start or to stop.
const PATIENCE: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_millis(50);

/// `share` and `unshare`: the machine's shares afterwards.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SharesDocument {
    /// By name.
    pub(crate) shares: Vec<ShareDocument>,
    /// What was done beside: to the directory, or what is left to be done.
    pub(crate) notes: Vec<String>,
}

/// A share.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ShareDocument {
    /// What it is.
    #[serde(flatten)]
    pub(crate) share: Record,
    /// How it is.
    pub(crate) state: State,
    /// Why it is not served, or not by all servers.
    pub(crate) problems: Vec<String>,
    /// What to type on a client.
    pub(crate) clients: Vec<ClientLine>,
}

/// What to type on a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ClientLine {
    /// Where: "Linux", "Windows, macOS", ...
    pub(crate) system: String,
    /// What.
    pub(crate) line: String,
}

/// `share --configuration-only`: files that were written, and where they belong.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ConfigurationDocument {
    /// The files.
    pub(crate) files: Vec<ConfigurationFile>,
    /// What root has to do, in this order.
    pub(crate) steps: Vec<Step>,
    /// What to type on a client, then.
    pub(crate) clients: Vec<ClientLine>,
}

/// Something to be done by hand.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Step {
    /// What for.
    pub(crate) purpose: String,
    /// What to type.
    pub(crate) command: String,
}

/// A file of a configuration.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ConfigurationFile {
    /// Where it was written.
    pub(crate) path: PathBuf,
    /// Where it belongs.
    pub(crate) belongs_at: PathBuf,
}

/// Shares something, or shows what is shared.
pub(crate) fn share(cli: &Cli, args: &ShareArgs) -> Result<(), Failure> {
    if args.status {
        return show(cli, Vec::new());
    }
    if !rustix::process::geteuid().is_root() && args.configuration_only.is_none() {
        return Err(Failure::usage("servers are started as root; --configuration-only DIR needs nobody"));
    }
    if args.serve {
        let keeper = Keeper::become_it(output::warn).map_err(Failure::Refused)?;
        return keeper.keep().map_err(Failure::Failed);
    }
    if !(args.smb || args.nfs || args.ftp) {
        return Err(Failure::usage("say how: --smb, --nfs, --ftp, or several of them"));
    }
    let wish = wish::of(args)?;
    if let Some(directory) = &args.configuration_only {
        return configuration::write(cli, &wish.record, directory);
    }
    wish::hold_against_others(&wish.record, &records().map_err(Failure::Failed)?)?;
    let notes = wish.carry_out()?;
    passwords::see_to(&wish.record, args.password_file.as_deref())?;
    set_up(&wish.record)?;
    show(cli, notes)
}

/// Writes a share down and has it served; undone if it cannot be.
fn set_up(record: &Record) -> Result<(), Failure> {
    let before = records().map_err(Failure::Failed)?.into_iter().find(|other| other.name == record.name);
    record.keep().map_err(Failure::Failed)?;
    let served = call_keeper().map_err(Failure::Failed).and_then(|()| wait_until_served(record));
    if served.is_err() {
        let undone = match before {
            Some(before) => before.keep(),
            None => record.forget(),
        };
        undone.and_then(|()| settle_keeper()).map_err(Failure::Failed)?;
    }
    served
}

fn wait_until_served(record: &Record) -> Result<(), Failure> {
    for _ in 0..PATIENCE.as_millis() / PAUSE.as_millis() {
        match read_status().into_iter().find(|status| status.revision == record.revision) {
            Some(ShareStatus { state: State::Served, .. }) => return Ok(()),
            Some(status) => return Err(Failure::Failed(format!("{}: {}", record.name, status.problems.join("; ")))),
            None => std::thread::sleep(PAUSE),
        }
    }
    Err(Failure::Failed(format!("{}: its servers have not started after {} s", record.name, PATIENCE.as_secs())))
}

/// Has the keeper follow the records; without any, it is not needed.
fn settle_keeper() -> Result<(), String> {
    let records = records()?;
    if records.is_empty() {
        return stop_keeper();
    }
    call_keeper()?;
    let settled = || {
        let status = read_status();
        let is_told = |record: &Record| status.iter().any(|told| told.revision == record.revision);
        status.len() == records.len() && records.iter().all(is_told)
    };
    for _ in 0..PATIENCE.as_millis() / PAUSE.as_millis() {
        if settled() {
            return Ok(());
        }
        std::thread::sleep(PAUSE);
    }
    Err("the process that keeps the servers does not answer".to_owned())
}

/// Ends shares.
pub(crate) fn unshare(cli: &Cli, args: &UnshareArgs) -> Result<(), Failure> {
    let records = records().map_err(Failure::Failed)?;
    let gone: Vec<Record> = if args.all { records } else { wanted(&args.what, records)? };
    if gone.is_empty() && !args.all {
        return Err(Failure::usage("that is not shared: `shoal share --status` shows what is"));
    }
    for record in &gone {
        record.forget().map_err(Failure::Failed)?;
    }
    settle_keeper().map_err(Failure::Failed)?;
    let left = |record: &Record| {
        let (user, directory) = (record.user_id, record.directory.display());
        format!("{}: files in {directory} belong to user {user} as before", record.name)
    };
    show(cli, gone.iter().map(left).collect())
}

/// The shares that somebody names: by a directory, a name, or an array, which need not be mounted any more.
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
    let members = arrays(&member_paths(array)?).into_iter().map(|uuid| uuid.to_string());
    Ok(known.chain(members).filter_map(|uuid| parse_id(&uuid)).collect())
}

/// Shows all shares.
fn show(cli: &Cli, notes: Vec<String>) -> Result<(), Failure> {
    let status = read_status();
    let is_kept = keeper_process().is_some();
    let interfaces = networks_of_machine().map_err(Failure::Failed)?;
    let describe = |record: Record| {
        let told = status.iter().find(|told| is_kept && told.revision == record.revision);
        let (state, problems) = match told {
            Some(told) => (told.state, told.problems.clone()),
            None => (State::Stopped, vec!["no process keeps its servers: run `shoal share --serve`".to_owned()]),
        };
        ShareDocument { clients: clients::lines(&record, &interfaces, Tree::Names), share: record, state, problems }
    };
    let shares = records().map_err(Failure::Failed)?.into_iter().map(describe).collect();
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
