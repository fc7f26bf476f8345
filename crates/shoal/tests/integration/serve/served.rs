//! A `shoal serve`, and the tools of others that are run against it.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command};

use crate::support::Bay;

/// An array that is served; killed if the test ends before it does.
pub(crate) struct Served {
    child: Option<Child>,
    socket: PathBuf,
    told: String,
}

impl Served {
    /// Serves at a socket in the bay's own place, whose name is short.
    pub(crate) fn start(bay: &Bay, line: &str) -> Self {
        let socket = bay.runtime().with_file_name("nbd.sock");
        Self::start_at(bay, &format!("unix:{}", socket.display()), socket, line)
    }

    /// Serves at an address.
    pub(crate) fn start_at(bay: &Bay, address: &str, socket: PathBuf, line: &str) -> Self {
        let mut child = bay.command(format!("serve --nbd {address} {line}").split_whitespace()).spawn().unwrap();
        let mut told = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut told).unwrap();
        assert!(told.contains("is served at"), "shoal serve {line}: {told}");
        Self { child: Some(child), socket, told }
    }

    /// What libnbd calls an export.
    pub(crate) fn uri(&self, export: &str) -> String {
        format!("nbd+unix:///{export}?socket={}", self.socket.display())
    }

    /// Where clients of this machine come in.
    pub(crate) fn socket(&self) -> &std::path::Path {
        &self.socket
    }

    /// Who serves it.
    pub(crate) fn process(&self) -> u32 {
        self.child.as_ref().expect("it runs until it is stopped").id()
    }

    /// The port that was found.
    pub(crate) fn port(&self) -> u16 {
        let address = self.told.split_whitespace().find(|word| word.starts_with("tcp:")).unwrap();
        address.trim_end_matches(',').rsplit(':').next().unwrap().parse().unwrap()
    }

    /// Ends it as Ctrl-C does.
    pub(crate) fn stopped(mut self) {
        let mut child = self.child.take().unwrap();
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        assert!(child.wait().unwrap().success());
        assert!(!self.socket.exists());
    }

    /// Ends it as a crash would.
    pub(crate) fn kill(mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Runs somebody else's program, which has to succeed within five minutes; its standard output.
pub(crate) fn tool(program: &str, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("timeout").arg("300").arg(program).args(arguments).output().unwrap();
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program} {arguments:?}: {}\n{out}{error}", output.status);
    output.stdout
}
