//! fsx: one file read, written, mapped, cut and punched at random, and every byte that is read
//! compared with what it should be. It is the Rust one (asomers/fsx-rs), which `scripts/setup`
//! brings below target/.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::files::pond::{Pond, lacks, meanwhile};

fn program() -> Option<PathBuf> {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/fsx/bin/fsx");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let elsewhere = std::env::split_paths(&path).map(|directory| directory.join("fsx"));
    std::iter::once(ours).chain(elsewhere).find(|program| program.is_file())
}

/// Runs until it is told to stop, each time from another seed, and says how often it ran.
fn exercise(program: &Path, directory: &Path, stop: &AtomicBool) -> u64 {
    const OPERATIONS: &str = "1000";
    let config = directory.join("fsx.toml");
    // Large enough to reach over many stripes; a flush now and then, so that it is not all in
    // memory.
    std::fs::write(
        &config,
        "flen = 4194304\n[opsize]\nmax = 262144\n[weights]\nfsync = 2\nfdatasync = 2\ninvalidate = 1\n",
    )
    .unwrap();
    let mut seed = 1;
    while !stop.load(Ordering::Relaxed) {
        let mut command = Command::new(program);
        command.args(["-N", OPERATIONS, "-S", &seed.to_string(), "-f"]).arg(&config);
        let output = command.arg("-P").arg(directory).arg(directory.join("exercised")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "fsx -N {OPERATIONS} -S {seed}: {said}");
        seed += 1;
    }
    seed - 1
}

fn story(kind: &str, mkfs: (&str, &str), drive_bytes: u64) {
    if lacks(&[mkfs], Some(kind)) {
        return;
    }
    let Some(program) = program() else {
        println!("SKIPPED: fsx on {kind} needs fsx: scripts/setup test brings it");
        return;
    };
    let breath = if crate::files::is_long() { Duration::from_secs(30) } else { Duration::from_secs(1) };
    let mut pond = Pond::new(kind, drive_bytes);
    let directory = pond.directory();
    let runs = meanwhile(|stop| exercise(&program, &directory, stop), || pond.befall(breath));
    println!("fsx on {kind}: {runs} thousand operations while the server was killed and a member replaced");
    pond.is_consistent();
}

#[test]
fn needs_root_fuse_fsx_finds_no_wrong_byte_on_ext4() {
    story("ext4", ("mkfs.ext4", "e2fsprogs"), 64 << 20);
}

#[test]
fn needs_root_fuse_fsx_finds_no_wrong_byte_on_xfs() {
    story("xfs", ("mkfs.xfs", "xfsprogs"), 256 << 20);
}
