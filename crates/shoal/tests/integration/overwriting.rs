//! What is overwritten unasked, and what is not.

use std::process::Command;

use crate::support::{Bay, has};

const USAGE: i32 = 2;
const REFUSED: i32 = 3;

#[test]
fn files_that_people_keep_are_not_overwritten() {
    let bay = Bay::new(3);
    bay.done("create --level 5 d0 d1 d2");
    let mut tar = vec![0; 10 << 20];
    tar[..7].copy_from_slice(b"a-file\0");
    tar[257..262].copy_from_slice(b"ustar");
    std::fs::write(bay.path("my.tar"), &tar).unwrap();
    std::fs::write(bay.path("my.txt"), "What I wanted to say.\n".repeat(400_000)).unwrap();
    bay.add("late", 8 << 20);
    bay.poke("late", 5 << 20, &[1; 8192]);
    bay.add("blank", 8 << 20);
    for (file, what) in [("my.tar", "a tar archive"), ("my.txt", "text"), ("late", "data")] {
        for line in [
            format!("bench {file} --write --bytes 1M"),
            format!("bench {file} --mix 50 --bytes 1M"),
            format!("create --level 1 blank {file}"),
            format!("add --drive {file} d0 d1 d2"),
            format!("replace --member d0 --drive {file} d0 d1 d2"),
            format!("grow --raid-devices 4 --drive {file} d0 d1 d2"),
            format!("profile --write {file}"),
            format!("study --dry-run blank {file}"),
        ] {
            bay.refused(&line, REFUSED, &[file, what, "would be lost", "--force"]);
        }
    }
    let read = bay.run("bench my.tar --bytes 1M --warm-up 0 --repeat 1");
    assert_eq!(read.code, 0, "reading harms nothing: {}", read.stderr);
    bay.done("create --force --level 1 my.tar my.txt");
}

#[test]
fn what_an_array_holds_is_not_overwritten_to_measure() {
    let bay = Bay::new(3);
    bay.done("create --level 5 d0 d1 d2");
    let load = "--bytes 1M --warm-up 0 --repeat 1";
    // Nobody can say what it is: it bears no mark.
    bay.write("write --offset 3M d0 d1 d2", &[7; 4096]);
    for line in ["bench --write", "bench --mix 50", "bench --write --random"] {
        bay.refused(&format!("{line} d0 d1 d2 {load}"), REFUSED, &["data", "3145728", "would be lost", "--force"]);
    }
    bay.done(&format!("bench d0 d1 d2 {load}"));
    bay.done(&format!("bench --write --force d0 d1 d2 {load}"));
    bay.done(&format!("bench --write d0 d1 d2 {load}"));
}

#[test]
fn an_array_that_lacks_too_much_is_not_measured() {
    let bay = Bay::new(3);
    bay.done("create --level 5 d0 d1 d2");
    for load in ["", "--write", "--write --force"] {
        bay.refused(&format!("bench {load} d0 --bytes 1M --warm-up 0"), REFUSED, &["--scan"]);
    }
    assert_eq!(bay.run("log").code, USAGE, "what was refused is not kept: the lab book has not been begun");
}

#[test]
fn what_was_written_to_measure_is_written_again_unasked() {
    let bay = Bay::with_sizes(&[64 << 20; 3]);
    bay.done("bench d1 --write --random --block-size 512 --bytes 64K --warm-up 0 --repeat 1");
    for load in ["--write", "--write --random", "--mix 50 --random", "--write --random --block-size 512"] {
        for _ in 0..2 {
            bay.done(&format!("bench d0 {load} --bytes 1M --warm-up 0 --repeat 1"));
        }
    }
    bay.done("create --level 1 d0 d1");
}

#[test]
fn needs_mkfs_file_systems_are_not_overwritten() {
    for (program, arguments) in [("mkfs.ext4", "-q -F"), ("mkfs.vfat", ""), ("mkfs.xfs", "-q -f"), ("mkswap", "")] {
        if !has(program) {
            eprintln!("SKIPPED: a drive made by {program}: needs {program}");
            continue;
        }
        let bay = Bay::with_sizes(&[512 << 20, 512 << 20]);
        let mut command = Command::new(program);
        command.args(arguments.split_whitespace()).arg(bay.path("d1")).env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin");
        assert!(command.output().unwrap().status.success(), "{program}");
        let ran = bay.run("create --level 1 d0 d1");
        assert_eq!(ran.code, REFUSED, "{program}: {}", ran.stderr);
        ran.is_one_line(program, &["d1 holds", "--force"]);
    }
}

/// Whoever takes a drive away from an array is told which one that is, before and after.
#[test]
fn an_array_that_loses_members_to_a_new_one_is_named() {
    let bay = Bay::new(4);
    bay.done("create --level 5 --name pond d0 d1 d2");
    let uuid = bay.json("status d0 d1 d2")["uuid"].as_str().unwrap().to_owned();
    bay.refused("create --level 1 d2 d3", 3, &["d2 is or was a member of array", "pond", "--force"]);
    let taken = bay.done("create --level 1 --name lake --force d2 d3");
    taken.is_one_line("create", &["pond", &uuid, "has lost d2 to the new one"]);
    // What has lost all of its members is not looked for any more.
    let gone = bay.done("create --level 1 --name brook --force d2 d3");
    gone.is_one_line("create", &["lake", "has lost d2, d3 to the new one"]);
    let list = bay.done("list");
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(list.contains("pond") && list.contains("brook") && !list.contains("lake"), "{list}");
}
