//! A network of its own for servers and their clients, which vanishes with the test.

// Each test program uses a part of this.
#![allow(dead_code)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use shoal_share::{
    Durability, Entry, Guests, HostName, NfsServer, NfsShare, Owner, Places, PlainPath, Ports, Share, ShareId, Site,
};

/// Where servers listen.
pub(crate) const ADDRESS: &str = "10.77.0.1";

/// To whom shared files belong: nobody on this machine.
pub(crate) const OWNER: Owner = Owner { user_id: 612_345, group_id: 612_346 };

/// A network namespace with one address, and directories for servers.
pub(crate) struct Stage {
    holder: Child,
    directory: tempfile::TempDir,
}

impl Stage {
    /// `None`, and a line that says so, where this cannot be had.
    pub(crate) fn set(programs: &[&str]) -> Option<Self> {
        if !rustix_is_root() {
            println!("SKIPPED: servers need root");
            return None;
        }
        let always = ["unshare", "nsenter", "setpriv", "ip"];
        for program in programs.iter().chain(&always) {
            if !is_there(program) {
                println!("SKIPPED: servers need {program}");
                return None;
            }
        }
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let holder = Command::new("unshare").args(["--net", "sleep", "3600"]).spawn().unwrap();
        let stage = Self { holder, directory };
        if !stage.becomes_separate() {
            println!("SKIPPED: servers need a network namespace");
            return None;
        }
        for command in [
            "ip link set lo up",
            "ip link add near type veth peer name far",
            "ip address add 10.77.0.1/24 dev near",
            "ip link set near up",
            "ip link set far up",
        ] {
            stage.run(command.split(' '));
        }
        fs::create_dir(stage.shared()).unwrap();
        chown(stage.shared(), Some(OWNER.user_id), Some(OWNER.group_id)).unwrap();
        Some(stage)
    }

    /// Waits until the holder has left this machine's network.
    fn becomes_separate(&self) -> bool {
        let own = fs::read_link("/proc/self/ns/net").unwrap();
        (0..18_000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            fs::read_link(self.namespace()).is_ok_and(|theirs| theirs != own)
        })
    }

    fn namespace(&self) -> PathBuf {
        format!("/proc/{}/ns/net", self.holder.id()).into()
    }

    /// A directory to be shared.
    pub(crate) fn shared(&self) -> PathBuf {
        self.at("shared")
    }

    /// A path of the test's own.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The site of the servers.
    pub(crate) fn site(&self) -> Site {
        Site {
            host_name: HostName::of("stage"),
            addresses: vec![ADDRESS.parse().unwrap()],
            ports: Ports::default(),
            places: Places::new(&self.at("state"), &self.at("runtime")).unwrap(),
            entry: Entry(vec!["nsenter".into(), format!("--net={}", self.namespace().display()).into(), "--".into()]),
            tls: None,
        }
    }

    /// A share of the directory, by nothing yet.
    pub(crate) fn share(&self) -> Share {
        Share {
            name: "pond".parse().unwrap(),
            id: ShareId(*b"sixteen bytes..."),
            directory: PlainPath::new(&self.shared()).unwrap(),
            owner: OWNER,
            networks: vec!["10.77.0.0/24".parse().unwrap()],
            read_only: false,
            users: vec!["anna".parse().unwrap()],
            guests: Guests::Refused,
            smb: false,
            nfs: None,
            ftp: false,
            mount: None,
            has_extended_attributes: true,
        }
    }

    /// A client's command in the namespace, with what it prints.
    pub(crate) fn client<'a>(&self, line: impl IntoIterator<Item = &'a str>) -> Output {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.namespace().display())).arg("--").args(line);
        command.current_dir(self.directory.path()).stdin(Stdio::null()).output().unwrap()
    }

    /// One that has to do what it is told.
    pub(crate) fn run<'a>(&self, line: impl IntoIterator<Item = &'a str>) -> String {
        let output = self.client(line);
        assert!(output.status.success(), "{}", said(&output));
        said(&output)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.holder.kill().unwrap();
        self.holder.wait().unwrap();
    }
}

/// NFS by a server.
pub(crate) fn nfs(server: NfsServer) -> Option<NfsShare> {
    Some(NfsShare { server, durability: Durability::Sync, version_3: false })
}

/// All that a command printed.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

/// A file of bytes that are all different.
pub(crate) fn fill(path: &Path, length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    })
    .take(length)
    .collect();
    fs::write(path, &bytes).unwrap();
    bytes
}

fn rustix_is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn is_there(program: &str) -> bool {
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]
        .iter()
        .any(|directory| Path::new(directory).join(program).exists())
}
