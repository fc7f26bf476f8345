use super::*;
use crate::document::Plan;
use crate::reliability::find_rate;
use crate::sample::{disk, inventory, six_sticks, stick};
use crate::units::TB;

fn planned(inventory: Inventory, purpose: &str) -> Plan {
    let request = PlanRequest { purpose: purpose.parse().unwrap(), trials: 4_000, ..PlanRequest::of(inventory) };
    plan(&request).unwrap()
}

fn named<'a>(plan: &'a Plan, title: &str) -> &'a ArraySheet {
    plan.arrays.iter().find(|array| array.title == title).unwrap()
}

fn says(plan: &Plan, words: &str) -> bool {
    plan.advice.iter().any(|sentence| sentence.contains(words))
}

#[test]
fn stripes_are_fastest_and_come_with_a_warning() {
    let plan = planned(six_sticks(2), "throughput");
    let first = &plan.arrays[0];
    assert_eq!(first.title, "RAID0 x 6");
    assert!(first.why.contains("the first dead drive takes everything"), "{}", first.why);
    assert!(says(&plan, "If what is on it matters, make"), "{:?}", plan.advice);
    assert!(says(&plan, "No array is a backup"));
    assert!((first.loss.array - (1.0 - 0.95_f64.powi(6))).abs() < 0.01, "{:?}", first.loss);
}

#[test]
fn what_was_asked_to_be_survived_is_survived_first() {
    for survive in 0..=2 {
        let plan = planned(six_sticks(2), &format!("capacity,survive={survive}"));
        let first = &plan.arrays[0];
        assert_eq!(first.redundancy, survive, "{}", first.title);
        let last_that_does = plan.arrays.iter().rposition(|array| array.meets_purpose).unwrap();
        assert!(plan.arrays[..=last_that_does].iter().all(|array| array.meets_purpose));
        let expected = ["RAID0 x 6", "RAID5 x 6", "RAID6 x 6"][survive as usize];
        assert_eq!(first.title, expected);
    }
}

#[test]
fn small_writes_want_mirrors_rather_than_parity() {
    let disks = || inventory((0..4).map(|_| disk(500 * GB)).collect(), 4);
    let plan = planned(disks(), "small-writes,survive=1");
    assert!(plan.arrays[0].title.starts_with("RAID10"), "{}", plan.arrays[0].title);
    let (mirrors, parity) = (named(&plan, "RAID10 x 4"), named(&plan, "RAID5 x 4"));
    assert!(mirrors.healthy.random_write_iops > parity.healthy.random_write_iops * 3 / 2);
    assert!(parity.why.contains("a small write costs four I/Os"), "{}", parity.why);
}

#[test]
fn large_disks_under_raid5_meet_unreadable_sectors() {
    let disks = inventory((0..6).map(|_| disk(8 * TB)).collect(), 6);
    let plan = planned(disks, "all-round");
    let (five, six) = (named(&plan, "RAID5 x 6"), named(&plan, "RAID6 x 6"));
    assert!(five.warnings.iter().any(|warning| warning.contains("cannot be read")), "{:?}", five.warnings);
    assert!(five.loss.blocks > 0.2 && six.loss.blocks < 0.01, "{:?} {:?}", five.loss, six.loss);
    assert!(six.rank < five.rank, "a loss in {} of years comes after one in {}", five.loss.anything, six.loss.anything);
}

#[test]
fn unequal_sizes_are_told_and_waste_is_counted() {
    let plan = planned(inventory(vec![stick(256 * GB), stick(32 * GB)], 1), "capacity,survive=1");
    let mirror = named(&plan, "RAID1 x 2");
    assert!(mirror.wasted_bytes.abs_diff(224 * GB) < GB, "{}", mirror.wasted_bytes);
    assert!(mirror.warnings.iter().any(|warning| warning.contains("differ in size")), "{:?}", mirror.warnings);
    assert!(says(&plan, "Your drives hold 32 GB to 256 GB"), "{:?}", plan.advice);
}

