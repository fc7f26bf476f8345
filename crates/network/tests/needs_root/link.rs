//! The link between two hosts is what it says, and nothing of them stays behind, even if who made
//! them is killed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use shoal_network::{LinkSpeed, Pair};

use crate::is_root;

/// Says to a copy of this program that it is to start hosts and wait, and which directory is to go
/// with them.
const HOLD: &str = "SHOAL_TEST_HOLD";

#[test]
fn needs_root_a_stream_gets_what_the_link_has_and_no_more() {
    if !is_root() {
        return;
    }
    let pair = Pair::start(&[], None).unwrap();
    for speed in ["100Mbit", "1Gbit"] {
        let speed: LinkSpeed = speed.parse().unwrap();
        pair.shape(speed).unwrap();
        // The bucket is passed once.
        let most = speed.most_bytes_in(2_000_000_000) / 2;
        let least = speed.payload_bytes_per_s() / 2;
        // On a machine that does much else the sender is slow: one of many is right, and none is
        // too fast.
        let is_right = (0..30).any(|_| {
            let found = pair.calibrate(speed, Duration::from_secs(2)).unwrap();
            eprintln!("{found:?}");
            let rates = [found.to_server_bytes_per_s, found.to_client_bytes_per_s];
            assert!(rates.iter().all(|rate| *rate <= most), "{speed} carried more than {most} bytes a second");
            found.round_trip_ns > 0 && rates.iter().all(|rate| *rate >= least)
        });
        assert!(is_right, "{speed} never carried {least} bytes a second");
    }
}

#[test]
fn needs_root_nothing_stays_of_hosts_whose_maker_is_killed() {
    if let Some(directory) = std::env::var_os(HOLD) {
        hold(Path::new(&directory));
    }
    if !is_root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let vanishing = directory.path().join("vanishing");
    std::fs::create_dir_all(vanishing.join("mounted")).unwrap();
    std::fs::write(directory.path().join("kept"), "kept").unwrap();
    let mut maker = Command::new(std::env::current_exe().unwrap());
    maker.args(["--exact", "link::needs_root_nothing_stays_of_hosts_whose_maker_is_killed", "--nocapture"]);
    let mut maker = maker.env(HOLD, &vanishing).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(maker.stdout.take().unwrap()).lines().map_while(Result::ok);
    let told = lines.filter_map(|line| line.strip_prefix("hosts ").map(str::to_owned)).next().unwrap();
    let processes: Vec<u32> = told.split(' ').map(|id| id.parse().unwrap()).collect();
    assert!(processes.len() >= 3, "two first processes, and one that a host runs: {told}");
    let spaces: Vec<_> = processes.iter().map(|id| std::fs::read_link(format!("/proc/{id}/ns/net")).unwrap()).collect();
    maker.kill().unwrap();
    maker.wait().unwrap();
    let start = Instant::now();
    while processes.iter().any(|id| is_alive(*id)) || vanishing.exists() {
        assert!(start.elapsed() < Duration::from_secs(180), "left behind: {processes:?}, {}", vanishing.exists());
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(directory.path().join("kept").exists(), "nothing but what was named is removed");
    assert!(!anybody_in(&spaces), "somebody is still in a host's network");
}

/// Starts hosts, has one of them run something and mount something, and waits to be killed.
fn hold(vanishing: &Path) -> ! {
    let pair = Pair::start(&[vanishing], None).unwrap();
    let mut mount = pair.server.command("mount");
    let mount = mount.arg("--bind").arg(vanishing.parent().unwrap()).arg(vanishing.join("mounted"));
    assert!(mount.status().unwrap().success());
    let mut child = pair.client.command("sleep").arg("1000").spawn().unwrap();
    while pair.client.processes().len() < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let all: Vec<u32> = [&pair.server, &pair.client].iter().flat_map(|host| host.processes()).collect();
    let words: Vec<String> = all.iter().map(ToString::to_string).collect();
    println!("hosts {}", words.join(" "));
    child.wait().unwrap();
    unreachable!("it is killed before that");
}

/// Whether a process is there, and not only its number.
fn is_alive(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    status.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

fn anybody_in(spaces: &[std::path::PathBuf]) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter_map(|entry| std::fs::read_link(entry.path().join("ns/net")).ok()).any(|own| spaces.contains(&own))
}
