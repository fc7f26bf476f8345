//! Bad input: one line that names the thing and the mend, the right exit status, and not one byte
//! changed.

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::support::{Bay, Ran, has, names};

const USAGE: i32 = 2;
const REFUSED: i32 = 3;

#[test]
fn numbers_of_members() {
    let bay = Bay::new(7);
    for (level, few) in [("0", 0), ("1", 1), ("4", 1), ("5", 1), ("6", 3), ("10", 1), ("50", 2), ("60", 6)] {
        if few > 0 {
            bay.refused(&format!("create --level {level} {}", names(0..few)), USAGE, &["shoal: "]);
        }
    }
    bay.refused("create --level 50 d0 d1 d2 d3 d4 d5 d6", USAGE, &["7 drives do not make 2 groups"]);
    bay.refused("create --level 5 --spares 3 d0 d1 d2", USAGE, &["cannot be spares"]);
    bay.refused("create --level 50 --spares 1 d0 d1 d2 d3 d4 d5 d6", USAGE, &["no spares"]);
    let many = Bay::with_sizes(&[4 << 20; 400]);
    many.refused(&format!("create --level 6 {}", names(0..400)), USAGE, &["400 members are too many"]);
}

#[test]
fn levels_layouts_chunks_and_sizes() {
    let bay = Bay::new(4);
    let create = |rest: &str, words: &[&str]| bay.refused(&format!("create {rest} d0 d1 d2 d3"), USAGE, words);
    create("--level 7", &["`7` is no level"]);
    create("--level 5 --layout n2", &["no layout `n2`"]);
    create("--level 5 --chunk 48K", &["chunk", "power of two"]);
    create("--level 0 --chunk 1K", &["chunk"]);
    create("--level 5 --chunk 2GiB", &["too small"]);
    for size in ["48Q", "1.5M", "-3", "99999999999999999999"] {
        let ran = bay.run(&format!("create --level 5 --chunk={size} d0 d1 d2"));
        assert_eq!(ran.code, USAGE, "{size}");
        assert!(ran.stderr.contains(size) && ran.stderr.contains("--chunk"), "{}", ran.stderr);
    }
    bay.refused("--parity-kernel abacus examine d0", USAGE, &["abacus"]);
    bay.add("small", 100 << 10);
    bay.add("empty", 0);
    bay.refused("create --level 5 d0 d1 small", USAGE, &["small"]);
    bay.refused("create --level 5 d0 d1 empty", USAGE, &["empty"]);
    bay.refused("create --level 5 --parity-kernel nonsense d0 d1 d2", USAGE, &["nonsense"]);
}

#[test]
fn things_that_are_no_drives() {
    let bay = Bay::new(3);
    bay.done("create --level 5 d0 d1 d2");
    std::fs::create_dir(bay.path("folder")).unwrap();
    assert!(Command::new("mkfifo").arg(bay.path("pipe")).status().unwrap().success());
    symlink("nowhere", bay.path("dangling")).unwrap();
    for (thing, word) in [
        ("folder", "directory"),
        ("missing", "not found"),
        ("/dev/null", "character device"),
        ("pipe", "pipe"),
        ("dangling", "not found"),
        ("d0/inside", "not found"),
    ] {
        for line in [
            format!("create --level 1 d0 {thing}"),
            format!("read {thing} d0 d1"),
            format!("write d0 {thing}"),
            format!("fail --member {thing} d0 d1 d2"),
            format!("add --drive {thing} d0 d1 d2"),
            format!("rebuild {thing}"),
            format!("scrub {thing} d0"),
            format!("status --scan . {thing}"),
        ] {
            bay.refused(&line, USAGE, &[thing, word]);
        }
        // What is looked at is shown without it.
        let shown = bay.done(&format!("status d0 d1 d2 {thing}"));
        shown.is_one_line("status", &[thing, word, "shown without it"]);
    }
    bay.refused("status --scan missing d0", USAGE, &["missing"]);
    bay.refused("status --scan d1 d0", USAGE, &["d1"]);
}

