//! `shoal recover`: members among other files, stale ones, copies, damaged images, whole disks; and
//! nothing is written.

use std::fs::{self, File};
use std::ops::Range;
use std::process::Command;

mod danger;

use crate::support::{Bay, Ran, has, pattern};
use serde_json::Value;

/// A RAID5 of three with content, and that content.
fn raid5() -> (Bay, Vec<u8>) {
    let bay = Bay::new(3);
    bay.done("create --level 5 --chunk 64K --assume-clean --name pond d0 d1 d2");
    let content = pattern(6 << 20, 1);
    bay.write("write d0 d1 d2", &content);
    (bay, content)
}

fn choices(array: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let members = array["members"].as_array().unwrap().iter();
    let mut choices: Vec<_> = members.map(|member| (text(&member["drive"]), text(&member["choice"]))).collect();
    choices.sort();
    choices
}

#[test]
fn members_are_found_among_other_files_and_nothing_is_written() {
    let (bay, written) = raid5();
    fs::create_dir(bay.path("attic")).unwrap();
    fs::rename(bay.path("d1"), bay.path("attic/copy of an old stick")).unwrap();
    bay.add("d2-unrelated", 1 << 20);
    let before = bay.snapshot();
    let found = bay.json("recover .");
    assert!(bay.snapshot() == before, "looking changed a file");
    let array = &found["arrays"][0];
    assert_eq!(found["arrays"].as_array().unwrap().len(), 1);
    assert_eq!(array["array"]["health"], "optimal");
    assert_eq!(array["losses"].as_array().unwrap().len(), 0);

    let saved = bay.json("recover . --save rescued");
    assert_eq!(saved["arrays"][0]["saved"]["lost"].as_array().unwrap().len(), 0);
    assert!(fs::read(bay.path("rescued")).unwrap().starts_with(&written));
    bay.refused("recover . --save rescued", 3, &["rescued", "already"]);
}

#[test]
fn a_stale_member_is_forced_only_if_it_is_needed_and_applied_only_if_told() {
    let (bay, written) = raid5();
    fs::copy(bay.path("d1"), bay.path("d1-of-yesterday")).unwrap();
    bay.done("fail --member d1 d0 d1 d2");
    bay.write("write --offset 4M d0 d2", &[7; 100_000]);

    // With two fresh members the old one is left out.
    let found = bay.json("recover d0 d1 d2");
    assert_eq!(found["arrays"][0]["needs_apply"], false);
    let expected = [("d0", "use"), ("d1", "leave out"), ("d2", "use")];
    assert_eq!(choices(&found["arrays"][0]), expected.map(|(drive, choice)| (drive.to_owned(), choice.to_owned())));

    // Without one of them it is needed, and what that costs is said.
    let before = bay.snapshot();
    let found = bay.json("recover d0 d1");
    assert!(bay.snapshot() == before, "looking changed a file");
    let array = &found["arrays"][0];
    assert_eq!((array["needs_apply"].as_bool(), array["applied"].as_bool()), (Some(true), Some(false)));
    assert!(array["losses"][0].as_str().unwrap().contains("d1"));
    assert_eq!(array["array"]["health"], "degraded");
    bay.json("recover d0 d1 --save rescued");
    let rescued = fs::read(bay.path("rescued")).unwrap();
    assert!(rescued[..4 << 20] == written[..4 << 20], "what was written before is whole");

    fs::rename(bay.path("d2"), bay.path("away")).unwrap();
    assert_eq!(bay.json("status d0 d1 d2")["health"], "failed");
    assert_eq!(bay.json("recover d0 d1 --apply")["arrays"][0]["applied"], true);
    let read = bay.done("read --length 4M d0 d1");
    assert!(read.stdout == written[..4 << 20]);
}

