//! What two runs, and a drive's runs over time, come to.

use shoal_bench::Verdict;
use shoal_labbook::{Better, Compared, LabBook, Tendency, compare, trend};

use crate::support::{keep, open, repeats, stick, target};

/// A run of one stick, with a figure's repeats.
fn run(book: &mut LabBook, number: u64, drive: &str, figure: &str, values: &[u64]) -> shoal_labbook::Run {
    let mut measured = target(&stick(drive));
    measured.measurements = repeats(figure, values);
    let number = keep(book, number, &[measured]);
    book.run(number).unwrap()
}

#[test]
fn two_runs_differ_if_their_repeats_do() {
    let place = tempfile::tempdir().unwrap();
    let mut book = open(&place.path().join("book"));
    let rate = "read_bytes_per_s";
    let before = run(&mut book, 1, "sda", rate, &[100, 101, 102]);
    for (number, values, verdict, difference) in [
        (2, &[120, 121, 125][..], Compared::Better, 20),
        (3, &[90, 91, 92], Compared::Worse, -10),
        (4, &[99, 101, 103], Compared::Noise, 0),
        (5, &[200], Compared::TooFew, 99),
    ] {
        let after = run(&mut book, number, "sda", rate, values);
        let comparison = compare(&before, &after);
        let [figure] = &comparison.figures[..] else { panic!("{comparison:?}") };
        assert_eq!((figure.verdict, figure.difference), (verdict, difference), "{figure:?}");
        assert_eq!((figure.better, figure.figure.as_str()), (Better::More, rate));
    }
}

#[test]
fn slow_answers_are_worse() {
    let place = tempfile::tempdir().unwrap();
    let mut book = open(&place.path().join("book"));
    let before = run(&mut book, 1, "sda", "read_latency_p99_ns", &[100, 101, 102]);
    let after = run(&mut book, 2, "sdb", "read_latency_p99_ns", &[200, 201, 202]);
    assert_eq!(compare(&before, &after).figures[0].verdict, Compared::Worse);
}

#[test]
fn what_only_one_has_and_what_is_invalid_is_left_out() {
    let place = tempfile::tempdir().unwrap();
    let mut book = open(&place.path().join("book"));
    let mut before = run(&mut book, 1, "sda", "read_iops", &[100, 101, 102]);
    let mut after = run(&mut book, 2, "sda", "read_iops", &[100, 101, 102]);
    before.targets[0].measurements[2].validity.verdict = Verdict::Invalid;
    after.targets[0].measurements[0].workload = "another".to_owned();
    let comparison = compare(&before, &after);
    assert_eq!(comparison.figures[0].before, [100, 101]);
    assert_eq!((comparison.invalid_count, comparison.left_out.len()), (1, 1), "{comparison:?}");
    assert!(comparison.left_out[0].contains("another"), "{comparison:?}");
}

#[test]
fn a_drive_that_gets_slower_is_said_to() {
    let place = tempfile::tempdir().unwrap();
    let mut book = open(&place.path().join("book"));
    for day in 0..8 {
        let wobble = [3, 0, 4, 1, 5, 2, 6, 0][day as usize];
        run(&mut book, day, "worn", "write_bytes_per_s", &[1000 - 20 * day + wobble, 1, 5000]);
        run(&mut book, 100 + day, "well", "write_bytes_per_s", &[1000 + wobble; 3]);
        run(&mut book, 200 + day, "slow", "read_latency_mean_ns", &[1000 + 10 * day]);
    }
    let tendency = |name: &str| {
        let trend = trend(&book, &book.find_drive(&format!("/dev/{name}")).unwrap()).unwrap();
        let [course] = &trend.courses[..] else { panic!("{trend:?}") };
        assert_eq!(course.points.len(), 8);
        (course.tendency, course.change.unwrap())
    };
    let (worn, change) = tendency("worn");
    assert!(worn == Tendency::Slower && (-150..=-130).contains(&change), "{worn:?} {change}");
    assert_eq!(tendency("well").0, Tendency::Steady);
    assert_eq!(tendency("slow"), (Tendency::Slower, 70));
}

#[test]
fn one_run_is_no_trend() {
    let place = tempfile::tempdir().unwrap();
    let mut book = open(&place.path().join("book"));
    run(&mut book, 1, "new", "read_iops", &[1, 2, 3]);
    let trend = trend(&book, &book.find_drive("/dev/new").unwrap()).unwrap();
    assert_eq!((trend.courses[0].tendency, trend.courses[0].change), (Tendency::TooFew, None));
}