#[test]
fn one_drive_under_two_names() {
    let bay = Bay::new(3);
    symlink("d0", bay.path("symbolic")).unwrap();
    std::fs::hard_link(bay.path("d0"), bay.path("hard")).unwrap();
    for twice in ["d0", "./d0", "symbolic", "hard"] {
        bay.refused(&format!("create --level 5 d0 d1 {twice}"), USAGE, &["d0", twice, "give it once"]);
    }
    bay.done("create --level 5 d0 d1 d2");
    for line in ["status d0 symbolic", "read hard d0 d1", "write d0 d1 d2 d0", "add --drive symbolic d0 d1 d2"] {
        bay.refused(line, USAGE, &["same drive", "give it once"]);
    }
    bay.refused("stop nosuch", USAGE, &["nosuch", "not found"]);
    std::fs::copy(bay.path("d1"), bay.path("copy")).unwrap();
    let written = bay.done("write d0 d1 d2 copy");
    assert!(written.stderr.contains("copy is not used: it is a copy of d1"), "{}", written.stderr);
}

#[test]
fn members_of_different_arrays() {
    let bay = Bay::new(5);
    bay.done("create --level 5 d0 d1 d2");
    bay.done("create --level 0 d3 d4");
    bay.add("plain", 8 << 20);
    for line in ["status", "read", "write", "rebuild", "scrub"] {
        bay.refused(&format!("{line} d0 d1 d3 d4"), USAGE, &["d0", "d3", "array"]);
        bay.refused(&format!("{line} d0 d1 d4"), USAGE, &["d0", "d4", "give the members of one"]);
    }
    for line in ["read", "write", "rebuild", "scrub"] {
        bay.refused(&format!("{line} d0 d1 plain"), USAGE, &["plain"]);
    }
    bay.done("status d0 d1 d2 plain").is_one_line("status", &["plain: no member of an array", "shown without it"]);
    bay.refused("fail --member d3 --scan . d0", USAGE, &["d3 is no member"]);
}

#[test]
fn an_array_of_arrays_and_an_array_beside_it() {
    let bay = Bay::new(8);
    bay.done("create --level 1 --name other d6 d7");
    bay.done("create --level 51 --name pond d0 d1 d2 d3 d4 d5");
    for drives in ["d6 d7 d0 d1 d2 d3 d4 d5", "d0 d1 d2 d6 d7"] {
        bay.refused(&format!("read {drives}"), USAGE, &["other", "of array", "pond", "leave", "d6 and", "d7 out"]);
    }
}

#[test]
fn more_of_a_drive_than_there_is() {
    let bay = Bay::new(3);
    bay.refused("create --level 5 --size 1T d0 d1 d2", USAGE, &["--size 1 TiB", "d0 has 8 MiB", "leave --size out"]);
    bay.done("create --level 5 --size 7M d0 d1 d2");
}

#[test]
fn damaged_superblocks() {
    let bay = Bay::new(3);
    bay.done("create --level 5 --chunk 64K d0 d1 d2");
    // Every field: the header's, times and counts, and the table of roles; 4 KiB is where the
    // superblock starts.
    for at in (0..256).step_by(8).chain([256, 260]) {
        let was = bay.peek("d1", 4096 + at, 1);
        bay.poke("d1", 4096 + at, &[was[0] ^ 0x41]);
        bay.refused("read d0 d1 d2", USAGE, &["d1"]);
        bay.refused("write d0 d1 d2", USAGE, &["d1"]);
        let shown = bay.done("status d0 d1 d2");
        shown.is_one_line("status", &["d1", "shown without it"]);
        assert!(String::from_utf8(shown.stdout).unwrap().contains("health degraded, 1 of 3 missing"));
        let examined = bay.refused("--json examine d1", 1, &["d1"]);
        assert!(examined.json()["drives"][0]["problem"].is_string());
        bay.poke("d1", 4096 + at, &was);
    }
    let file = std::fs::File::options().write(true).open(bay.path("d1")).unwrap();
    for length in [4096 + 100, 8192, 1 << 20, (8 << 20) - 4096] {
        file.set_len(length).unwrap();
        bay.refused("write d0 d1 d2", USAGE, &["d1"]);
    }
    bay.done("read d0 d2 --length 1M");
}