#[test]
fn damaged_copies_give_what_they_have() {
    let (bay, written) = raid5();
    // One image was cut off, of another a part could not be copied, at different places.
    let size = fs::metadata(bay.path("d0")).unwrap().len();
    File::options().write(true).open(bay.path("d0")).unwrap().set_len(size - (2 << 20)).unwrap();
    bay.poke("d1", 3 << 20, &[0xee; 64 << 10]);
    let map = format!(
        "# Mapfile. Created by GNU ddrescue\n0x0 + 1\n0x0 {0:#x} +\n{0:#x} 0x10000 -\n{1:#x} {2:#x} +\n",
        3 << 20,
        (3 << 20) + 0x10000,
        size - (3 << 20) - 0x10000
    );
    fs::write(bay.path("d1.map"), map).unwrap();
    let saved = bay.json("recover . --save rescued");
    let array = &saved["arrays"][0];
    assert_eq!(array["saved"]["lost"].as_array().unwrap().len(), 0, "{array}");
    assert!(fs::read(bay.path("rescued")).unwrap().starts_with(&written));

    // Without the third member both damages count: exactly these ranges are lost.
    fs::remove_file(bay.path("rescued")).unwrap();
    let saved = saved_in_part(&bay, "recover d0 d1 --save rescued");
    let lost = saved["arrays"][0]["saved"]["lost"].as_array().unwrap();
    let rescued = fs::read(bay.path("rescued")).unwrap();
    assert!(!lost.is_empty());
    let is_lost = |place: usize| {
        lost.iter().any(|range| {
            let (start, bytes) = (range["offset"].as_u64().unwrap(), range["bytes"].as_u64().unwrap());
            (start..start + bytes).contains(&(place as u64))
        })
    };
    for (place, (one, other)) in rescued.iter().zip(&written).enumerate() {
        assert!(one == other || is_lost(place), "byte {place} is wrong, and not listed");
    }
}

#[test]
fn members_in_partitions_of_disk_images_are_found() {
    let (bay, written) = raid5();
    for number in 0..3 {
        // A whole disk with an MBR: the member in its second partition.
        let member = fs::read(bay.path(&format!("d{number}"))).unwrap();
        let mut disk = vec![0; (4 << 20) + member.len()];
        let entry = |first: u32, sectors: u32| {
            let mut entry = [0; 16];
            entry[4] = 0xfd;
            entry[8..12].copy_from_slice(&first.to_le_bytes());
            entry[12..16].copy_from_slice(&sectors.to_le_bytes());
            entry
        };
        disk[446..462].copy_from_slice(&entry(2048, 2048));
        disk[462..478].copy_from_slice(&entry(8192, (member.len() / 512) as u32));
        disk[510..512].copy_from_slice(&[0x55, 0xaa]);
        disk[4 << 20..].copy_from_slice(&member);
        fs::write(bay.path(&format!("disk{number}.img")), disk).unwrap();
        fs::remove_file(bay.path(&format!("d{number}"))).unwrap();
    }
    let saved = bay.json("recover . --save rescued");
    assert!(saved["arrays"][0]["members"][0]["drive"].as_str().unwrap().ends_with("partition 2"));
    assert!(fs::read(bay.path("rescued")).unwrap().starts_with(&written));
}

#[test]
fn arrays_of_arrays_and_several_arrays_are_told_apart() {
    let bay = Bay::new(10);
    bay.done("create --level 50 --chunk 64K --groups 2 --assume-clean --name deep d0 d1 d2 d3 d4 d5");
    bay.done("create --level 1 --assume-clean --name shallow d6 d7");
    let written = pattern(1 << 20, 2);
    bay.write("write d0 d1 d2 d3 d4 d5", &written);
    let found = bay.json("recover .");
    assert_eq!(found["arrays"].as_array().unwrap().len(), 2, "{found}");
    bay.refused("recover . --save rescued", 2, &["--array"]);
    bay.json("recover . --array deep --save rescued");
    assert!(fs::read(bay.path("rescued")).unwrap().starts_with(&written));
    bay.refused("recover d8 d9", 2, &["no member"]);
}

