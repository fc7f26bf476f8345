//! `shoal recover`: members among other files, stale ones, copies, damaged images, whole disks; and nothing is written.
#![allow(clippy::unwrap_used)]

mod support;

use std::fs::{self, File};

use serde_json::Value;
use support::{Bay, pattern};

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

    assert_eq!(bay.json("status d0 d1")["health"], "failed");
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
    let saved = bay.json("recover d0 d1 --save rescued");
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
    bay.refused("recover d0 d1 --apply --save rescued", 3, &["rescued"]);
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