#[test]
fn drives_that_hold_something() {
    let bay = Bay::new(3);
    bay.done("create --level 5 d0 d1 d2");
    // What is no file system that could be made here is known by its mark.
    let marks: [(&str, u64, &[u8]); 8] = [
        ("ext", 0x438, &[0x53, 0xef]),
        ("XFS", 0, b"XFSB"),
        ("LUKS", 0, b"LUKS\xba\xbe\0\x01"),
        ("LVM", 512, b"LABELONE\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0LVM2 001"),
        ("swap", 4086, b"SWAPSPACE2"),
        ("GPT", 512, b"EFI PART"),
        ("partition", 446, &[0x80, 1, 1, 0, 0x83, 1, 1, 1, 63, 0, 0, 0, 0, 16, 0, 0]),
        ("btrfs", 0x10040, b"_BHRfS_M"),
    ];
    for (what, offset, mark) in marks {
        bay.add("used", 8 << 20);
        bay.poke("used", offset, mark);
        bay.poke("used", 510, &[0x55, 0xaa]);
        bay.add("free", 8 << 20);
        bay.refused("create --level 1 free used", REFUSED, &["used holds", "--force"]);
        let ran = bay.refused("add --drive used d0 d1 d2", REFUSED, &["used holds", "--force"]);
        assert!(ran.stderr.to_lowercase().contains(&what.to_lowercase()), "{what}: {}", ran.stderr);
    }
    bay.refused("create --level 1 d0 d1", REFUSED, &["member of array", "--force"]);
    bay.done("create --force --level 1 d0 used");
    assert_eq!(bay.run("status d1 d2").code, 0, "the drives that were not named are as they were");
}

#[test]
fn needs_root_loop_force_does_not_override_a_mount() {
    if !is_root() || !has("losetup") || !has("mkfs.ext4") {
        eprintln!("SKIPPED: a mounted drive is refused in spite of --force: needs root, losetup and mkfs.ext4");
        return;
    }
    let bay = Bay::with_sizes(&[32 << 20, 32 << 20]);
    let place = bay.path("place");
    std::fs::create_dir(&place).unwrap();
    let path = bay.path("d1");
    let tool = |program: &str, arguments: &[&std::ffi::OsStr]| {
        Command::new(program).args(arguments).env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin").output().unwrap()
    };
    assert!(tool("mkfs.ext4", &["-q".as_ref(), "-F".as_ref(), path.as_ref()]).status.success());
    if !tool("mount", &["-o".as_ref(), "loop".as_ref(), path.as_ref(), place.as_ref()]).status.success() {
        eprintln!("SKIPPED: a mounted drive is refused in spite of --force: needs loop devices");
        return;
    }
    let before = std::fs::read(&path).unwrap();
    let ran = bay.run("create --force --level 1 d0 d1");
    let after = std::fs::read(&path).unwrap();
    assert!(tool("umount", &[place.as_ref()]).status.success());
    assert_eq!(ran.code, REFUSED, "{}", ran.stderr);
    ran.is_one_line("create", &["d1 is in use", "mounted on"]);
    assert!(before == after, "the mounted drive has changed");
}

