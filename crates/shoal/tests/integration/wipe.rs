//! `shoal wipe`: what drives were is said, and gone; what is in use, or is a file of somebody's,
//! stays.

use std::path::Path;
use std::process::Command;

use crate::running::server::Server;
use crate::support::{Bay, DRIVE_BYTES, has, pattern};

const FAILED: i32 = 1;
const USAGE: i32 = 2;
const REFUSED: i32 = 3;
const BUSY: i32 = 4;

/// What a tool says of a file: its status, and standard output and error.
fn tool(program: &str, arguments: &[&str], path: &Path) -> (Option<i32>, String) {
    let search = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let output = Command::new(program).args(arguments).arg(path).env("PATH", search).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// Fails if a tool of others still knows the drive as something.
fn is_nothing(bay: &Bay, name: &str) {
    let path = bay.path(name);
    for program in ["blkid", "wipefs", "mdadm"] {
        if !has(program) {
            eprintln!("SKIPPED: a wiped drive is nothing to {program}: needs {program}");
            continue;
        }
        match program {
            "blkid" => assert_eq!(tool(program, &["-p"], &path), (Some(2), String::new()), "{name}"),
            "wipefs" => assert_eq!(tool(program, &["-n"], &path), (Some(0), String::new()), "{name}"),
            _ => {
                let (code, said) = tool(program, &["--examine"], &path);
                assert!(code != Some(0) && said.contains("No md superblock"), "{name}: {said}");
            }
        }
    }
    assert_eq!(bay.run(&format!("examine {name}")).code, FAILED, "{name}");
}

#[test]
fn members_of_every_version_are_blank_afterwards() {
    for version in ["1.0", "1.1", "1.2"] {
        let bay = Bay::new(3);
        bay.done(&format!("create --level 5 --metadata {version} --bitmap internal --name pond d0 d1 d2"));
        bay.write("write d0 d1 d2", &pattern(2_000_000, 1));
        let before = bay.snapshot();
        let shown = bay.json("wipe --dry-run d0 d1");
        assert!(bay.snapshot() == before, "--dry-run wrote something");
        assert_eq!(shown["dry_run"], true);
        assert!(shown["drives"][0]["member_of"]["name"].as_str().unwrap().ends_with("pond"), "{shown}");
        assert!(shown["drives"][1]["signatures"][0]["what"].as_str().unwrap().contains(version), "{shown}");
        let wiped = bay.json("wipe --yes d0 d1");
        assert_eq!(wiped["drives"], shown["drives"]);
        assert!(wiped["forgotten_arrays"].is_null(), "d2 is still there: {wiped}");
        for name in ["d0", "d1"] {
            is_nothing(&bay, name);
        }
        bay.done("wipe --yes d2");
        // They can be made into another one, which is not asked for twice.
        bay.done("create --level 5 d0 d1 d2");
    }
}

#[test]
fn an_array_whose_members_all_go_is_forgotten() {
    let bay = Bay::new(3);
    bay.done("create --level 5 d0 d1 d2");
    let uuid = bay.json("status d0 d1 d2")["uuid"].as_str().unwrap().to_owned();
    assert_eq!(bay.json("wipe --yes d0 d1 d2")["forgotten_arrays"], serde_json::json!([uuid]));
    assert!(bay.json("list")["absent"].is_null());
}

/// Superblocks of version 0.90, which shoal does not write, and tables of partitions and file
/// systems.
#[test]
fn what_others_made_is_gone() {
    let bay = Bay::with_sizes(&[DRIVE_BYTES, 16 << 20, 16 << 20]);
    let mut legacy = 0xa92b_4efc_u32.to_le_bytes().to_vec();
    legacy.extend(0_u32.to_le_bytes());
    legacy.extend(90_u32.to_le_bytes());
    bay.poke("d0", DRIVE_BYTES - (64 << 10), &legacy);
    // Both ends of a GPT.
    bay.poke("d1", 446, &[0, 0, 2, 0, 0xee, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0xff, 0x7f, 0, 0]);
    bay.poke("d1", 510, &[0x55, 0xaa]);
    bay.poke("d1", 512, b"EFI PART");
    bay.poke("d1", (16 << 20) - 512, b"EFI PART");
    let mut files = vec!["d0", "d1"];
    if has("mkfs.ext4") {
        assert_eq!(tool("mkfs.ext4", &["-q", "-F"], &bay.path("d2")).0, Some(0));
        files.push("d2");
    } else {
        eprintln!("SKIPPED: a file system is wiped: needs mkfs.ext4");
    }
    for name in files {
        // Each is a file, and no member that can be read: nobody overwrites it without being told
        // so.
        bay.refused(&format!("wipe --yes {name}"), REFUSED, &[name, "is a file that holds", "which would be lost"]);
        let found = bay.json(&format!("wipe --yes --force {name}"));
        assert!(!found["drives"][0]["signatures"].as_array().unwrap().is_empty(), "{found}");
        is_nothing(&bay, name);
        assert!(
            bay.json(&format!("wipe --dry-run --force {name}"))["drives"][0]["signatures"]
                .as_array()
                .unwrap()
                .is_empty()
        );
    }
}

#[test]
fn nothing_goes_that_nobody_said_may_go() {
    let bay = Bay::new(4);
    bay.done("create --level 5 d0 d1 d2");
    bay.refused("wipe d0", REFUSED, &["nothing was wiped", "--dry-run", "--yes"]);
    assert_eq!(bay.run("wipe --yes").code, USAGE);
    bay.refused("wipe --yes d0 d0", USAGE, &["the same drive"]);
    bay.refused("wipe --yes missing", USAGE, &["missing"]);
    bay.refused("wipe --yes sim:cruzer-titanium", USAGE, &["simulated"]);
    bay.poke("d3", 0, b"letters to a friend");
    bay.refused("wipe --yes d3", REFUSED, &["d3 is a file that holds"]);
    // What is refused is refused whole: the others stay what they are.
    bay.refused("wipe --yes d0 d3", REFUSED, &["d3 is a file that holds"]);
}

#[test]
fn a_member_of_an_array_that_runs_stays() {
    let bay = Bay::new(3);
    bay.done("create --level 5 d0 d1 d2");
    let server = Server::start(&bay, "d0 d1 d2");
    for force in ["", "--force"] {
        bay.refused_running(&format!("wipe --yes {force} d1"), BUSY, &["d1"]);
    }
    assert_eq!(bay.json("stop d0")["health"], "optimal");
    assert_eq!(server.ended().code, 0);
}
