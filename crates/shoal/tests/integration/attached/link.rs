//! Two hosts on one machine: network namespaces, joined by a link that can be cut. The array's
//! server is on one, the client on the other.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::support::Bay;

const SERVER_ADDRESS: &str = "10.211.77.1";
const CLIENT_ADDRESS: &str = "10.211.77.2";

/// Two network namespaces and the link between them. All of it goes when this is dropped.
pub(crate) struct Link {
    server: String,
    client: String,
    served: std::cell::RefCell<Option<Child>>,
}

impl Link {
    pub(crate) fn new() -> Self {
        let id = std::process::id();
        let link = Self { server: format!("shoal-s{id}"), client: format!("shoal-c{id}"), served: None.into() };
        ip(&["netns", "add", &link.server]);
        ip(&["netns", "add", &link.client]);
        ip(&["-n", &link.server, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", &link.client]);
        for (host, address) in [(&link.server, SERVER_ADDRESS), (&link.client, CLIENT_ADDRESS)] {
            ip(&["-n", host, "address", "add", &format!("{address}/24"), "dev", "eth0"]);
            ip(&["-n", host, "link", "set", "eth0", "up"]);
        }
        link
    }

    /// Serves an array on the one host; where the client finds it.
    pub(crate) fn serve(&self, bay: &Bay, drives: &str) -> String {
        let line = format!("serve --allow-plain-tcp --nbd tcp:{SERVER_ADDRESS}:10809 {drives}");
        let program = bay.command(line.split_whitespace());
        let [launcher, host] = inside(&self.server);
        let mut command = Command::new(launcher);
        command.arg(host).arg(program.get_program()).args(program.get_args());
        command.env("SHOAL_STATE_DIRECTORY", bay.state());
        command.env("SHOAL_RUNTIME_DIRECTORY", bay.runtime()).current_dir(program.get_current_dir().unwrap());
        let mut child =
            command.stderr(std::process::Stdio::piped()).stdout(std::process::Stdio::null()).spawn().unwrap();
        let mut told = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut told).unwrap();
        *self.served.borrow_mut() = Some(child);
        assert!(told.contains("is served at"), "{told}");
        format!("nbd://{SERVER_ADDRESS}:10809/")
    }

    /// What starts a program on the other host.
    pub(crate) fn at_client(&self) -> [String; 2] {
        inside(&self.client)
    }

    /// Waits until the client has sent so much more: it is in the midst of a load.
    pub(crate) fn until_sent(&self, bytes: u64) {
        let wanted = self.received_bytes() + bytes;
        let deadline = Instant::now() + crate::attached::PATIENCE;
        while self.received_bytes() < wanted {
            assert!(Instant::now() < deadline, "the client sends nothing");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn received_bytes(&self) -> u64 {
        let told = ip(&["-n", &self.server, "-statistics", "-json", "link", "show", "eth0"]);
        let links: serde_json::Value = serde_json::from_str(&told).unwrap();
        links[0]["stats64"]["rx"]["bytes"].as_u64().unwrap()
    }

    /// Pulls the cable, and plugs it back after a while.
    pub(crate) fn cut(&self, length: Duration) {
        ip(&["-n", &self.server, "link", "set", "eth0", "down"]);
        std::thread::sleep(length);
        ip(&["-n", &self.server, "link", "set", "eth0", "up"]);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Some(mut child) = self.served.borrow_mut().take() {
            let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
            let _ = child.wait();
        }
        for host in [&self.server, &self.client] {
            let _ = Command::new("ip").args(["netns", "delete", host]).status();
        }
    }
}

/// What starts a program on a host. `ip netns exec` would give it mounts of its own too, which keep
/// others' files in use.
fn inside(host: &str) -> [String; 2] {
    ["nsenter".to_owned(), format!("--net=/run/netns/{host}")]
}

fn ip(arguments: &[&str]) -> String {
    let output = Command::new("ip").args(arguments).output().unwrap();
    assert!(output.status.success(), "ip {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