#[test]
fn names_that_a_terminal_would_obey() {
    let bay = Bay::new(3);
    bay.done("create --level 5 --name pond d0 d1 d2");
    let name = "a\u{1b}[2Jb\nforged: c\u{202e}\u{9b}m";
    for drive in ["d0", "d1", "d2"] {
        rename(&bay, drive, name);
    }
    let is_harmless =
        |text: &str| text.chars().all(|letter| letter == '\n' || !letter.is_control() && letter != '\u{202e}');
    for line in ["examine d0", "status d0 d1 d2", "status d0", "scrub d0 d1 d2", "recover d0 d1 d2"] {
        let ran = bay.run(line);
        let text = String::from_utf8(ran.stdout).unwrap();
        assert!(is_harmless(&text) && is_harmless(&ran.stderr), "{line}: {text:?} {:?}", ran.stderr);
        assert!(text.lines().all(|line| !line.starts_with("forged")), "{line}: {text}");
        assert!(text.contains(r"a\u{1b}[2Jb\nforged: c\u{202e}\u{9b}m"), "{line}: {text}");
    }
    for line in ["write d0", "fail --member d0 d0", "scrub d0"] {
        let ran = bay.refused(line, REFUSED, &[r"a\u{1b}[2Jb\nforged: c"]);
        assert!(is_harmless(&ran.stderr), "{line}: {:?}", ran.stderr);
    }
    // Programs get what is there.
    assert_eq!(bay.json("examine d0")["drives"][0]["superblock"]["name"], name);
    assert_eq!(bay.json("status d0 d1 d2")["name"], name);
}

/// Gives an array a name that `create` would not take, in the superblock (4 KiB from the start) of
/// one member.
fn rename(bay: &Bay, drive: &str, name: &str) {
    let mut superblock = bay.peek(drive, 4096, 4096);
    superblock[32..64].fill(0);
    superblock[32..32 + name.len()].copy_from_slice(name.as_bytes());
    superblock[216..220].fill(0);
    let roles = u32::from_le_bytes(superblock[220..224].try_into().unwrap()) as usize;
    let words = superblock[..256 + 2 * roles].chunks(4).map(|word| {
        let mut four = [0; 4];
        four[..word.len()].copy_from_slice(word);
        u64::from(u32::from_le_bytes(four))
    });
    let sum: u64 = words.sum();
    let folded = (sum & 0xffff_ffff) + (sum >> 32);
    superblock[216..220].copy_from_slice(&u32::try_from(folded & 0xffff_ffff).unwrap().to_le_bytes());
    bay.poke(drive, 4096, &superblock);
}

#[test]
fn ranges_outside_the_content() {
    let bay = Bay::new(3);
    bay.done("create --level 5 d0 d1 d2");
    let size = bay.json("status d0 d1 d2")["capacity_bytes"].as_u64().unwrap();
    bay.refused(&format!("read d0 d1 d2 --offset {}", size + 1), USAGE, &["beyond the content"]);
    bay.refused(&format!("read d0 d1 d2 --offset {size} --length 1"), USAGE, &["beyond the content"]);
    bay.refused("read d0 d1 d2 --offset 1M --length 18446744073709551615", USAGE, &["beyond the content"]);
    bay.refused(&format!("write d0 d1 d2 --offset {}", size + 1), USAGE, &["beyond the content"]);
    let ran = bay.run_with(&format!("write d0 d1 d2 --offset {}", size - 3), b"four");
    assert_eq!(ran.code, USAGE);
    ran.is_one_line("write", &["more than the content has room for", "nothing was written"]);
    assert!(bay.done(&format!("read d0 d1 d2 --offset {size}")).stdout.is_empty());
    // How much a file has is known before.
    std::fs::write(bay.path("input"), "four").unwrap();
    let line = format!("write d0 d1 d2 --offset {}", size - 3);
    let mut command = bay.command(line.split_whitespace());
    let ran = Ran::of(command.stdin(std::fs::File::open(bay.path("input")).unwrap()).output().unwrap());
    assert_eq!(ran.code, USAGE);
    ran.is_one_line("write", &["4 bytes", "room for 3", "nothing was written"]);
}

