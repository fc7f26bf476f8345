//! `shoal service`: arrays that the machine runs by itself.

mod hot_plug;
mod system;

use std::path::{Path, PathBuf};
use std::time::Duration;

use shoal_documents::{ArrayDocument, MdadmConfDocument, ServiceDocument, ServiceFileDocument};
use shoal_md::Uuid;
use shoal_unattended::service::{self, Content, InstallError, Manager, Service, Standing};
use shoal_unattended::{ArrayName, mdadm_conf};

use super::status::state_of_array;
use crate::args::{
    ArrayArgs, Cli, InstallArgs, InstalledArgs, MdadmConfArgs, ServiceArgs, ServiceCommand, ServicePlaceArgs,
};
use crate::exit::Failure;
use crate::output;

pub(super) use hot_plug::run as hot_plug;

/// Does what was asked.
pub(crate) fn run(cli: &Cli, args: &ServiceArgs) -> Result<(), Failure> {
    match &args.command {
        ServiceCommand::Install(args) => install(cli, args),
        ServiceCommand::Show(args) => show(cli, args),
        ServiceCommand::Remove(args) => remove(cli, args),
        ServiceCommand::MdadmConf(args) => print_mdadm_conf(cli, args),
    }
}

fn install(cli: &Cli, args: &InstallArgs) -> Result<(), Failure> {
    let array = state_of_array(cli, &args.array)?.array;
    let service = service_of(args, &array)?;
    let root = root(&args.place);
    let mut files = Vec::new();
    for file in service.files() {
        let standing = file.standing(&root).map_err(install_failure)?;
        let (text, link) = match file.content {
            Content::Text(text) => (Some(text), None),
            Content::Link(target) => (None, Some(target.display().to_string())),
        };
        files.push(ServiceFileDocument { path: file.path.display().to_string(), standing: word(standing), text, link });
    }
    let commands = system::after_install(&args.place);
    let notes = notes(&service, &args.place);
    let uuid = array.uuid.clone();
    let name = array.name.clone();
    let document = ServiceDocument { array: Some(array.name), uuid, files, commands: system::lines(&commands), notes };
    output::document(cli, &document, text)?;
    if args.dry_run {
        output::warn("nothing was written: without --dry-run these files are");
        return Ok(());
    }
    // What is to come has been told; from here on a failure is told beside it.
    service.install(&root).map_err(|error| shown(install_failure(error)))?;
    system::run(&commands).map_err(shown)?;
    output::warn(&format!("installed: array {name} is a service now; `shoal service remove` removes it"));
    Ok(())
}

fn show(cli: &Cli, args: &InstalledArgs) -> Result<(), Failure> {
    let uuid = uuid_of(cli, &args.array)?;
    let document = installed(&args.place, &uuid)?;
    if document.files.is_empty() {
        return Err(Failure::Usage(format!("array {uuid} is no service here: `shoal service install` makes it one")));
    }
    output::document(cli, &document, text)
}

fn remove(cli: &Cli, args: &InstalledArgs) -> Result<(), Failure> {
    let uuid = uuid_of(cli, &args.array)?;
    let (before, after) = system::around_removal(&args.place, &uuid);
    let commands = system::lines(&before).into_iter().chain(system::lines(&after)).collect();
    let document = ServiceDocument { commands, ..installed(&args.place, &uuid)? };
    if document.files.is_empty() {
        return Err(Failure::Usage(format!("array {uuid} is no service here: there is nothing to remove")));
    }
    output::document(cli, &document, text)?;
    system::run(&before).map_err(shown)?;
    let paths: Vec<_> = document.files.iter().map(|file| PathBuf::from(&file.path)).collect();
    service::remove(&root(&args.place), &paths).map_err(|error| shown(install_failure(error)))?;
    system::run(&after).map_err(shown)?;
    output::warn(&format!("removed: array {uuid} is no service here any more"));
    Ok(())
}

/// What there is of a service.
fn installed(place: &ServicePlaceArgs, uuid: &Uuid) -> Result<ServiceDocument, Failure> {
    let root = root(place);
    let mut files = Vec::new();
    for path in service::installed(&root, &manager(place)?, uuid).map_err(install_failure)? {
        let there = root.join(path.strip_prefix("/").unwrap_or(&path));
        let link = std::fs::read_link(&there).ok().map(|target| target.display().to_string());
        let text = if link.is_none() { std::fs::read_to_string(&there).ok() } else { None };
        files.push(ServiceFileDocument {
            path: path.display().to_string(),
            standing: "installed".to_owned(),
            text,
            link,
        });
    }
    Ok(ServiceDocument { array: None, uuid: uuid.to_string(), files, commands: Vec::new(), notes: Vec::new() })
}

/// A service as it was asked for.
fn service_of(args: &InstallArgs, array: &ArrayDocument) -> Result<Service, Failure> {
    let absolute = |path: &PathBuf| {
        std::path::absolute(path).map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))
    };
    let program = std::env::current_exe().map_err(|error| Failure::Failed(format!("this program: {error}")))?;
    if args.place.user && (args.mount.is_some() || args.shares) {
        return Err(Failure::usage(
            "only root mounts block devices and keeps servers: leave --mount and --shares out, or --user",
        ));
    }
    let alerts = args.alerts.as_ref().map(absolute).transpose()?;
    if let (Some(alerts), None) = (&alerts, &args.place.root) {
        shoal_unattended::alert::Configuration::read(alerts).map_err(Failure::usage)?;
    }
    Ok(Service {
        arrays: array_names(array)?,
        image_directory: image_directory(array)?,
        program,
        patience: Duration::from_secs(args.wait),
        mount_point: args.mount.as_ref().map(absolute).transpose()?,
        shares: args.shares,
        alerts,
        manager: manager(&args.place)?,
    })
}

