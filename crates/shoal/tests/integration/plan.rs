//! `shoal plan`: what it says of drives that do not exist, and what it refuses.

use crate::support::Bay;

fn printed(bay: &Bay, line: &str) -> String {
    String::from_utf8(bay.done(line).stdout).unwrap()
}

#[test]
fn drives_that_nobody_has_described_are_planned_from_figures() {
    let bay = Bay::new(0);
    let line = "plan --drives 3 --size 64GB --read 20MB/s --write 9MB/s --price 20 --bus usb2*2";
    let text = printed(&bay, &format!("{line} --for throughput --top 20"));
    for words in [
        "Arrays of 3 drives, for throughput,survive=0",
        " 1. RAID0 x 3: reads ",
        "the first dead drive takes everything",
        "If what is on it matters, make ",
        "shoal create --level 0 --chunk ",
        "to USB 2.0 #1",
        "to USB 2.0 #2",
        "No array is a backup",
        "3 % of failures are taken to strike all drives of a hub",
    ] {
        assert!(text.contains(words), "no `{words}` in:\n{text}");
    }
    let sheet = printed(&bay, &format!("{line} --for capacity,survive=1 --explain 1"));
    for words in
        ["RAID5 x 3, rank 1 of ", "128 GB", "$60.00: $0.47 a usable GB", "one dead", "rebuild", "loss a year", "wear"]
    {
        assert!(sheet.contains(words), "no `{words}` in:\n{sheet}");
    }
}

/// Where drives are plugged in decides how fast they are together.
#[test]
fn what_nobody_said_of_drives_and_buses_is_told() {
    let bay = Bay::new(0);
    let line = "plan --drives 3 --size 64GB --read 20MB/s --write 9MB/s --for throughput --top 1";
    let text = printed(&bay, line);
    assert!(text.contains("all on one bus, `usb2`: --bus") && text.contains("do as `stick-64g`"), "{text}");
    let text = printed(&bay, &format!("{line} --bus usb3 --like stick-64g"));
    assert!(!text.contains("all on one bus") && !text.contains("names another"), "{text}");
}

#[test]
fn a_study_is_planned_again_with_its_figures() {
    let bay = Bay::new(0);
    let text = printed(&bay, "plan --preset eide-software-raid5 --top 1");
    for words in
        [" 1. RAID5 x 8: holds 1.75 TB", "The `eide` study made eight disks", "$2,1", "1850", "1890.91", "18.29"]
    {
        assert!(text.contains(words), "no `{words}` in:\n{text}");
    }
}

#[test]
fn what_makes_no_plan_is_refused_in_a_line_with_the_mend() {
    let bay = Bay::new(2);
    for (line, words) in [
        ("plan", "<DRIVE"),
        ("plan sim:no-such-stick*3", "no-such-stick"),
        ("plan sim:cruzer-titanium", "two drives or more"),
        ("plan sim:cruzer-titanium*3 --for survive=3", "survives the loss of 3"),
        ("plan sim:cruzer-titanium*3 --for speed", "survive=K"),
        ("plan sim:cruzer-titanium*3 --read 20MB/s", "leave them out"),
        ("plan sim:cruzer-titanium*3 --failures often", "backblaze-disks"),
        ("plan --drives 2", "--size"),
        ("plan --preset none", "cruzer-raid0"),
        ("plan d0 d1", "shoal profile"),
        ("plan d0 sim:cruzer-titanium --like stick-64g", "shoal profile"),
        ("plan missing d0", "missing"),
        ("plan sim:stick-64g*65@usb2", "64"),
        ("plan --drives 2 --size 4K", "64 MB or more"),
    ] {
        let ran = bay.run(line);
        assert_eq!(ran.code, 2, "shoal {line}: {}", ran.stderr);
        assert!(ran.stderr.contains(words), "shoal {line}: no `{words}` in {}", ran.stderr);
    }
}