/// What has no signature is written over: it is for whoever writes it to know.
#[test]
fn a_file_system_is_not_written_over_unless_that_is_meant() {
    let bay = Bay::new(2);
    bay.done("create --name pond --level 1 d0 d1");
    let swap = [vec![1; 4086], b"SWAPSPACE2".to_vec()].concat();
    for content in [&b"old"[..], &swap] {
        bay.write("write d0 d1", content);
    }
    for line in ["write d0 d1", "write d0 d1 --offset 1M"] {
        let ran = bay.run_with(line, b"new");
        assert_eq!(ran.code, REFUSED, "{}", ran.stderr);
        ran.is_one_line(line, &["pond carries swap", "shoal mount"]);
    }
    assert!(bay.done("read d0 d1 --length 4096").stdout == swap);
    bay.write("write --force d0 d1", b"new");
}

#[test]
fn commands_that_do_not_apply() {
    let bay = Bay::new(4);
    bay.done("create --level 0 d0 d1");
    bay.refused("scrub d0 d1", USAGE, &["raid0", "no parity or copies"]);
    bay.refused("scrub --repair d0 d1", USAGE, &["raid0", "no parity or copies"]);
    bay.refused("fail --member d0 d0 d1", REFUSED, &["d0 cannot be taken out", "no redundancy"]);
    bay.refused("add --drive d2 d0 d1", USAGE, &["shoal: "]);
    bay.done("create --force --level 5 d0 d1 d2");
    bay.done("fail --member d0 d0 d1 d2");
    bay.refused("fail --member d1 d1 d2", REFUSED, &["d1 cannot be taken out"]);
    bay.done("create --force --level 1 d2 d3");
    bay.done("fail --member d2 d2 d3");
    bay.refused("fail --member d3 d3", REFUSED, &["d3 cannot be taken out"]);
    let refused = bay.run("fail --member d2 d3 d2");
    assert_eq!(refused.code, USAGE, "{}", refused.stderr);
    let lines: Vec<_> = refused.stderr.lines().collect();
    assert!(lines[0].contains("d2 is not used: it failed") && lines[1].contains("d2 is no member"), "{lines:?}");
}

#[test]
fn needs_an_ordinary_user_files_without_permission() {
    let bay = Bay::new(3);
    bay.done("create --level 5 d0 d1 d2");
    if is_root() {
        eprintln!("SKIPPED: a file without permission to write: needs an ordinary user");
        return;
    }
    let mut permissions = std::fs::metadata(bay.path("d1")).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(bay.path("d1"), permissions).unwrap();
    bay.refused("write d0 d1 d2", 1, &["d1", "permission denied"]);
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|it| std::os::unix::fs::MetadataExt::uid(&it) == 0)
}

/// What can never be done is told before what a drive holds: `--force` would not help.
#[test]
fn what_makes_no_array_is_told_before_what_drives_hold() {
    let bay = Bay::new(5);
    bay.done("create --level 5 d0 d1 d2");
    bay.poke("d3", 0, b"letters to a friend");
    bay.poke("d4", 0, b"letters to a friend");
    for (line, why) in [
        ("create --level 6 d3 d4", "members"),
        ("create --level 6 --spares 1 d0 d3 d4", "members"),
        ("create --level 60 --groups 2 d0 d3 d4", "groups"),
        ("create --level 5 --chunk 3K d0 d3 d4", "chunk"),
        ("study --levels 5 --members 7 d3 d4", "7"),
    ] {
        let ran = bay.run(line);
        assert_eq!(ran.code, USAGE, "shoal {line}: {}", ran.stderr);
        assert!(ran.stderr.contains(why) && !ran.stderr.contains("--force"), "shoal {line}: {}", ran.stderr);
    }
    let ran = bay.refused("grow --raid-devices 5 --drive d3 d0 d1 d2", REFUSED, &["make them agree"]);
    assert!(!ran.stderr.contains("--force"), "{}", ran.stderr);
}
