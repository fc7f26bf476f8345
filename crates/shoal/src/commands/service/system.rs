//! What the service manager and udev are told when files of theirs have changed.

use std::path::Path;
use std::process::{Command, Stdio};

use shoal_md::Uuid;
use shoal_unattended::service::{array_unit, mount_unit};

use crate::args::ServicePlaceArgs;
use crate::exit::Failure;

/// A command line.
pub(super) type Line = Vec<String>;

/// Whether this machine runs systemd; in a container, or while a system is being installed, nobody
/// has to be told.
pub(super) fn has_manager() -> bool {
    Path::new("/run/systemd/system").is_dir()
}

/// After files were written.
pub(super) fn after_install(place: &ServicePlaceArgs) -> Vec<Line> {
    if place.root.is_some() || !has_manager() {
        return Vec::new();
    }
    reload(place)
}

/// Before and after files are taken away.
pub(super) fn around_removal(place: &ServicePlaceArgs, uuid: &Uuid) -> (Vec<Line>, Vec<Line>) {
    if place.root.is_some() || !has_manager() {
        return (Vec::new(), Vec::new());
    }
    // What was mounted comes first: a unit that is not there is stopped already.
    let stop = manager(place, &["stop", &mount_unit(uuid), &array_unit(uuid)]);
    (vec![stop], reload(place))
}

fn reload(place: &ServicePlaceArgs) -> Vec<Line> {
    let mut lines = vec![manager(place, &["daemon-reload"])];
    if !place.user {
        lines.push(["udevadm", "control", "--reload"].map(str::to_owned).to_vec());
    }
    lines
}

fn manager(place: &ServicePlaceArgs, arguments: &[&str]) -> Line {
    let user = if place.user { vec!["--user"] } else { Vec::new() };
    ["systemctl"].iter().chain(&user).chain(arguments).map(|word| (*word).to_owned()).collect()
}

/// As they are shown.
pub(super) fn lines(commands: &[Line]) -> Vec<String> {
    commands.iter().map(|line| line.join(" ")).collect()
}

/// Runs them one after the other, up to the first that fails.
pub(super) fn run(commands: &[Line]) -> Result<(), Failure> {
    for line in commands {
        let failure = |why: String| Failure::Failed(format!("{}: {why}", line.join(" ")));
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]).stdin(Stdio::null()).stdout(Stdio::null());
        let status = command.status().map_err(|error| failure(error.to_string()))?;
        if !status.success() {
            return Err(failure(status.to_string()));
        }
    }
    Ok(())
}
