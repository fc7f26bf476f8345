//! Every way of transferring files, once, with the real servers and clients; on a directory of this
//! machine.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use shoal_network::{NfsKind, Offer, Options, Pair, Protocol, Served, plan, run};

use crate::is_root;

/// In the order of a study's rows.
const EXPECTED: [&str; 10] = [
    "array-write",
    "array-read",
    "nfs-sync-put",
    "nfs-put",
    "nfs-async-put",
    "nfs-get",
    "smb-put",
    "smb-get",
    "ftp-put",
    "ftp-get",
];

#[test]
fn needs_root_every_file_protocol_moves_content_both_ways() {
    if !is_root() {
        return;
    }
    let place = tempfile::Builder::new().prefix("shoal-network-").tempdir_in("/dev/shm").unwrap();
    open_to_all(place.path());
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let files = place.path().join("files");
    std::fs::create_dir(&files).unwrap();
    let pair = Pair::start(&[place.path()], Some((directory.path(), files.as_path()))).unwrap();
    let served = Served { description: "a directory".into(), directory: Some(files), below: Vec::new(), device: None };
    let plan = plan(&options(), Offer { directory: true, device: false });
    let absent: Vec<_> = plan.left_out.iter().filter(|out| out.reason.contains("is missing")).cloned().collect();
    absent.iter().for_each(|out| eprintln!("SKIPPED: {} needs {}", out.what, out.reason));
    let findings = run(&pair, &served, place.path(), &options(), plan, &mut |what, _| eprintln!("{what}")).unwrap();
    let out: Vec<_> = findings.left_out.iter().map(|out| (out.what.as_str(), out.reason.as_str())).collect();
    assert!(out.iter().all(|(what, _)| *what == "nbd" || absent.iter().any(|out| out.what == *what)), "{out:?}");
    if absent.is_empty() {
        assert_eq!(findings.rows.iter().map(|row| row.workload.as_str()).collect::<Vec<_>>(), EXPECTED);
    }
    drop(pair);
    assert!(!place.path().exists(), "what was in memory is gone with the server");
    assert!(!directory.path().exists(), "and so is what was the study's own");
}

/// Everything once, over one link.
fn options() -> Options {
    Options {
        links: vec!["1Gbit".parse().unwrap()],
        protocols: Protocol::OVER_LINKS.to_vec(),
        size_bytes: (5 << 20) + 4096, // not a whole number of blocks
        nfs: NfsKind::of_this_machine(),
        repeats: 1,
        calibration: Duration::from_millis(500),
        seed: 5,
    }
}

/// Servers run as other users.
fn open_to_all(path: &Path) {
    assert!(Command::new("chmod").arg("755").arg(path).status().unwrap().success());
}