/// Two damaged members of a degraded array carry a file system. What is lost is listed by position,
/// and the file system is asked whose it was: every other file is as it was written.
#[test]
fn needs_e2fsprogs_only_files_on_lost_blocks_are_harmed() {
    if !has("mkfs.ext4") || !has("debugfs") {
        return eprintln!("SKIPPED: asking a file system what is lost needs mkfs.ext4 and debugfs (e2fsprogs)");
    }
    let bay = Bay::with_sizes(&[24 << 20; 3]);
    fs::create_dir(bay.path("files")).unwrap();
    let files: Vec<_> = (0..40).map(|number| (format!("file{number}"), pattern(400_000, number))).collect();
    for (name, bytes) in &files {
        fs::write(bay.path("files").join(name), bytes).unwrap();
    }
    bay.done("create --level 5 --chunk 64K --assume-clean d0 d1 d2");
    let capacity = bay.json("status d0 d1 d2")["capacity_bytes"].as_u64().unwrap();
    bay.add("image", capacity);
    tool(&bay, "mkfs.ext4", &["-q", "-b", "4096", "-O", "^has_journal", "-d", "files", "image"]);
    bay.write("write d0 d1 d2", &fs::read(bay.path("image")).unwrap());

    let wanted = damage(&bay);
    let saved = saved_in_part(&bay, "recover d0 d1 --save rescued");
    let lost = saved["arrays"][0]["saved"]["lost"].as_array().unwrap();
    assert_eq!(lost.iter().map(|range| range["bytes"].as_u64().unwrap()).sum::<u64>(), wanted, "{lost:?}");

    let owners = owners_of(&bay, lost);
    let mut harmed = Vec::new();
    for (name, bytes) in &files {
        tool(&bay, "debugfs", &["-R", &format!("dump /{name} found"), "rescued"]);
        if fs::read(bay.path("found")).unwrap() != *bytes {
            harmed.push(name.clone());
        }
    }
    assert!(!harmed.is_empty(), "no file lay there: the test shows nothing");
    assert_eq!(harmed, owners, "harmed files, and those that own blocks that are listed as lost");
}

/// Takes d2 away, three places of d1 and one of d0, and tells how many bytes of content that makes.
fn damage(bay: &Bay) -> u64 {
    let size = fs::metadata(bay.path("d0")).unwrap().len();
    let start = bay.json("examine d0")["drives"][0]["superblock"]["data_offset_bytes"].as_u64().unwrap();
    let mut wanted = 0;
    for (number, holes) in [(1, &[8 << 20, 12 << 20, 15 << 20][..]), (0, &[10 << 20][..])] {
        let name = format!("d{number}");
        let mut map = "# Mapfile. Created by GNU ddrescue\n0x0 + 1\n".to_owned();
        let mut done = 0;
        for &hole in holes {
            bay.poke(&name, hole, &[0xee; 8192]);
            // A row keeps its parity on one member: where that is one of the two lost ones, one
            // block of data is lost, else two.
            let parity = 2 - (hole - start) / (64 << 10) % 3;
            wanted += if parity == 2 || parity == number { 8192 } else { 2 * 8192 };
            map += &format!("{done:#x} {:#x} +\n{hole:#x} 0x2000 -\n", hole - done);
            done = hole + 0x2000;
        }
        fs::write(bay.path(&format!("{name}.map")), map + &format!("{done:#x} {:#x} +\n", size - done)).unwrap();
    }
    wanted
}

/// The files that own blocks of lost ranges, as the file system says, in order of their numbers.
fn owners_of(bay: &Bay, lost: &[Value]) -> Vec<String> {
    let blocks = lost.iter().flat_map(|range| {
        let (offset, bytes) = (range["offset"].as_u64().unwrap(), range["bytes"].as_u64().unwrap());
        offset / 4096..(offset + bytes).div_ceil(4096)
    });
    let blocks = blocks.map(|block| block.to_string()).collect::<Vec<_>>().join(" ");
    let second = |text: &str| -> Vec<String> {
        let words = text.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1));
        words.filter(|word| !word.starts_with('<')).map(|word| word.trim_start_matches('/').to_owned()).collect()
    };
    let inodes = second(&tool(bay, "debugfs", &["-R", &format!("icheck {blocks}"), "rescued"]));
    let mut names = second(&tool(bay, "debugfs", &["-R", &format!("ncheck {}", inodes.join(" ")), "rescued"]));
    names.sort_by_key(|name| name.trim_start_matches("file").parse::<u32>().ok());
    names.dedup();
    names
}

