//! A drive that can be pulled out and plugged back, and can stop to answer, without anybody telling
//! the array that it is in: a file behind FUSE, whose processes are here. Killing those is pulling
//! it: what is under way on it fails, as does everything else from then on, and whoever opens it
//! finds nothing. Stopping one (SIGSTOP) is a drive that hangs.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Mutex;

use crate::attached::{Served, kill};
use crate::support::Bay;

/// A file behind FUSE that can be pulled (its processes killed), plugged back, and made to hang
/// (SIGSTOP). What it holds stays when it is pulled.
pub(crate) struct Stick {
    bay: Bay,
    directory: PathBuf,
    path: PathBuf,
    plugged: Mutex<Option<Plugged>>,
}

/// Between this kernel and what has its content, and what has that.
struct Plugged {
    front: Child,
    server: Served,
}

impl Stick {
    /// So large, and plugged in.
    pub(crate) fn new(bytes: u64) -> Self {
        let bay = Bay::with_sizes(&[bytes / 2 + (4 << 20); 2]);
        bay.done("create --quiet --level linear --name stick d0 d1");
        let directory = bay.path("front");
        std::fs::create_dir(&directory).unwrap();
        let mut stick = Self { bay, path: PathBuf::new(), directory, plugged: Mutex::default() };
        stick.path = stick.plug(bytes);
        stick
    }

    /// Where it is whenever it is plugged in.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Its content does not begin where that of the array behind it does, or the one would be taken
    /// for a part of the other.
    pub(crate) fn plug(&self, bytes: u64) -> PathBuf {
        self.plug_as("stick", bytes)
    }

    /// The same under a name; where it is then.
    pub(crate) fn plug_as(&self, name: &str, bytes: u64) -> PathBuf {
        let socket = self.bay.runtime().with_file_name("nbd.sock");
        let line = format!("serve --nbd unix:{} --export stick=1M+{bytes} d0 d1", socket.display());
        let server = Served::start(&self.bay, &line);
        let called = format!("--name={name}");
        let mut front = self.bay.command(["front", "--method=fuse", &called, "--logical-block-bytes=512"]);
        front.arg("--deadline-s=600").arg("--socket").arg(socket).arg("--directory").arg(&self.directory);
        let mut front = front.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(front.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        *self.plugged.lock().unwrap() = Some(Plugged { front, server });
        assert!(line.contains(name), "the front tells no file, but \"{line}\"");
        line.trim_end().into()
    }

    pub(crate) fn pull(&self) {
        Self::pull_together(&[self]);
    }

    /// Takes several away in one moment: none answers any more when the first is gone, so that
    /// nothing can be written down on the others about it.
    pub(crate) fn pull_together(sticks: &[&Self]) {
        sticks.iter().for_each(|stick| stick.hang());
        let take = |stick: &&Self| stick.plugged.lock().unwrap().take().unwrap();
        let mut plugged: Vec<_> = sticks.iter().map(take).collect();
        plugged.iter_mut().for_each(|it| it.front.kill().unwrap());
        for it in &mut plugged {
            it.front.wait().unwrap();
        }
        // What has the content takes nothing more than it has by now.
        drop(plugged);
        let is_there = |stick: &&Self| std::fs::File::open(&stick.path).is_ok();
        assert!(!sticks.iter().any(is_there), "it is still there");
    }

    /// From now on it does not answer.
    pub(crate) fn hang(&self) {
        kill("-STOP", self.plugged.lock().unwrap().as_ref().unwrap().server.id());
    }

    /// From now on its file system does not answer either: not even who asks what is there.
    pub(crate) fn hang_with_its_file_system(&self) {
        kill("-STOP", self.plugged.lock().unwrap().as_ref().unwrap().front.id().into());
    }

    /// The end of that.
    pub(crate) fn wake_with_its_file_system(&self) {
        kill("-CONT", self.plugged.lock().unwrap().as_ref().unwrap().front.id().into());
    }

    /// It answers all that it was asked.
    pub(crate) fn wake(&self) {
        kill("-CONT", self.plugged.lock().unwrap().as_ref().unwrap().server.id());
    }
}

impl Drop for Stick {
    fn drop(&mut self) {
        if let Some(mut plugged) = self.plugged.lock().unwrap().take() {
            let _ = plugged.front.kill();
            let _ = plugged.front.wait();
        }
        // Of one that was killed the mount is left.
        let _ = Command::new("fusermount3").args(["-u", "-q", "-z"]).arg(&self.directory).status();
    }
}
