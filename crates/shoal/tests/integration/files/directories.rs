//! `bench` in a directory: a file is laid out, measured and deleted, and what that cost is told.

use crate::files::pond::{Pond, lacks};
use crate::support::Bay;

const SHORT: &str = "--size 8M --seconds 1 --warm-up 0 --repeat 1";

fn is_empty(directory: &std::path::Path) -> bool {
    std::fs::read_dir(directory).unwrap().all(|entry| entry.unwrap().file_name() == "lost+found")
}

#[test]
fn a_directory_is_measured_and_left_as_it_was() {
    let bay = Bay::new(0);
    let directory = bay.path("directory");
    std::fs::create_dir(&directory).unwrap();
    let read = bay.json(&format!("bench {SHORT} directory"));
    assert_eq!(read["results"][0]["target"]["kind"], "directory");
    assert_eq!(read["results"][0]["target"]["size_bytes"], 8 << 20);
    assert_eq!(read["directories"][0]["written_bytes"], 8 << 20);
    assert!(is_empty(&directory));
    let written = bay.json(&format!("bench --write --random {SHORT} directory"));
    assert!(written["directories"][0]["written_bytes"].as_u64().unwrap() > 8 << 20);
    assert!(is_empty(&directory));
}

#[test]
fn a_directory_without_room_or_beside_a_file_is_refused() {
    let bay = Bay::new(1);
    std::fs::create_dir(bay.path("directory")).unwrap();
    let ran = bay.run("bench --size 1000T directory");
    assert!(ran.code == 2 && ran.stderr.contains("do not fit"), "{}", ran.stderr);
    bay.refused("bench directory d0", 2, &["is a directory and d0 is not"]);
    bay.refused("bench --raw directory", 2, &["--raw"]);
    bay.refused("bench --size 8M d0", 2, &["--length"]);
    assert!(is_empty(&bay.path("directory")));
}

#[test]
fn a_benchmark_that_is_interrupted_deletes_its_file() {
    let bay = Bay::new(0);
    let directory = bay.path("directory");
    std::fs::create_dir(&directory).unwrap();
    let is_laid_out = || !is_empty(&directory);
    bay.interrupted("bench --size 8M --seconds 60 directory", is_laid_out);
    assert!(is_empty(&directory));
}

#[test]
fn needs_root_fuse_a_mounted_array_tells_what_its_members_took() {
    if lacks(&[("mkfs.ext4", "e2fsprogs")], Some("ext4")) {
        return;
    }
    let pond = Pond::new("ext4", 32 << 20);
    let measured = pond.bay.json(&format!("bench --write {SHORT} {}", pond.directory().display()));
    let told = &measured["directories"][0];
    assert_eq!(told["file_system"], "ext4");
    let (written, least) = (told["written_bytes"].as_u64().unwrap(), told["member_bytes_least"].as_u64().unwrap());
    assert!(least >= written + written / 2 - 1, "{told}: two chunks of data have one of parity");
    assert!(is_empty(&pond.directory()));
}
