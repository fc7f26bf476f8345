//! Arrays of every level from their making to their repair, by the program alone.

use std::fs;
use std::process::Command;

use crate::support;
use crate::support::{Bay, has, names, pattern};
use serde_json::Value;

struct Case {
    level: &'static str,
    layout: &'static str,
    drives: usize,
    /// Members that can be lost together.
    lost: &'static [usize],
}

const fn case(level: &'static str, layout: &'static str, drives: usize, lost: &'static [usize]) -> Case {
    Case { level, layout, drives, lost }
}

const CASES: [Case; 15] = [
    case("linear", "", 3, &[]),
    case("0", "", 3, &[]),
    case("0", "--layout alternate", 2, &[]),
    case("1", "", 3, &[0, 2]),
    case("4", "", 4, &[3]),
    case("5", "", 3, &[0]),
    case("5", "--layout right-asymmetric", 4, &[1]),
    case("6", "", 5, &[1, 4]),
    case("10", "", 4, &[0, 3]),
    case("10", "--layout f2", 4, &[2]),
    case("10", "--layout o2", 3, &[1]),
    case("50", "", 6, &[0, 5]),
    case("60", "", 8, &[0, 1, 6, 7]),
    case("51", "", 6, &[0, 1, 2, 4]),
    case("61", "", 8, &[0, 1, 2, 3, 5]),
];

impl Case {
    fn create(&self) -> (Bay, String) {
        let bay = Bay::new(self.drives);
        let all = names(0..self.drives);
        bay.done(&format!("create --level {} {} --chunk 64K {all}", self.level, self.layout));
        (bay, all)
    }

    fn is_nested(&self) -> bool {
        ["50", "60", "51", "61"].contains(&self.level)
    }

    fn what(&self) -> String {
        format!("raid {} {}", self.level, self.layout)
    }
}

fn is_clean(bay: &Bay, members: &str, what: &str) {
    let scrub = bay.json(&format!("scrub {members}"));
    assert_eq!((&scrub["complete"], &scrub["mismatched_bytes"]), (&Value::from(true), &Value::from(0)), "{what}");
}

#[test]
fn content_is_read_whatever_the_order_and_names() {
    for case in CASES {
        let (bay, all) = case.create();
        let status = bay.json(&format!("status {all}"));
        assert_eq!(status["health"], "optimal", "{}", case.what());
        let size = usize::try_from(status["capacity_bytes"].as_u64().unwrap()).unwrap();
        let content = pattern(size, 1);
        bay.write(&format!("write {all}"), &content);
        let reversed = names((0..case.drives).rev());
        assert!(bay.done(&format!("read {reversed}")).stdout == content, "{}, reordered", case.what());
        std::fs::rename(bay.path("d1"), bay.path("renamed")).unwrap();
        assert!(bay.done("read --scan . d0").stdout == content, "{}, renamed", case.what());
        let part = bay.done("read --offset 64KiB --length 1MB --scan . renamed").stdout;
        assert!(part == content[65_536..1_065_536], "{}, a part", case.what());
    }
}

#[test]
fn needs_mdadm_every_member_passes_its_examination() {
    if !has("mdadm") {
        eprintln!("SKIPPED: members of every level examined by mdadm: needs mdadm");
        return;
    }
    for case in CASES {
        let (bay, _) = case.create();
        for number in 0..case.drives {
            let path = bay.path(&format!("d{number}"));
            let output =
                Command::new("mdadm").arg("--examine").arg(path).env("PATH", "/usr/sbin:/sbin").output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && text.contains("Version : 1.2"), "{}: {text}", case.what());
            assert!(text.contains("- correct"), "{}: checksum: {text}", case.what());
            let role = bay.json(&format!("examine d{number}"))["drives"][0]["superblock"]["role"].clone();
            let role = role.as_str().unwrap().strip_prefix("role ").unwrap().to_owned();
            assert!(text.contains(&format!("Active device {role}\n")), "{}: {text}", case.what());
        }
    }
}

