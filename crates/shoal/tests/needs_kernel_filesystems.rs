//! File systems that shoal made, mounted by a real kernel on its own md over the same members, also those that this machine's
//! kernel has no driver for; and what the kernel wrote there, read by shoal.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

#[path = "support/stage.rs"]
mod stage;
#[path = "support/mod.rs"]
mod support;

use std::process::Command;

use stage::Stage;
use support::{has, pattern};

/// A kind, the program that makes it, its package, the modules in order, the check.
type Kind = (&'static str, &'static str, &'static str, &'static [&'static str], &'static [&'static str]);

const KINDS: [Kind; 5] = [
    ("ext4", "mkfs.ext4", "e2fsprogs", &[], &["fsck.ext4", "-f", "-n"]),
    ("xfs", "mkfs.xfs", "xfsprogs", &[], &["xfs_repair", "-n"]),
    ("btrfs", "mkfs.btrfs", "btrfs-progs", &[], &["btrfs", "check", "--readonly"]),
    ("f2fs", "mkfs.f2fs", "f2fs-tools", &["crypto/crc32_generic", "fs/f2fs/f2fs"], &["fsck.f2fs", "--dry-run"]),
    (
        "vfat",
        "mkfs.vfat",
        "dosfstools",
        &[
            "fs/nls/nls_cp437",
            "fs/nls/nls_ascii",
            "fs/nls/nls_iso8859-1",
            "fs/nls/nls_utf8",
            "fs/fat/fat",
            "fs/fat/vfat",
        ],
        &["fsck.vfat", "-n"],
    ),
];

#[test]
fn needs_kernel_what_shoal_formats_is_mounted_by_linux_on_its_own_md() {
    let Some(lab) = stage::lab("file systems on the kernel's md") else { return };
    if !std::path::Path::new("/dev/fuse").exists() {
        println!("SKIPPED: file systems on the kernel's md: needs FUSE, to make them");
        return;
    }
    let mut stage = Stage::new(&lab);
    let image = pattern(8_000_000, 5);
    for (kind, mkfs, package, modules, check) in KINDS {
        if !has(mkfs) || !has(check[0]) {
            println!("SKIPPED: {kind} on the kernel's md: needs {mkfs} ({package})");
            continue;
        }
        stage.set(&[256 << 20; 3], 512);
        stage.shoal("create --level 5 --chunk 64K --assume-clean --name pond DRIVES", None, None);
        stage.shoal(&format!("format --fs {kind} --label POND DRIVES"), None, None);
        std::fs::write(stage.path("image"), &image).unwrap();
        stage.kernel(&mounted(kind, modules));
        let content = stage.path("content");
        stage.shoal("read DRIVES", None, Some("content"));
        let output = Command::new(check[0]).args(&check[1..]).arg(&content).output().unwrap();
        assert!(output.status.success(), "{kind}: {}", String::from_utf8_lossy(&output.stdout));
        assert!(holds(&content, &image), "{kind}: what the kernel wrote is not in what shoal reads");
        assert_eq!(stage.json("scrub DRIVES")["mismatched_bytes"], 0, "{kind}");
    }
}

/// Loads drivers unless they are there, assembles, mounts, and copies the image in; then reads it back from the members.
fn mounted(kind: &str, modules: &[&str]) -> String {
    let load =
        |module: &&str| format!("insmod /usr/lib/uml/modules/$(uname -r)/kernel/{module}.ko 2>/dev/null || true\n");
    let load = modules.iter().map(load).collect::<String>();
    format!(
        "{load}mdadm --assemble --quiet /dev/md0 $DRIVES
         mkdir -p /run/pond
         mount -n -t {kind} /dev/md0 /run/pond
         cp image /run/pond/image
         umount -n /run/pond
         echo 3 >/proc/sys/vm/drop_caches
         mount -n -t {kind} -o ro /dev/md0 /run/pond
         cmp image /run/pond/image
         umount -n /run/pond
         mdadm --stop --quiet /dev/md0"
    )
}

/// Whether the content has the image's blocks, wherever the file system put them.
fn holds(content: &std::path::Path, image: &[u8]) -> bool {
    let content = std::fs::read(content).unwrap();
    let blocks: std::collections::HashSet<&[u8]> = content.chunks_exact(4096).collect();
    image.chunks_exact(4096).all(|block| blocks.contains(block))
}
