//! File systems that shoal made, mounted by a real kernel on its own md over the same members, also
//! those that this machine's kernel has no driver for; and what the kernel wrote there, read by
//! shoal.

use std::process::Command;

use crate::support::stage;
use crate::support::stage::Stage;
use crate::support::{has, pattern};

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

/// Loads drivers unless they are there, assembles, mounts, and copies the image in; then reads it
/// back from the members.
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

/// What a program finds out of the kernel's md by itself, in blocks of 4 KiB: a chunk, and a stripe
/// of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Found {
    chunk: u64,
    stripe: u64,
}

/// The number behind `name` and an equals sign, if it is there.
fn number_of(text: &str, name: &str) -> Option<u64> {
    let rest = text.split(&format!("{name}=")).nth(1)?;
    rest[..rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len())].parse().ok()
}

/// What shoal's plan tells a program; none if it tells nothing.
fn planned(stage: &mut Stage, kind: &str) -> Option<Found> {
    let plan = stage.json(&format!("format --dry-run --fs {kind} DRIVES"));
    let words: Vec<_> =
        plan["arguments"].as_array().unwrap().iter().flat_map(|it| it["words"].as_array().unwrap()).collect();
    let words = words.iter().map(|word| word.as_str().unwrap()).collect::<Vec<_>>().join(" ");
    match kind {
        "ext4" => Some(Found { chunk: number_of(&words, "stride")?, stripe: number_of(&words, "stripe_width")? }),
        _ => {
            let chunk = number_of(&words, "-d su")? / 4096;
            Some(Found { chunk, stripe: chunk * number_of(&words, ",sw")? })
        }
    }
}

/// The same of what the program would do on the kernel's md if nobody told it anything.
fn found(stage: &mut Stage, kind: &str, assemble: &str) -> Option<Found> {
    let ask = match kind {
        "ext4" => "mkfs.ext4 -n -v -F /dev/md0 2>&1",
        _ => "mkfs.xfs -N -f /dev/md0 2>&1",
    };
    let told = stage.kernel(&format!("set -- $DRIVES\n{assemble}\n{ask}\nmdadm --stop --scan --quiet"));
    let (chunk, stripe) = match kind {
        "ext4" => (number_of(&told, "Stride"), number_of(&told, "Stripe width")),
        _ => (number_of(&told, "sunit"), number_of(&told, "swidth")),
    };
    let found = Found { chunk: chunk.unwrap_or(0), stripe: stripe.unwrap_or(0) };
    (found.chunk > 0 && found.stripe > 0).then_some(found)
}

#[test]
fn needs_kernel_plans_say_what_programs_find_out_by_themselves() {
    let Some(lab) = stage::lab("plans against what mkfs finds") else { return };
    let mut stage = Stage::new(&lab);
    let kinds = [("ext4", "mkfs.ext4"), ("xfs", "mkfs.xfs")].into_iter().filter(|(_, mkfs)| has(mkfs));
    let kinds: Vec<_> = kinds.map(|(kind, _)| kind).collect();
    for (level, count) in [
        ("0", 3),
        ("1", 2),
        ("4", 3),
        ("5", 4),
        ("6", 5),
        ("10", 4),
        ("10 --layout n2", 5),
        ("10 --layout f2", 4),
        ("10 --layout o2", 3),
    ] {
        stage.set(&vec![1200 << 20; count], 512);
        stage.shoal(&format!("create --level {level} --chunk 64K --assume-clean DRIVES"), None, None);
        for kind in &kinds {
            let plan = planned(&mut stage, kind);
            let found = found(&mut stage, kind, "mdadm --assemble --quiet /dev/md0 $DRIVES");
            assert_eq!(plan, found, "{kind} on level {level} of {count}");
        }
    }
    for (level, inner) in [("50", 3), ("50", 4), ("60", 4), ("51", 3)] {
        nested(&mut stage, level, inner, &kinds);
    }
}

/// The kernel joins the stripes of inner arrays to those of the outer one by the least that both
/// fit into, which is not a turn over all drives: what is told is a multiple of what it says.
fn nested(stage: &mut Stage, level: &str, inner: usize, kinds: &[&str]) {
    stage.set(&vec![1200 << 20; 2 * inner], 512);
    stage.shoal(&format!("create --level {level} --groups 2 --chunk 64K --assume-clean DRIVES"), None, None);
    let numbers = |first: usize| (first..first + inner).map(|number| format!(" ${number}")).collect::<String>();
    let assemble = format!(
        "mdadm --assemble --quiet /dev/md1{}\nmdadm --assemble --quiet /dev/md2{}\nmdadm --assemble --quiet /dev/md0 /dev/md1 /dev/md2",
        numbers(1),
        numbers(1 + inner)
    );
    for kind in kinds {
        let plan = planned(stage, kind).unwrap();
        let found = found(stage, kind, &assemble).unwrap();
        assert_eq!(
            (plan.chunk, plan.stripe % found.stripe),
            (found.chunk, 0),
            "{kind} on level {level}: {plan:?} and {found:?}"
        );
        let notes = stage.json(&format!("format --dry-run --fs {kind} DRIVES"))["notes"].to_string();
        assert!(
            !notes.contains("within a stripe"),
            "shoal puts an outer array's data at a stripe: {level} of {inner}: {notes}"
        );
    }
}