#[test]
fn what_the_level_survives_is_survived() {
    for case in CASES.iter().filter(|case| !case.lost.is_empty()) {
        let (bay, all) = case.create();
        let mut content = pattern(3_000_000, 2);
        bay.write(&format!("write {all}"), &content);
        let left = names((0..case.drives).filter(|number| !case.lost.contains(number)));
        assert!(bay.done(&format!("read {left} --length 3000000")).stdout == content, "{}, degraded", case.what());
        let change = pattern(700_001, 3);
        bay.write(&format!("write --degraded {left} --offset 123457"), &change);
        content[123_457..823_458].copy_from_slice(&change);
        assert!(bay.done(&format!("read {left} --length 3000000")).stdout == content, "{}, written", case.what());
        assert_eq!(bay.json(&format!("status {left}"))["health"], "degraded", "{}", case.what());
    }
}

#[test]
fn a_member_fails_and_another_drive_takes_its_place() {
    for case in CASES.iter().filter(|case| !case.lost.is_empty()) {
        let (bay, all) = case.create();
        let content = pattern(3_000_000, 4);
        bay.write(&format!("write {all}"), &content);
        let failed = bay.json(&format!("fail --member d1 {all}"));
        assert_eq!(failed["health"], "degraded", "{}", case.what());
        let left = names((0..case.drives).filter(|&number| number != 1));
        bay.add("new", support::DRIVE_BYTES);
        let added = bay.json(&format!("add --drive new {left}"));
        assert_eq!(added["health"], "optimal", "{}", case.what());
        let whole = format!("{left} new");
        is_clean(&bay, &whole, &case.what());
        assert!(bay.done(&format!("read {whole} --length 3000000")).stdout == content, "{}, rebuilt", case.what());
        let status = bay.json("status --scan . d0");
        let shown = if case.is_nested() { &status["members"][0]["array"] } else { &status };
        assert_eq!(shown["left_out"][0]["drive"], "./d1", "{}: {status}", case.what());
    }
}

#[test]
fn a_spare_takes_over_and_a_drive_added_to_a_whole_array_waits() {
    let bay = Bay::new(5);
    let created = bay.json("create --level 5 --spares 1 d0 d1 d2 d3");
    assert_eq!(created["spares"], serde_json::json!(["d3"]));
    let added = bay.json("add --drive d4 d0 d1 d2 d3");
    assert_eq!(added["spares"].as_array().unwrap().len(), 2);
    bay.write("write --scan . d0", &pattern(1_000_000, 5));
    let failed = bay.json("fail --member d0 --scan . d1");
    // It may be done by the time that the command has ended.
    let state = failed["members"][0]["state"].as_str().unwrap();
    assert!(["rebuilding", "in-sync"].contains(&state), "{failed}");
    assert_eq!(bay.json("rebuild --scan . d1")["health"], "optimal");
    is_clean(&bay, "--scan . d1", "raid 5 on a spare");
    assert!(bay.done("read --scan . d1 --length 1MB").stdout == pattern(1_000_000, 5));
}

#[test]
fn beyond_what_the_level_survives_the_rest_is_read() {
    let bay = Bay::new(3);
    bay.done("create --level 5 --chunk 64K d0 d1 d2");
    let content = pattern(1 << 20, 6);
    bay.write("write d0 d1 d2", &content);
    // Left-symmetric: chunk 0 on member 0, chunk 1 on member 1.
    assert!(bay.done("read d0 --length 64K").stdout == content[..65_536]);
    let ran = bay.refused("read d0 --offset 64K --length 64K", 1, &["content at byte 65536"]);
    assert!(ran.stdout.is_empty());
    let ran = bay.refused("read d0", 1, &["content at byte"]);
    assert!(content.starts_with(&ran.stdout), "what is read is right");
    fs::rename(bay.path("d1"), bay.path("away1")).unwrap();
    fs::rename(bay.path("d2"), bay.path("away2")).unwrap();
    assert_eq!(bay.json("status d0 d1 d2")["health"], "failed");
    let striped = Bay::new(2);
    striped.done("create --level 0 d0 d1");
    striped.refused("read d0", 2, &["member 1 is missing", "give its drive too"]);
    fs::rename(striped.path("d1"), striped.path("away")).unwrap();
    let status = striped.json("status d0 d1");
    assert_eq!((&status["health"], &status["members"][1]["state"]), (&"failed".into(), &"missing".into()));
    assert!(status["problem"].as_str().unwrap().contains("member 1 is missing"), "{status}");
}

