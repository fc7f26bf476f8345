//! `format`, `mount` and `unmount` from the command line: plans, refusals, and every kind of file
//! system.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::files::pond::lacks;
use crate::support::{Bay, has, names, pattern};

/// mkfs, its package, the program that checks, and whether this machine's kernel mounts it.
const KINDS: [(&str, &str, &str, &[&str]); 7] = [
    ("ext4", "mkfs.ext4", "e2fsprogs", &["fsck.ext4", "-f", "-n"]),
    ("xfs", "mkfs.xfs", "xfsprogs", &["xfs_repair", "-n"]),
    ("btrfs", "mkfs.btrfs", "btrfs-progs", &["btrfs", "check", "--readonly"]),
    ("f2fs", "mkfs.f2fs", "f2fs-tools", &["fsck.f2fs", "--dry-run"]),
    ("vfat", "mkfs.vfat", "dosfstools", &["fsck.vfat", "-n"]),
    ("exfat", "mkfs.exfat", "exfatprogs", &["fsck.exfat", "-n"]),
    ("ntfs", "mkfs.ntfs", "ntfs-3g", &["ntfsfix", "--no-action"]),
];

/// A bay with an array of three, large enough for all.
fn pond() -> Bay {
    let bay = Bay::with_sizes(&[256 << 20; 4]);
    bay.done("create --level 5 --chunk 64K --assume-clean --name pond d0 d1 d2");
    bay
}

fn exported(bay: &Bay) -> std::path::PathBuf {
    let copy = bay.path("copy");
    let output =
        bay.command(["read", "d0", "d1", "d2"]).stdout(std::fs::File::create(&copy).unwrap()).status().unwrap();
    assert!(output.success());
    copy
}

#[test]
fn a_plan_is_shown_with_its_reasons_and_changes_nothing() {
    let bay = pond();
    let before = bay.snapshot();
    let told = String::from_utf8(bay.done("format --fs ext4 --dry-run d0 d1 d2").stdout).unwrap();
    for words in ["ext4 for array", "stride=16,stripe_width=32", "a stripe of 128 KiB", "mkfs.ext4(8)"] {
        assert!(told.contains(words), "no `{words}` in:\n{told}");
    }
    let plan = bay.json("format --fs f2fs --erase-unit 1M --dry-run --label POND d0 d1 d2");
    assert_eq!(plan["geometry"]["stripe_bytes"], 128 << 10);
    assert_eq!(plan["geometry"]["erase_unit_bytes"], 1 << 20);
    assert_eq!(plan["made"], serde_json::Value::Null);
    let words: Vec<_> =
        plan["arguments"].as_array().unwrap().iter().flat_map(|it| it["words"].as_array().unwrap()).collect();
    assert!(words.iter().any(|word| **word == "-s"), "{words:?}");
    assert!(bay.snapshot() == before, "a dry run changed a drive");
}

#[test]
fn what_would_lose_content_or_cannot_be_is_refused_in_one_line() {
    let bay = Bay::new(3);
    bay.done("create --level 5 --chunk 64K --assume-clean --name pond d0 d1 d2");
    bay.refused("format --fs xfs d0 d1 d2", 2, &["xfs needs at least 300 MiB"]);
    let unknown = bay.run("format --fs zfs d0 d1 d2");
    assert!(unknown.code == 2 && unknown.stderr.contains("take one of ext4, xfs"), "{}", unknown.stderr);
    bay.refused("format --fs ext4 --label a-label-that-is-too-long d0 d1 d2", 2, &["ext4", "16 is the most"]);
    bay.refused("mount d0", 2, &["and then the directory"]);
    bay.refused("mount d0 nowhere", 2, &["nowhere"]);
    bay.refused("unmount d0 d1 d2", 2, &["not attached"]);
    bay.refused("unmount /proc", 3, &["/proc", "umount"]);
    if has("mkfs.ext4") {
        let image = bay.path("image");
        std::fs::File::create(&image).unwrap().set_len(12 << 20).unwrap();
        assert!(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image).status().unwrap().success());
        bay.write("write d0 d1 d2", &std::fs::read(&image).unwrap());
        bay.refused("format --fs ext4 d0 d1 d2", 3, &["pond", "carries ext4 file system", "--force"]);
    }
}