/// The directory in which an array's image files lie; none if its members are devices.
fn image_directory(array: &ArrayDocument) -> Result<Option<PathBuf>, Failure> {
    let mut directories = Vec::new();
    for member in &array.members {
        if let Some(inner) = &member.array {
            directories.extend(image_directory(inner)?);
        }
        let Some(path) = member.drive.as_ref().and_then(|drive| std::fs::canonicalize(drive).ok()) else { continue };
        directories.extend(path.is_file().then(|| path.parent().unwrap_or(Path::new("/")).to_owned()));
    }
    directories.sort();
    directories.dedup();
    match &directories[..] {
        [] => Ok(None),
        [directory] => Ok(Some(directory.clone())),
        [first, second, ..] => Err(Failure::Usage(format!(
            "image files in {} and {}: a service looks in one directory, so move them together",
            first.display(),
            second.display()
        ))),
    }
}

fn manager(place: &ServicePlaceArgs) -> Result<Manager, Failure> {
    if !place.user {
        if place.root.is_none() && !rustix::process::geteuid().is_root() {
            return Err(Failure::usage(
                "only root makes services of the machine: use sudo, or --user for one of yours",
            ));
        }
        return Ok(Manager::System);
    }
    let named = |variable| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let configuration = named("XDG_CONFIG_HOME").or_else(|| named("HOME").map(|home| home.join(".config")));
    let configuration = configuration.ok_or_else(|| Failure::usage("--user: there is no HOME to keep units in"))?;
    Ok(Manager::User(configuration.join("systemd/user")))
}

fn root(place: &ServicePlaceArgs) -> PathBuf {
    place.root.clone().unwrap_or_else(|| PathBuf::from("/"))
}

/// What has to be known, and is nothing that can be done from here.
fn notes(service: &Service, place: &ServicePlaceArgs) -> Vec<String> {
    let unit = service.array_unit();
    let mut notes = vec![match place.user {
        true => format!(
            "it starts when you log in (at boot after `loginctl enable-linger`), or now: systemctl --user start {unit}"
        ),
        false => format!("it starts at boot, when a member is plugged in, or now: systemctl start {unit}"),
    }];
    notes.push(format!(
        "members that it counts on are waited for for {} s; then it starts degraded, unless this host has seen a newer state than what is there",
        service.patience.as_secs()
    ));
    if !place.user {
        let lines = mdadm_conf::left_alone(&service.arrays).trim_end().replace('\n', "; ");
        notes.push(format!(
            "if this machine's initramfs has mdadm, make it anew: update-initramfs -u; where another program makes it, mdadm's configuration \
             there has to say: {lines}"
        ));
    }
    notes
}

fn uuid_of(cli: &Cli, array: &ArrayArgs) -> Result<Uuid, Failure> {
    match array.uuid {
        Some(uuid) => Ok(uuid),
        None => state_of_array(cli, array)?.array.uuid.parse().map_err(Failure::failed),
    }
}

fn word(standing: Standing) -> String {
    let word = match standing {
        Standing::New => "new",
        Standing::Same => "same",
        Standing::Changed => "changed",
        Standing::Foreign => "foreign",
    };
    word.to_owned()
}

fn install_failure(error: InstallError) -> Failure {
    match error {
        InstallError::Foreign { .. } => Failure::Refused(error.to_string()),
        InstallError::System { .. } => Failure::failed(error),
    }
}

/// A failure after the document.
fn shown(failure: Failure) -> Failure {
    match failure {
        Failure::Failed(message) => Failure::Shown(message),
        other => other,
    }
}

fn text(document: &ServiceDocument) -> String {
    let mut text = String::new();
    for file in &document.files {
        let link = file.link.as_ref().map_or(String::new(), |target| format!(" -> {target}"));
        text += &format!("==> {}{link} ({})\n", file.path, file.standing);
        text += file.text.as_deref().unwrap_or_default();
        text.push('\n');
    }
    document.commands.iter().for_each(|command| text += &format!("runs: {command}\n"));
    document.notes.iter().for_each(|note| text += &format!("{note}\n"));
    text
}

fn print_mdadm_conf(cli: &Cli, args: &MdadmConfArgs) -> Result<(), Failure> {
    let arrays = array_names(&state_of_array(cli, &args.array)?.array)?;
    let text = mdadm_conf::run_by_kernel(&arrays);
    let device = arrays.last().map(ArrayName::device_name).unwrap_or_default();
    let lines = text.lines().map(str::to_owned).collect();
    let document = MdadmConfDocument { lines, device: format!("/dev/md/{device}") };
    output::document(cli, &document, |_| text)
}

/// An array and those that it is made of, which come first.
fn array_names(array: &ArrayDocument) -> Result<Vec<ArrayName>, Failure> {
    let mut names = Vec::new();
    for inner in array.members.iter().filter_map(|member| member.array.as_deref()) {
        names.extend(array_names(inner)?);
    }
    names.push(ArrayName { uuid: array.uuid.parse().map_err(Failure::failed)?, name: array.name.clone() });
    Ok(names)
}