#[test]
fn scanning_tells_arrays_of_arrays_apart() {
    let bay = Bay::new(12);
    bay.done("create --level 50 --name one d0 d1 d2 d3 d4 d5");
    bay.done("create --level 50 --name two d6 d7 d8 d9 d10 d11");
    bay.add("no-member", 4 << 20);
    std::os::unix::fs::symlink(bay.path("d3"), bay.path("also-d3")).unwrap();
    let drives = |status: &Value| {
        let inner = status["members"].as_array().unwrap().iter().map(|member| &member["array"]["members"]);
        let drives: Vec<_> = inner.flat_map(|members| members.as_array().unwrap()).collect();
        drives.iter().filter(|member| member["state"] == "in-sync").count()
    };
    for (member, name) in [("d4", "one"), ("d7", "two")] {
        let status = bay.json(&format!("status --scan . {member}"));
        assert!(status["name"].as_str().unwrap().ends_with(name), "{status}");
        assert_eq!((drives(&status), &status["health"]), (6, &"optimal".into()), "{status}");
    }
}

#[test]
fn a_stale_member_is_named_and_not_used() {
    let bay = Bay::new(3);
    bay.done("create --level 5 d0 d1 d2");
    bay.write("write --degraded d0 d1", &pattern(1_000_000, 7));
    let status = bay.json("status d2 d1 d0");
    assert_eq!(status["left_out"][0]["drive"], "d2");
    assert!(status["left_out"][0]["reason"].as_str().unwrap().contains("stale"), "{status}");
    assert!(bay.done("read d2 d1 d0 --length 1MB").stdout == pattern(1_000_000, 7));
}

#[test]
fn a_degraded_array_that_was_not_shut_down_is_written_only_by_force() {
    let big = Bay::with_sizes(&[64 << 30; 3]);
    let stopped = big.interrupted("create --level 5 d0 d1 d2", || true);
    assert_eq!(stopped.code, 1, "{}", stopped.stderr);
    stopped.is_one_line("create", &["stopped before the end", "`shoal rebuild`"]);
    assert_eq!(big.json("status d0 d1 d2")["needs_resync"], true);
    std::fs::rename(big.path("d2"), big.path("away")).unwrap();
    let refused = big.run_with("write d0 d1", b"bytes");
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    assert!(refused.stderr.contains("degraded and was not shut down cleanly"), "{}", refused.stderr);
    assert!(refused.stderr.contains("--force"), "{}", refused.stderr);
    big.write("write --force d0 d1", b"bytes");
    assert_eq!(big.done("read d0 d1 --length 5").stdout, b"bytes");
}

#[test]
fn an_interrupted_rebuild_goes_on_where_it_stood() {
    let bay = Bay::with_sizes(&[16 << 30; 4]);
    bay.done("create --level 5 --assume-clean d0 d1 d2");
    bay.done("fail --member d2 d0 d1 d2");
    // Zeros are written like anything else, and how far that has come is written down now and then.
    let has_filled_some = || bay.allocated_bytes("d3") > 64 << 20;
    let stopped = bay.interrupted("add --drive d3 d0 d1", has_filled_some);
    assert_eq!(stopped.code, 1, "{}", stopped.stderr);
    stopped.is_one_line("add", &["stopped before the end", "`shoal rebuild`"]);
    let status = bay.json("status d0 d1 d3");
    assert_eq!(status["members"][2]["state"], "rebuilding");
    assert!(status["members"][2]["rebuilt_bytes"].as_u64().unwrap() > 0, "{status}");
    let scrub = bay.interrupted("scrub d0 d1 d3", || true);
    scrub.is_one_line("scrub", &[]);
}