#[test]
fn needs_fuse_every_kind_is_made_over_the_one_before_and_stands_its_check() {
    if !std::path::Path::new("/dev/fuse").exists() {
        println!("SKIPPED: needs_fuse_every_kind... needs FUSE");
        return;
    }
    let bay = pond();
    let mut force = "";
    for (kind, mkfs, package, check) in KINDS {
        if !has(mkfs) || !has(check[0]) {
            println!("SKIPPED: {kind} needs {mkfs} ({package})");
            continue;
        }
        let made = bay.json(&format!("format --fs {kind} --label POND {force} d0 d1 d2"));
        assert_eq!(made["made"]["label"], "POND", "{made}");
        assert!(made["made"]["uuid"].is_string(), "{made}");
        force = "--force";
        let copy = exported(&bay);
        let output = Command::new(check[0]).args(&check[1..]).arg(&copy).output().unwrap();
        assert!(output.status.success(), "{kind}: {}", String::from_utf8_lossy(&output.stdout));
        let refused = bay.run(&format!("format --fs {kind} d0 d1 d2"));
        assert!(refused.code == 3 && refused.stderr.contains("carries"), "{}", refused.stderr);
    }
    assert_eq!(bay.json("scrub d0 d1 d2")["mismatched_bytes"], 0);
}

/// Made, mounted, written to, looked at by its own check, and mounted again without a member.
#[test]
fn needs_root_fuse_what_is_written_through_a_mount_is_there_again() {
    for (kind, mkfs, package, check) in KINDS {
        if lacks(&[(mkfs, package)], Some(kind)) {
            continue;
        }
        let bay = pond();
        bay.done(&format!("format --fs {kind} d0 d1 d2"));
        let place = tempfile::Builder::new().prefix("mounted").tempdir().unwrap();
        let directory = place.path().display();
        let mounted = bay.json(&format!("mount d0 d1 d2 {directory}"));
        assert_eq!(mounted["kind"], kind);
        let image = pattern(20_000_000, 3);
        std::fs::write(place.path().join("image"), &image).unwrap();
        bay.refused_running("format --fs ext4 --force d0 d1 d2", 3, &["is mounted on", "shoal unmount"]);
        bay.refused_running(&format!("mount d0 {directory}"), 3, &["is mounted on"]);
        let mut sleeper =
            Command::new("sleep").arg("60").current_dir(place.path()).stdin(Stdio::null()).spawn().unwrap();
        bay.refused_running(&format!("unmount {directory}"), 3, &["in use by sleep", &sleeper.id().to_string()]);
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        assert_eq!(bay.json(&format!("unmount {directory}"))["detached"], true);
        let output = Command::new(check[0]).args(&check[1..]).arg(exported(&bay)).output().unwrap();
        assert!(output.status.success(), "{kind}: {}", String::from_utf8_lossy(&output.stdout));
        bay.done("fail --member d1 d0 d1 d2");
        bay.done(&format!("mount --read-only d0 d2 {directory}"));
        assert!(std::fs::read(place.path().join("image")).unwrap() == image, "{kind}");
        assert!(std::fs::File::create(place.path().join("other")).is_err(), "{kind} was to be read-only");
        bay.done("unmount d0 d2");
        std::io::stdout().flush().unwrap();
    }
}

#[test]
fn needs_root_fuse_a_mount_that_fails_is_undone() {
    if lacks(&[], Some("ext4")) {
        return;
    }
    let bay = Bay::new(3);
    bay.done(&format!("create --level 5 --chunk 64K --assume-clean --name pond {}", names(0..3)));
    let place = tempfile::Builder::new().prefix("mounted").tempdir().unwrap();
    let ran = bay.run(&format!("mount d0 d1 d2 {}", place.path().display()));
    assert!(ran.code == 2 && ran.stderr.contains("holds no file system"), "{}", ran.stderr);
    assert!(bay.json("status d0 d1 d2")["running"].is_null(), "the array is still attached");
    if has("mkfs.ext4") {
        bay.done("format --fs ext4 d0 d1 d2");
        let ran = bay.run(&format!("mount -o no-such-option d0 d1 d2 {}", place.path().display()));
        assert!(ran.code == 1 && ran.stderr.contains("cannot be mounted"), "{}", ran.stderr);
        assert!(bay.json("status d0 d1 d2")["running"].is_null(), "the array is still attached");
    }
}
