use std::collections::BTreeMap;

use proptest::prelude::*;
use shoal_volume::ArrayLevel;

use super::*;
use crate::sample::{inventory, six_sticks, stick};
use crate::units::GB;

fn level(name: &str, groups: usize) -> ArrayLevel {
    ArrayLevel::parse(name, None, groups).unwrap()
}

fn usable(name: &str, groups: usize, sizes: &[u64]) -> u64 {
    capacity(level(name, groups), sizes, 64 << 10).unwrap().usable_bytes
}

#[test]
fn six_sticks_make_every_level_that_six_can() {
    let titles: Vec<String> = sensible_arrangements(&six_sticks(2)).iter().map(Arrangement::title).collect();
    let expected = [
        "linear x 6",
        "RAID0 x 6",
        "RAID1 x 2",
        "RAID1 x 3",
        "RAID5 x 6",
        "RAID5 x 5 + 1 spare",
        "RAID6 x 6",
        "RAID10 x 6",
        "RAID10 far x 6",
        "RAID10 x 4 + 1 spare",
        "RAID6 x 5 + 1 spare",
        "RAID50 2 x 3",
    ];
    for title in expected {
        assert!(titles.contains(&title.to_owned()), "{title} is missing in {titles:?}");
    }
    assert_eq!(titles.len(), expected.len(), "{titles:?}");
}

#[test]
fn two_drives_make_a_pair_and_no_parity() {
    let two = inventory(vec![stick(64 * GB), stick(64 * GB)], 1);
    let titles: Vec<String> = sensible_arrangements(&two).iter().map(Arrangement::title).collect();
    assert_eq!(titles, ["linear x 2", "RAID0 x 2", "RAID1 x 2"]);
}

#[test]
fn the_twelve_disks_of_the_eide_study_hold_what_it_says() {
    let near = |bytes: u64, tb: f64| assert!((bytes as f64 / 1e12 - tb).abs() < 0.01, "{bytes}, not {tb} TB");
    near(usable("50", 2, &[250 * GB; 12]), 2.5); // the study says 2.4 TB: 2 x 1.2
    near(usable("5", 1, &[250 * GB; 12]), 2.75);
    near(usable("5", 1, &[250 * GB; 8]), 1.75);
    near(usable("6", 1, &[250 * GB; 12]), 2.5);
    near(usable("10", 1, &[250 * GB; 12]), 1.5);
}

#[test]
fn small_drives_are_left_out_where_that_gives_more_room() {
    let mixed = inventory([256, 256, 256, 256, 16].map(|gb| stick(gb * GB)).to_vec(), 1);
    let arrays = sensible_arrangements(&mixed);
    let raid5 = |members: usize| arrays.iter().find(|it| it.title() == format!("RAID5 x {members}")).unwrap();
    assert!(raid5(4).members.iter().all(|&(drive, _)| drive < 4));
    assert_eq!(raid5(5).members.len(), 5);
}

#[test]
fn drives_and_copies_are_spread_over_the_buses() {
    let arrays = sensible_arrangements(&six_sticks(2));
    for array in &arrays {
        let mut load: BTreeMap<usize, usize> = BTreeMap::new();
        array.members.iter().for_each(|&(_, bus)| *load.entry(bus).or_default() += 1);
        let counts: Vec<usize> = [0, 1].map(|bus| load.get(&bus).copied().unwrap_or(0)).to_vec();
        assert!(counts[0].abs_diff(counts[1]) <= 1, "{}: {counts:?}", array.title());
    }
    let mirrors = arrays.iter().find(|it| it.title() == "RAID10 x 6").unwrap();
    for pair in mirrors.members.chunks(2) {
        assert_ne!(pair[0].1, pair[1].1, "copies on one bus: {:?}", mirrors.members);
    }
}

#[test]
fn a_stick_does_not_go_to_a_port_that_it_does_not_fit() {
    let mut both = six_sticks(1);
    both.extend(inventory(vec![crate::sample::disk(500 * GB)], 1));
    let arrays = sensible_arrangements(&both);
    for (drive, bus) in arrays.iter().flat_map(|array| array.drives()) {
        assert_eq!(both.buses[bus].kind, both.drives[drive].model.bus);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_array_holds_more_than_its_drives(sizes in prop::collection::vec(64_u64..4096, 2..13)) {
        let drives = sizes.iter().map(|&mib| stick(mib << 20)).collect();
        let inventory = inventory(drives, 2);
        for array in sensible_arrangements(&inventory) {
            let sizes: Vec<u64> = array.members.iter().map(|&(drive, _)| inventory.drives[drive].model.size_bytes).collect();
            let capacity = capacity(array.level, &sizes, 64 << 10).unwrap();
            prop_assert!(capacity.usable_bytes < sizes.iter().sum());
            prop_assert!(capacity.used_bytes.iter().zip(&sizes).all(|(used, size)| used < size));
            prop_assert!(capacity.usable_bytes <= capacity.used_bytes.iter().sum());
            // Every drive has one role at most.
            let mut roles: Vec<usize> = array.drives().map(|(drive, _)| drive).collect();
            roles.sort_unstable();
            roles.dedup();
            prop_assert_eq!(roles.len(), array.drives().count());
        }
    }

    #[test]
    fn more_redundancy_never_holds_more(count in 4_usize..13, mib in 64_u64..100_000) {
        let sizes = vec![mib << 20; count];
        let levels = [usable("0", 1, &sizes), usable("5", 1, &sizes), usable("6", 1, &sizes), usable("1", 1, &sizes)];
        prop_assert!(levels.windows(2).all(|pair| pair[1] <= pair[0]), "{:?}", levels);
        prop_assert!(usable("10", 1, &sizes) <= usable("5", 1, &sizes));
    }
}