#[test]
fn one_writer_at_a_time() {
    // Large enough that it is not over before the rest is.
    let bay = Bay::with_sizes(&[1 << 40; 3]);
    bay.done("create --level 5 --assume-clean d0 d1 d2");
    let mut scrub = bay.command("scrub --repair --keep-data d0 d1 d2".split(' ')).spawn().unwrap();
    while bay.run("read --length 1 d0 d1 d2").code != 4 {
        assert!(scrub.try_wait().unwrap().is_none(), "it has ended before anybody else came");
    }
    for line in ["write d0 d1 d2", "read d0 d1 d2", "fail --member d0 d1 d2"] {
        let ran = bay.run_with(line, b"bytes");
        assert_eq!(ran.code, 4, "{line}: {}", ran.stderr);
        ran.is_one_line(line, &["busy"]);
    }
    assert_eq!(bay.run("status d0 d1 d2").code, 0, "looking is allowed");
    scrub.kill().unwrap();
    scrub.wait().unwrap();
    bay.write("write d0 d1 d2", b"bytes");
}

#[test]
fn needs_root_loop_one_command_after_the_other_on_devices() {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|it| std::os::unix::fs::MetadataExt::uid(&it) == 0);
    let bay = Bay::new(2);
    let losetup = |arguments: &[&std::ffi::OsStr]| {
        Command::new("losetup")
            .args(arguments)
            .env("PATH", "/usr/sbin:/sbin")
            .output()
            .ok()
            .filter(|it| it.status.success())
    };
    let path = bay.path("d0");
    let Some(made) = losetup(&["--find".as_ref(), "--show".as_ref(), path.as_ref()]).filter(|_| is_root) else {
        eprintln!("SKIPPED: commands on block devices, one after the other: needs root and loop devices");
        return;
    };
    let device = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let created = bay.run(&format!("create --level 1 {device} d1"));
    let ran: Vec<_> = (0..8).map(|_| bay.run_with(&format!("write {device} d1"), b"bytes")).collect();
    let refused = bay.run("create --force --level 1 d0 d1");
    losetup(&["--detach".as_ref(), device.as_ref()]).unwrap();
    assert_eq!(created.code, 0, "{}", created.stderr);
    for ran in ran {
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    refused.is_one_line("create on a loop device's file", &["d0 is in use"]);
}

/// A small file system in memory, unmounted in the end.
struct SmallFileSystem(std::path::PathBuf);

impl SmallFileSystem {
    /// None where it cannot be mounted.
    fn mount(place: std::path::PathBuf) -> Option<Self> {
        std::fs::create_dir(&place).unwrap();
        mount(&["-t", "tmpfs", "-o", "size=12M", "tmpfs"], &place).then_some(Self(place))
    }

    fn enlarge(&self) {
        assert!(mount(&["-o", "remount,size=200M"], &self.0));
    }
}

