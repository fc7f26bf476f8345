//! NFS of a real kernel, server and client, in the study: exported sync and async, of the kernel's
//! own md.

use serde_json::Value;
use shoal_lab::Lab;

/// Two transfers of the script's size, and ext4.
const DRIVE_BYTES: u64 = 32 << 20;
/// What a flush takes in the script.
const FLUSH_NS: u64 = 333_000_000;
/// A file of 6 MiB in writes of 1 MiB.
const WRITES: u64 = 6;

#[test]
fn needs_kernel_nfs_is_the_kernels_where_it_can_be() {
    let what = "NFS of a real kernel";
    let lab = match Lab::find() {
        Ok(lab) => lab,
        Err(missing) => return eprintln!("SKIPPED: {what}: needs {missing}"),
    };
    for program in ["rpc.nfsd", "mount.nfs4", "nfsdcld", "tc", "dmsetup"] {
        if !["/usr/sbin", "/sbin"].iter().any(|place| std::path::Path::new(place).join(program).exists()) {
            return eprintln!("SKIPPED: {what}: needs {program}");
        }
    }
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for name in ["d0", "d1", "d2"] {
        std::fs::File::create(directory.path().join(name)).unwrap().set_len(DRIVE_BYTES).unwrap();
    }
    let mut guest = lab.boot(directory.path()).unwrap();
    let script = format!("SHOAL={}\n{}", env!("CARGO_BIN_EXE_shoal"), include_str!("kernel.sh"));
    let printed = guest.done(&script).unwrap();
    assert_eq!(printed, "kept lost+found \nas before\nmismatches 0", "nothing but what was there before");
    let study: Value = serde_json::from_slice(&std::fs::read(directory.path().join("study.json")).unwrap()).unwrap();
    assert_eq!(study["left_out"], serde_json::json!([]), "{study}");
    let rows = study["rows"].as_array().unwrap();
    let of =
        |name: &str| rows.iter().find(|row| row["workload"] == name).unwrap_or_else(|| panic!("no {name}: {study}"));
    for name in ["nfs-sync-put", "nfs-put", "nfs-async-put", "nfs-get"] {
        assert_eq!(of(name)["client"], "the kernel's client, NFS 4.2");
        assert_eq!(of(name)["server"], "the kernel's nfsd");
    }
    let fastest_ns = |name: &str| {
        let runs = of(name)["runs"].as_array().unwrap();
        runs.iter().map(|run| run["elapsed_ns"].as_u64().unwrap()).min().unwrap()
    };
    let [sync, committed, unsafe_] = ["nfs-sync-put", "nfs-put", "nfs-async-put"].map(fastest_ns);
    eprintln!("sync {sync} ns, committed {committed} ns, async {unsafe_} ns");
    // No faster than the flushes that it has to wait for, however fast the machine is.
    assert!(sync >= WRITES * FLUSH_NS, "sync took {sync} ns");
    assert!(committed >= FLUSH_NS, "committed took {committed} ns");
    assert!(unsafe_ <= sync, "async took {unsafe_} ns, and sync, with two seconds of flushes, {sync} ns");
}
