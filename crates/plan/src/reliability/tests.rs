use super::markov::{Chain, mean_years_to_loss_raid5};
use super::*;
use shoal_volume::ArrayLevel;

const TRIALS: u32 = 40_000;
const DAY_YEARS: f64 = 1.0 / 365.25;

fn level(name: &str, groups: usize) -> ArrayLevel {
    ArrayLevel::parse(name, None, groups).unwrap()
}

/// Within three half intervals, beyond which a right method lies once in 10^8 times.
fn is_near(found: Probability, value: f64) -> bool {
    (found.estimate - value).abs() <= 3.0 * found.plus_minus
}

/// Equal drives, each on its own bus, without unreadable sectors, spares or shared causes.
fn plain(name: &str, groups: usize, drives: usize, rate: f64, repair_years: f64) -> Survival {
    let component = |bus| Component { failures_per_year: rate, bus, unreadable_per_bit: 0.0 };
    Survival {
        members: (0..drives).map(component).collect(),
        sets: redundancy_sets(level(name, groups), drives, 1_000_000_000_000),
        spares: 0,
        replace_years: 0.0,
        rebuild_years: repair_years,
        repair_times: RepairTimes::Exponential,
        shared_cause: 0.0,
    }
}

#[test]
fn the_chain_is_exact_where_nothing_is_repaired() {
    let (n, rate) = (5_usize, 0.3_f64);
    let p = yearly_probability(rate);
    let chain = |tolerance| Chain { drives: n, tolerance, failures_per_year: rate, repairs_per_year: 0.0 };
    let exactly = |k: usize| {
        let choose = (0..k).fold(1.0, |product, i| product * (n - i) as f64 / (i + 1) as f64);
        choose * p.powi(i32::try_from(k).unwrap()) * (1.0 - p).powi(i32::try_from(n - k).unwrap())
    };
    for tolerance in 0..4 {
        let more: f64 = (tolerance + 1..=n).map(exactly).sum();
        assert!((chain(tolerance).loss_probability(1.0) - more).abs() < 1e-12, "tolerance {tolerance}");
    }
}

#[test]
fn the_chain_tends_to_the_mean_time_to_loss() {
    let (rate, repair) = (0.02, 2.0 * DAY_YEARS);
    let chain = Chain { drives: 6, tolerance: 1, failures_per_year: rate, repairs_per_year: 1.0 / repair };
    let approximate = 1.0 / mean_years_to_loss_raid5(6, rate, repair);
    let ratio = chain.loss_probability(1.0) / approximate;
    assert!((0.97..1.0).contains(&ratio), "{ratio}");
}

#[test]
fn trials_agree_with_the_chain_wherever_it_holds() {
    for (name, tolerance, drives) in [("5", 1, 3), ("5", 1, 12), ("6", 2, 6), ("1", 1, 2), ("1", 3, 4)] {
        for (rate, repair) in [(0.5, 0.1), (0.09, 3.0 * DAY_YEARS), (0.01, 0.5 * DAY_YEARS)] {
            let chain = Chain { drives, tolerance, failures_per_year: rate, repairs_per_year: 1.0 / repair };
            let expected = chain.loss_probability(1.0);
            let found = estimate(&plain(name, 1, drives, rate, repair), 1.0, TRIALS, 7).array;
            assert!(is_near(found, expected), "RAID{name} of {drives} at {rate}: {found:?}, not {expected}");
            assert!(found.plus_minus < 0.25 * expected, "RAID{name} of {drives} at {rate}: {found:?} is unsure");
        }
    }
}

#[test]
fn groups_of_raid50_and_pairs_of_raid10_fail_by_themselves() {
    let (rate, repair) = (0.09, 3.0 * DAY_YEARS);
    let one = Chain { drives: 3, tolerance: 1, failures_per_year: rate, repairs_per_year: 1.0 / repair };
    let found = estimate(&plain("50", 2, 6, rate, repair), 1.0, TRIALS, 1).array;
    assert!(is_near(found, 1.0 - (1.0 - one.loss_probability(1.0)).powi(2)), "{found:?}");
    let pair = Chain { drives: 2, ..one };
    let found = estimate(&plain("10", 1, 6, rate, repair), 1.0, TRIALS, 2).array;
    assert!(is_near(found, 1.0 - (1.0 - pair.loss_probability(1.0)).powi(3)), "{found:?}");
}