impl Drop for SmallFileSystem {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn mount(arguments: &[&str], place: &std::path::Path) -> bool {
    Command::new("mount").args(arguments).arg(place).output().is_ok_and(|it| it.status.success())
}

#[test]
fn needs_root_mount_a_file_system_that_is_full_fails_no_member() {
    // With the small chunk much is under way when the room ends.
    for (level, options, more_mib) in [("0", "", 12), ("1", "", 12), ("5", "", 12), ("5", "--chunk 64K", 24)] {
        let bay = Bay::new(0);
        let Some(small) = SmallFileSystem::mount(bay.path("small")) else {
            eprintln!("SKIPPED: arrays on a file system that is full: needs to mount one");
            return;
        };
        for number in 0..3 {
            bay.add(&format!("small/d{number}"), 16 << 20);
        }
        let all = "small/d0 small/d1 small/d2";
        bay.done(&format!("create --level {level} {options} --assume-clean {all}"));
        let kept = pattern(1 << 20, 8);
        bay.write(&format!("write {all}"), &kept);
        let more = pattern(more_mib << 20, 9);
        let ran = bay.run_with(&format!("write --offset 1M {all}"), &more);
        assert_eq!(ran.code, 1, "level {level}: {}", ran.stderr);
        ran.is_one_line("write", &["the file system that holds small/d", "is full", "no member has failed"]);
        let status = bay.json(&format!("status {all}"));
        assert_eq!(status["health"], "optimal", "level {level}: {status}");
        assert!(bay.done(&format!("read {all} --length 1M")).stdout == kept, "level {level}");
        // With room it goes on, as after a power cut.
        small.enlarge();
        bay.write(&format!("write --offset 1M {all}"), &more);
        assert!(bay.done(&format!("read {all} --offset 1M --length {more_mib}M")).stdout == more, "level {level}");
        if level != "0" {
            bay.done(&format!("rebuild {all}"));
            is_clean(&bay, all, level);
        }
    }
}

#[test]
fn of_two_commands_that_want_the_same_drive_at_once_one_gets_it() {
    for _ in 0..5 {
        let bay = Bay::new(3);
        bay.done("create --level 1 --assume-clean d0 d1");
        bay.done("fail --member d1 d0 d1");
        std::fs::remove_file(bay.path("d1")).unwrap();
        bay.add("d3", 8 << 20);
        let lines = ["add --drive d2 --degraded d0", "create --level 1 --assume-clean d2 d3"];
        let begun = lines.map(|line| bay.command(line.split(' ')).spawn().unwrap());
        let done = begun.map(|child| child.wait_with_output().unwrap().status.success());
        assert_eq!(done.iter().filter(|done| **done).count(), 1, "{done:?}");
    }
}

/// The superblock is looked for at the end of the drive, wherever the data end.
#[test]
fn an_array_that_uses_a_part_of_its_drives_has_its_superblocks_where_they_are_looked_for() {
    let bay = Bay::with_sizes(&[64 << 20; 3]);
    for more in ["", "--bitmap internal", "--consistency-policy ppl"] {
        let create =
            format!("create --force --level 5 --chunk 64K --metadata 1.0 --size 16M --assume-clean {more} d0 d1 d2");
        let made = bay.json(&create)["capacity_bytes"].as_u64().unwrap();
        assert!((24 << 20..=32 << 20).contains(&made), "{more}: {made}");
        let bytes = pattern(1 << 20, made);
        bay.write("write d0 d1 d2", &bytes);
        assert!(bay.done(&format!("read --length {} d1 d2 d0", bytes.len())).stdout == bytes, "{more}");
        assert_eq!(bay.json("status d0 d1 d2")["health"], "optimal", "{more}");
    }
}

#[test]
fn what_is_used_of_a_size_that_was_asked_for_is_told() {
    let bay = Bay::with_sizes(&[64 << 20; 3]);
    let created = String::from_utf8(bay.done("create --level 5 --assume-clean --size 32M d0 d1 d2").stdout).unwrap();
    let told = created.lines().find(|line| line.contains("--size 32 MiB")).unwrap_or_else(|| panic!("{created}"));
    assert!(told.contains("of each drive hold content") && told.contains("superblock"), "{told}");
    let whole = String::from_utf8(bay.done("create --level 5 --assume-clean --force d0 d1 d2").stdout).unwrap();
    assert!(!whole.contains("--size"), "{whole}");
}