#[test]
fn costs_are_of_the_drives_in_use() {
    let plan = planned(six_sticks(2), "capacity,survive=1");
    let (five, pair) = (named(&plan, "RAID5 x 6"), named(&plan, "RAID1 x 2"));
    assert_eq!((five.cost_cents, pair.cost_cents), (Some(12_000), Some(4_000)));
    let usd_per_gb = five.cents_per_usable_tb.unwrap() as f64 / 1e5;
    assert!((usd_per_gb - 120.0 / 320.0).abs() < 0.001, "{usd_per_gb}");
    // Hubs, then the supply.
    assert!(five.power.problems[0].contains("3 drives draw up to 540 mA together"), "{:?}", five.power.problems);
    let request = PlanRequest { supply_mw: Some(5_000), trials: 100, ..PlanRequest::of(six_sticks(2)) };
    let power = &plan_of(&request, "RAID5 x 6").power;
    assert_eq!(power.start_mw, Some(5_400));
    assert!(power.problems.iter().any(|problem| problem.contains("the supply gives 5.0 W")), "{power:?}");
}

fn plan_of(request: &PlanRequest, title: &str) -> ArraySheet {
    named(&plan(request).unwrap(), title).clone()
}

#[test]
fn flash_wears_as_the_level_writes() {
    let plan = planned(six_sticks(2), "all-round");
    let years = |title: &str| named(&plan, title).wear.unwrap().sequential_years;
    // 6 x 64 GB x 3000 cycles at 10 GB a day.
    assert!((years("RAID0 x 6") / (6.0 * 64.0 * 3_000.0 / 10.0 / 365.25) - 1.0).abs() < 0.01, "{}", years("RAID0 x 6"));
    assert!((years("RAID0 x 6") / years("RAID10 x 6") - 2.0).abs() < 0.01);
    assert!((years("RAID0 x 6") / years("RAID5 x 6") - 1.2).abs() < 0.01);
}

#[test]
fn more_failures_never_lose_less() {
    let loss = |name: &str| {
        let mut inventory = six_sticks(2);
        inventory.drives.iter_mut().for_each(|drive| drive.failure = find_rate(name).unwrap().into());
        let request = PlanRequest { trials: 4_000, ..PlanRequest::of(inventory) };
        plan(&request).unwrap()
    };
    let (rare, often) = (loss("backblaze-ssds"), loss("eide"));
    for array in &rare.arrays {
        let other = named(&often, &array.title).loss;
        assert!(other.anything > array.loss.anything, "{}: {:?} {other:?}", array.title, array.loss);
    }
}

#[test]
fn the_eide_study_s_arrays_cost_what_it_paid() {
    for (name, title, cents_per_usable_tb) in
        [("eide-software-raid5", "RAID5 x 8", 211_429_u64), ("eide-hardware-raid5", "RAID5 x 12", 189_091)]
    {
        let preset = crate::find_preset(name).unwrap();
        let fleet = shoal_sim::parse_fleet(preset.fleet).unwrap();
        let request = PlanRequest {
            purchase: Some(preset.purchase),
            preset: Some(preset),
            purpose: preset.purpose.parse().unwrap(),
            trials: 100,
            ..PlanRequest::of(Inventory::of_fleet(&fleet))
        };
        let plan = plan(&request).unwrap();
        let found = named(&plan, title).cents_per_usable_tb.unwrap();
        assert!(says(&plan, "The `eide` study made"), "{:?}", plan.advice);
        // Superblocks and rounding take less than a thousandth.
        assert!(found.abs_diff(cents_per_usable_tb) < cents_per_usable_tb / 1_000, "{name}: {found}");
        assert!(plan.published.len() > 20 && plan.published.iter().all(|figure| figure.agrees));
    }
}

#[test]
fn nonsense_is_refused_in_a_line_with_the_mend() {
    let refused = |inventory, survive| {
        let purpose = Purpose { survive, ..Purpose::default() };
        plan(&PlanRequest { purpose, ..PlanRequest::of(inventory) }).unwrap_err().to_string()
    };
    let one = inventory(vec![stick(64 * GB)], 1);
    assert!(refused(one, 1).contains("two drives or more"));
    assert!(refused(six_sticks(1), 5).contains("survives the loss of 5"));
    let tiny = inventory(vec![stick(4096), stick(4096)], 1);
    assert!(refused(tiny, 1).contains("holds 4096 bytes"));
    let many = inventory((0..65).map(|_| stick(GB)).collect(), 1);
    assert!(refused(many, 1).contains("more than the 64"));
}