#[test]
fn stripes_without_redundancy_have_a_closed_form() {
    let found = estimate(&plain("0", 1, 6, 0.05, 0.01), 1.0, 1, 1);
    assert!((found.array.estimate - (1.0 - (-0.3_f64).exp())).abs() < 1e-12);
    assert_eq!(found.anything, found.array);
    assert_eq!(found.blocks.estimate, 0.0);
}

#[test]
fn what_the_eide_study_saw_is_what_its_rate_gives() {
    let rate = yearly_rate(find_rate("eide").unwrap().yearly);
    assert!((1.0 - (-3.0 * rate).exp() - 0.25).abs() < 1e-4);
}

#[test]
fn unreadable_sectors_cost_blocks_where_no_redundancy_is_left() {
    let mut raid5 = plain("5", 1, 4, 0.05, 1.0 * DAY_YEARS);
    raid5.members.iter_mut().for_each(|member| member.unreadable_per_bit = 1e-14);
    raid5.repair_times = RepairTimes::Fixed;
    let found = estimate(&raid5, 1.0, TRIALS, 3);
    // 24e12 bits read in each rebuild: one in five meets one. Rebuilds a year: 0.2, less those cut
    // short.
    let once = 1.0 - (-0.24_f64).exp();
    let expected = 1.0 - (-0.2 * once).exp();
    assert!((found.blocks.estimate / expected - 1.0).abs() < 0.03, "{found:?}, not {expected}");
    let mut raid6 = plain("6", 1, 5, 0.05, 1.0 * DAY_YEARS);
    raid6.members.iter_mut().for_each(|member| member.unreadable_per_bit = 1e-14);
    raid6.repair_times = RepairTimes::Fixed;
    assert!(estimate(&raid6, 1.0, TRIALS, 3).blocks.estimate < found.blocks.estimate / 50.0);
}

#[test]
fn a_shared_cause_takes_all_of_a_bus_and_no_redundancy_helps() {
    let mut together = plain("1", 1, 2, 0.05, DAY_YEARS);
    together.shared_cause = 0.1;
    together.members.iter_mut().for_each(|member| member.bus = 0);
    let mut apart = together.clone();
    apart.members[1].bus = 1;
    let [together, apart] = [together, apart].map(|it| estimate(&it, 1.0, TRIALS, 5).array.estimate);
    assert!((together / yearly_probability(0.005) - 1.0).abs() < 0.05, "{together}");
    assert!(apart < together / 10.0, "{apart} against {together}");
}

#[test]
fn a_spare_shortens_the_time_in_danger() {
    let mut without = plain("5", 1, 5, 0.09, 0.5 * DAY_YEARS);
    without.repair_times = RepairTimes::Fixed;
    without.replace_years = 7.0 * DAY_YEARS;
    let with = Survival { spares: 1, ..without.clone() };
    let [without, with] = [without, with].map(|it| estimate(&it, 1.0, TRIALS, 5).array.estimate);
    assert!(with < without / 5.0, "{with} against {without}");
}

#[test]
fn more_redundancy_and_better_drives_lose_less() {
    let loss = |name, drives, rate| estimate(&plain(name, 1, drives, rate, 3.0 * DAY_YEARS), 1.0, TRIALS, 11).array;
    let levels = [("0", 6), ("5", 6), ("6", 6), ("1", 4)].map(|(name, drives)| loss(name, drives, 0.05).estimate);
    assert!(levels.windows(2).all(|pair| pair[1] < pair[0] / 2.0), "{levels:?}");
    let rates = [0.2, 0.1, 0.05, 0.02].map(|rate| loss("5", 6, rate).estimate);
    assert!(rates.windows(2).all(|pair| pair[1] < pair[0]), "{rates:?}");
}

#[test]
fn a_seed_decides_everything() {
    let array = plain("6", 1, 6, 0.05, DAY_YEARS);
    assert_eq!(estimate(&array, 1.0, 1000, 9), estimate(&array, 1.0, 1000, 9));
    assert_ne!(estimate(&array, 1.0, 1000, 9), estimate(&array, 1.0, 1000, 10));
}

#[test]
fn copies_of_an_odd_raid10_overlap() {
    let sets = redundancy_sets(level("10", 1), 5, 100);
    assert_eq!(sets.len(), 5);
    assert_eq!(sets[4].members, [4, 0]);
    assert!(sets.iter().all(|set| set.tolerance == 1 && set.bytes_per_member == 50));
    let far = redundancy_sets(ArrayLevel::parse("10", Some("f2"), 1).unwrap(), 4, 100);
    assert_eq!(far.len(), 4, "far copies go to the next member, around the circle");
    assert_eq!(redundancy_sets(level("10", 1), 4, 100).len(), 2, "near copies are pairs");
}
