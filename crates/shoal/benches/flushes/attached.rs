//! An array of image files that is attached, and what is counted there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::versus::{Failure, write_random};

/// What a member holds beside content, with room to spare.
const OVERHEAD_MIB: u64 = 24;

/// What [`Counts`] are of.
pub(crate) const COUNTED: [&str; 7] =
    ["reads", "writes", "flushes", "needless ones", "updates", "sleeps of the server", "of the front"];

/// What was asked of all members, and how often both processes slept.
#[derive(Clone, Copy)]
pub(crate) struct Counts(pub(crate) [f64; COUNTED.len()]);

/// An array that is attached, until this is dropped.
pub(crate) struct Attached {
    pub(crate) name: &'static str,
    pub(crate) device: PathBuf,
    pub(crate) file: PathBuf,
    pub(crate) socket: PathBuf,
    environment: [(&'static str, PathBuf); 2],
    member: PathBuf,
    mounted: PathBuf,
    /// The server's, then the front's.
    processes: [u64; 2],
}

impl Attached {
    pub(crate) fn new(name: &'static str, level: &str, members: u64, place: &Path, mib: u64) -> Result<Self, Failure> {
        let paths: Vec<_> = (0..members).map(|number| place.join(format!("raid{level}-{number}"))).collect();
        paths.iter().try_for_each(|path| write_random(path, mib + OVERHEAD_MIB))?;
        let environment =
            [("SHOAL_RUNTIME_DIRECTORY", place.join("runtime")), ("SHOAL_STATE_DIRECTORY", place.join("state"))];
        let create = ["create", "--level", level, "--assume-clean", "--force"];
        done(shoal(&environment).args(create).args(&paths))?;
        let attach = ["attach", "--as", "fuse", "--block-device", "--json"];
        let attached = json(shoal(&environment).args(attach).args(&paths))?;
        let path = |key: &str| attached[key].as_str().map(PathBuf::from).ok_or("attach says nothing of it");
        let process = |key: &str| attached[key]["process_id"].as_u64().ok_or("attach started no process");
        Ok(Self {
            name,
            device: path("device")?,
            file: path("file")?,
            socket: path("socket")?,
            member: paths[0].clone(),
            mounted: place.join(format!("mounted{level}")),
            processes: [process("server")?, process("front")?],
            environment,
        })
    }

    /// Makes ext4 on the device, mounts it, and gives a file there.
    pub(crate) fn mount(&self, mib: u64) -> Result<PathBuf, Failure> {
        let at_once = ["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"];
        done(Command::new("mkfs.ext4").args(at_once).arg(&self.device))?;
        fs::create_dir_all(&self.mounted)?;
        done(Command::new("mount").arg(&self.device).arg(&self.mounted))?;
        let file = self.mounted.join("file");
        write_random(&file, mib / 2)?;
        Ok(file)
    }

    pub(crate) fn counts(&self) -> Result<Counts, Failure> {
        let status = json(shoal(&self.environment).args(["status", "--json"]).arg(&self.member))?;
        let traffic = &status.get("array").unwrap_or(&status)["traffic"];
        let of = |key: &str| traffic[key].as_f64().ok_or("status counts nothing");
        let [server, front] = self.processes;
        Ok(Counts([
            of("reads")?,
            of("writes")?,
            of("flushes")?,
            of("needless_flushes")?,
            of("updates")?,
            sleeps(server)?,
            sleeps(front)?,
        ]))
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.mounted).stderr(Stdio::null()).status();
        let _ = shoal(&self.environment).arg("detach").arg(&self.member).stdout(Stdio::null()).status();
    }
}

fn shoal(environment: &[(&'static str, PathBuf)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shoal"));
    command.envs(environment.iter().cloned()).stderr(Stdio::null());
    command
}

/// How often the threads of a process have gone to sleep by themselves.
fn sleeps(process: u64) -> Result<f64, Failure> {
    let mut sum = 0.0;
    for task in fs::read_dir(format!("/proc/{process}/task"))? {
        // A thread may end meanwhile.
        let status = fs::read_to_string(task?.path().join("status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        sum += line.map_or(Ok(0.0), |count| count.trim().parse())?;
    }
    Ok(sum)
}

fn done(command: &mut Command) -> Result<(), Failure> {
    let status = command.stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} ended with {status}").into()) }
}

fn json(command: &mut Command) -> Result<Value, Failure> {
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("{command:?} ended with {}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