/// Runs a program of e2fsprogs in the bay, and gives what it prints.
fn tool(bay: &Bay, program: &str, arguments: &[&str]) -> String {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let ran = Command::new(program).args(arguments).current_dir(bay.path("")).env("PATH", path).output().unwrap();
    assert!(ran.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

/// A mapfile that cannot be believed is not passed over: what looks like data may be none.
#[test]
fn a_damaged_mapfile_is_refused_by_name() {
    let (bay, _) = raid5();
    fs::write(bay.path("d1.map"), "# Mapfile. Created by GNU ddrescue\n0x0 + 1\n0x0 what +\n").unwrap();
    bay.refused("recover d0 d1 d2", 2, &["d1.map", "move it away"]);
    fs::write(bay.path("d1.map"), "a log of something else").unwrap();
    bay.done("recover d0 d1 d2");
}

/// A member, and how much is cut off at its end.
type Cut = (&'static str, u64);

/// Arrays whose damage is more than they survive in places: how each is made, what becomes of its
/// members, and which of them are given.
const DAMAGED: [(&str, &str, &[Cut], &str); 9] = [
    ("--level 0 --chunk 64K", "d0 d1", &[("d1", 3_000_000)], "d0 d1"),
    ("--level linear", "d0 d1", &[("d0", 1_000_000)], "d0 d1"),
    ("--level 1", "d0 d1", &[("d0", 2_500_000)], "d0"),
    ("--level 5 --chunk 64K", "d0 d1 d2", &[("d1", 3_000_000)], "d0 d1"),
    ("--level 5 --chunk 64K", "d0 d1 d2", &[("d0", 1_000_000), ("d1", 3_000_000)], "d0 d1 d2"),
    ("--level 5 --chunk 64K", "d0 d1 d2", &[("d1", 1_000_000)], "d1"),
    ("--level 6 --chunk 64K", "d0 d1 d2 d3", &[("d1", 3_000_000), ("d2", 1_000_000)], "d0 d1 d2"),
    ("--level 10 --layout f2 --chunk 64K", "d0 d1 d2 d3", &[("d0", 5_000_000), ("d1", 3_000_000)], "d0 d1 d2 d3"),
    ("--level 50 --groups 2 --chunk 64K", "d0 d1 d2 d3 d4 d5", &[("d4", 2_000_000)], "d0 d1 d2 d4 d5"),
];

/// What is said of an array before anything is copied is what copying then cannot have.
#[test]
fn what_no_member_holds_is_said_before_it_is_saved() {
    for (shape, members, cuts, given) in DAMAGED {
        let bay = Bay::new(6);
        bay.done(&format!("create {shape} --assume-clean --name pond {members}"));
        let size = bay.json(&format!("status {members}"))["capacity_bytes"].as_u64().unwrap();
        let written = pattern(size as usize, 3);
        bay.write(&format!("write {members}"), &written);
        for &(name, bytes) in cuts {
            cut_off(&bay, name, bytes);
        }
        let found = bay.json(&format!("recover {given}"));
        let said = &found["arrays"][0]["unreadable"];
        let saved = saved_in_part(&bay, &format!("recover {given} --save rescued"));
        let lost = &saved["arrays"][0]["saved"]["lost"];
        assert!(!lost.as_array().unwrap().is_empty(), "{shape} of {given}: nothing is lost");
        assert_eq!(&said["ranges"], lost, "{shape} of {given}");
        let lost = ranges(lost);
        let bytes: u64 = lost.iter().map(|range| range.end - range.start).sum();
        assert_eq!(said["bytes"], bytes, "{shape} of {given}");
        let text = String::from_utf8(bay.done(&format!("recover {given}")).stdout).unwrap();
        assert!(text.contains(&format!("{bytes} of {size} bytes")), "{shape} of {given}: {text}");
        assert!(text.contains("--save FILE"), "{shape} of {given}: {text}");
        assert_eq!(found["arrays"][0]["array"]["health"], "failed", "{shape} of {given}: {found}");
        assert!(text.contains("health failed") && text.contains("on no member that was found"), "{text}");
        let rescued = fs::read(bay.path("rescued")).unwrap();
        assert_eq!(rescued.len() as u64, size);
        let mut start = 0;
        for range in lost.into_iter().chain(std::iter::once(size..size)) {
            let (from, to) = (start as usize, range.start as usize);
            assert!(rescued[from..to] == written[from..to], "{shape} of {given}: {from} to {to}");
            start = range.end;
        }
    }
}

/// What the other members make up for is no loss, and what is cut off behind the data is none.
#[test]
fn what_others_have_is_not_said_to_be_lost() {
    let (bay, _) = raid5();
    cut_off(&bay, "d1", 3_000_000);
    let found = bay.json("recover d0 d1 d2");
    assert_eq!(found["arrays"][0]["unreadable"]["bytes"], 0);
    assert_eq!(found["arrays"][0]["losses"].as_array().unwrap().len(), 0);
    let array = &found["arrays"][0]["array"];
    assert_eq!((array["health"].as_str(), array["drives_to_spare"].as_u64()), (Some("degraded"), Some(0)));
    assert_eq!(array["members"][1]["state"], "incomplete");
}

/// A copy that lacks something is kept, and is no success.
fn saved_in_part(bay: &Bay, line: &str) -> Value {
    let ran = bay.run(&format!("--json {line}"));
    assert_eq!(ran.code, 1, "{line}: {}", ran.stderr);
    ran.is_one_line(line, &["rescued lacks", "bytes of the content", "what could be had is kept"]);
    ran.json()
}

/// Of two images of one member the one that has more of it is used, however they are ordered.
#[test]
fn of_two_images_of_one_member_the_fuller_is_used() {
    let (bay, written) = raid5();
    fs::copy(bay.path("d1"), bay.path("d1-again")).unwrap();
    cut_off(&bay, "d1", 3_000_000);
    let saved = bay.json("recover d0 d1 d1-again --save rescued");
    assert_eq!(saved["arrays"][0]["saved"]["lost"].as_array().unwrap().len(), 0);
    assert!(fs::read(bay.path("rescued")).unwrap().starts_with(&written));
}

fn cut_off(bay: &Bay, name: &str, bytes: u64) {
    let file = File::options().write(true).open(bay.path(name)).unwrap();
    file.set_len(file.metadata().unwrap().len() - bytes).unwrap();
}

fn ranges(lost: &Value) -> Vec<Range<u64>> {
    let range = |range: &Value| {
        let (start, bytes) = (range["offset"].as_u64().unwrap(), range["bytes"].as_u64().unwrap());
        start..start + bytes
    };
    lost.as_array().unwrap().iter().map(range).collect()
}

/// A copy that cannot be made or goes nowhere new leaves everything as it was.
#[test]
fn a_copy_goes_to_a_new_file_or_nowhere() {
    let (bay, _) = raid5();
    std::os::unix::fs::symlink("d0", bay.path("soft")).unwrap();
    std::os::unix::fs::symlink("nowhere", bay.path("dangling")).unwrap();
    fs::hard_link(bay.path("d0"), bay.path("hard")).unwrap();
    for target in ["d0", "d1", "soft", "hard", "dangling"] {
        bay.refused(&format!("recover d0 d1 d2 --save {target}"), 3, &[target, "already", "another file"]);
        bay.refused(&format!("recover d0 d1 d2 --apply --save {target}"), 3, &[target, "already"]);
    }
    assert!(!bay.path("nowhere").exists());
    bay.refused("recover d0 d1 d2 --save no/such/place", 1, &["no/such/place"]);
    bay.add("empty", 0);
    bay.refused("recover d0 d1 empty --save rescued", 2, &["empty", "0 B"]);
    assert!(!bay.path("rescued").exists());
}

/// Where there is no room for the content nothing is left behind that would pass for it.
#[test]
fn a_copy_that_has_no_room_is_taken_away() {
    let (bay, _) = raid5();
    let before = bay.snapshot();
    // The signal is what ends a process that writes more than it may, unless it is ignored.
    let limited = "trap '' XFSZ; ulimit -f 2048; exec \"$0\" recover d0 d1 d2 --save rescued";
    let program = env!("CARGO_BIN_EXE_shoal");
    let ran = Ran::of(
        Command::new("sh")
            .args(["-c", limited, program])
            .current_dir(bay.path(""))
            .env("SHOAL_RUNTIME_DIRECTORY", bay.runtime())
            .env("SHOAL_STATE_DIRECTORY", bay.state())
            .output()
            .unwrap(),
    );
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    ran.is_one_line("recover --save", &["rescued", "too large", "room"]);
    assert!(bay.snapshot() == before, "something is left behind");
}

/// A mapfile is a file; nobody waits for a pipe of that name.
#[test]
fn what_is_called_like_a_mapfile_and_is_no_file_is_passed_over() {
    let (bay, _) = raid5();
    assert!(Command::new("mkfifo").arg(bay.path("d0.log")).status().unwrap().success());
    fs::create_dir(bay.path("d1.map")).unwrap();
    assert_eq!(bay.json("recover d0 d1 d2")["arrays"].as_array().unwrap().len(), 1);
}
