//! Seeds are clean, and a seed is the same run whenever it is played.
#![allow(clippy::unwrap_used)]

use shoal_swarm::{Scenario, Watch, hunt, play, sample};

/// `SHOAL_SEEDS=10000` plays as many; a hundred are for every day.
#[test]
fn seeds_are_clean() {
    let seeds = std::env::var("SHOAL_SEEDS").map_or(100, |text| text.parse().expect("a number of seeds"));
    let watch = Watch::new(std::thread::available_parallelism().unwrap().get());
    let hunted = hunt(0..seeds, &watch).unwrap();
    let finds: Vec<_> = hunted.finds.iter().map(|find| format!("seed {}: {}", find.seed, find.failure)).collect();
    assert!(finds.is_empty(), "{finds:#?}\nreplay one: shoal sim swarm --seeds N..N+1");
    assert_eq!(hunted.seeds, seeds);
    let counts = hunted.counts;
    let happened = [
        counts.power_cuts,
        counts.cut_short,
        counts.away,
        counts.misused,
        counts.strangers,
        counts.unplugged,
        counts.hubs_lost,
        counts.revived,
        counts.hung,
        counts.hung_at_start,
        counts.marred,
        counts.lies,
        counts.split,
        counts.apart_refused,
        counts.stalls,
        counts.errors,
        counts.last_copies,
        counts.latent,
        counts.silent,
        counts.replaced,
        counts.journals,
        counts.grown,
        counts.flipped,
    ];
    assert!(happened.iter().all(|count| *count > 0), "some faults never came: {counts:?}");
}

/// Seeds that found something once, in shoal or in the hunt itself.
#[test]
fn seeds_that_found_something_are_clean() {
    const FOUND: &[u64] = &[
        480, 2081, 3439, 4331, 4902, 5220, 5486, 5724, 6850, 8141, 8619, 9814, 10_004, 11_646, 11_834, 12_735, 14_411,
        18_045, 20_169, 21_950, 23_034, 24_149, 25_019, 33_074, 17_477, 20_592, 25_799, 40_734, 54_057, 65_562, 69_937,
        86_492, 87_147, 102_442, 103_251, 110_579, 118_564, 131_243, 143_108, 146_529, 158_347, 219_560, 233_281,
        309_602, 216_951, 155_840, 503_955, 207_037, 10_916, 20_986, 22_324, 13_853, 14_066, 17_924, 7279, 19_807,
        2938, 29_498, 37_083, 23_242, 43_070, 48_718, 51_933, 57_823, 76_120, 77_060, 97_495, 106_547, 106_701,
        109_949, 78_171, 123_166, 140_774, 152_078, 189_690, 225_931, 235_214, 244_199, 264_760, 287_289, 289_977,
        340_641, 346_188, 380_093, 428_012, 480_271, 502_000, 517_478, 581_277, 584_688, 610_977, 636_325, 718_267,
        741_521, 859_352, 924_848, 950_314, 979_252, 1_030_363, 1_032_922, 1_043_098, 1_094_538, 1_131_292, 1_191_013,
        2_001_679, 1_233_192, 1_238_793, 1_334_210, 1_353_613, 1_461_423, 1_501_533,
    ];
    let finds = |seed: u64| hunt(seed..seed + 1, &Watch::new(1)).unwrap().finds;
    let failures =
        FOUND.iter().flat_map(|seed| finds(*seed)).map(|find| format!("seed {}: {}", find.seed, find.failure));
    assert_eq!(failures.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn a_seed_is_the_same_run_on_any_number_of_threads() {
    let [one, three] = [1, 3].map(|threads| hunt(200..230, &Watch::new(threads)).unwrap());
    assert_eq!((one.trace_hash, one.counts), (three.trace_hash, three.counts));
    let other = hunt(201..231, &Watch::new(1)).unwrap();
    assert_ne!(one.trace_hash, other.trace_hash);
}

#[test]
fn watching_a_run_does_not_change_it() {
    let scenario = sample(7);
    let [silent, traced] = [false, true].map(|is_traced| play(&scenario, is_traced).unwrap());
    assert_eq!((silent.trace_hash, silent.counts), (traced.trace_hash, traced.counts));
    assert!(silent.lines.is_empty() && traced.lines.lines().count() > 100);
}

/// A pass over all of one takes as long as a thousand other worlds.
#[test]
fn nothing_goes_over_all_of_a_vast_drive() {
    let vast: Vec<_> = (0..400).map(sample).filter(Scenario::is_vast).collect();
    assert!(!vast.is_empty());
    for scenario in vast {
        let member_ios = play(&scenario, false).unwrap().counts.member_ios;
        assert!(member_ios < 50_000, "seed {}: {member_ios} I/Os of members", scenario.seed);
    }
}
