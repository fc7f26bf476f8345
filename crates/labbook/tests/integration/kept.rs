//! What is written is read.

use std::os::unix::fs::PermissionsExt;

use shoal_labbook::{ArrayIdentity, Ending, Filter, LabBook, LabBookError, Recorder, Rights, RunState, Target};

use crate::support::{ending, heading, keep, open, repeats, simulated_target, stick, target};

#[test]
fn all_of_a_run_comes_back() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("book");
    let mut array = simulated_target(2, 1);
    array.drive = None;
    array.array =
        Some(ArrayIdentity { uuid: Some("1:2:3:4".to_owned()), name: "pond".to_owned(), level: "5".to_owned() });
    array.members = vec![stick("sda"), stick("sdb")];
    let drive = simulated_target(1, 3);
    let number = keep(&mut open(&path), 1, &[drive.clone(), array.clone()]);
    let run = LabBook::open(&path, Rights::Read).unwrap().run(number).unwrap();
    assert_eq!((run.heading.clone(), run.ending.clone()), (heading(1), Some(ending(1))));
    assert_eq!(run.targets, [drive, array]);
    let measured = &run.targets[0].measurements[0];
    assert!(!measured.read_histogram.is_empty() && !measured.write_histogram.is_empty() && !measured.series.is_empty());
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn runs_are_listed_newest_first_and_say_how_they_stand() {
    let place = tempfile::tempdir().unwrap();
    let mut book = open(&place.path().join("book"));
    keep(&mut book, 1, &[simulated_target(1, 1)]);
    let mut on_array = target(&stick("md"));
    on_array.drive = None;
    on_array.members = vec![stick("sdb")];
    on_array.measurements = repeats("read_bytes_per_s", &[5, 9, 7]);
    keep(&mut book, 3, &[on_array]);
    let failed = book.begin(&heading(2)).unwrap();
    book.end(failed, &Ending { failure: Some("pulled out".to_owned()), ..ending(2) }).unwrap();
    book.begin(&heading(4)).unwrap();
    let entries = book.list(Filter::default()).unwrap();
    let states: Vec<_> = entries.iter().map(|entry| entry.state).collect();
    assert_eq!(states, [RunState::Unfinished, RunState::Finished, RunState::Failed, RunState::Finished]);
    assert_eq!(entries[1].headline.as_ref().unwrap().median, 7);
    assert_eq!(entries[2].failure.as_deref(), Some("pulled out"));
    assert!(entries[3].is_simulated && entries[3].headline.as_ref().unwrap().figure == "read_iops");
    assert_eq!(book.list(Filter { last: Some(2), drive: None }).unwrap(), entries[..2]);
    // As a member it took part, too.
    let member = book.find_drive("/dev/sdb").unwrap();
    let of_member = book.list(Filter { last: None, drive: Some(&member) }).unwrap();
    assert_eq!(of_member, entries[1..2]);
}

#[test]
fn what_is_added_to_a_target_joins_it() {
    let place = tempfile::tempdir().unwrap();
    let mut book = open(&place.path().join("book"));
    let run = book.begin(&heading(1)).unwrap();
    for value in [1, 2] {
        let measured = Target { measurements: repeats("read_iops", &[value]), ..target(&stick("sda")) };
        book.add(run, &measured).unwrap();
        assert_eq!(book.run(run).unwrap().state(), RunState::Unfinished);
    }
    let run = book.run(run).unwrap();
    assert_eq!((run.targets.len(), run.targets[0].measurements.len()), (1, 2));
    assert_eq!(run.reproduced_by().join(" "), "shoal bench /dev/sdb --seed 7");
}

#[test]
fn runs_and_drives_are_found_by_what_they_are_called() {
    let place = tempfile::tempdir().unwrap();
    let mut book = open(&place.path().join("book"));
    let number = keep(&mut book, 1, &[target(&stick("sda"))]);
    assert_eq!(book.find("1").unwrap(), number);
    assert_eq!(book.find(&heading(1).uuid.to_string()).unwrap(), number);
    for none in ["2", "", "-1", "99999999999999999999", "x' OR 1"] {
        assert!(matches!(book.find(none), Err(LabBookError::NoSuchRun { .. })), "{none}");
    }
    let mut other = stick("sda");
    other.identity = "another one in its place".to_owned();
    keep(&mut book, 2, &[target(&other)]);
    assert!(matches!(book.find_drive("/dev/sda"), Err(LabBookError::SeveralDrives { .. })));
    assert_eq!(book.find_drive(&other.identity).unwrap().drive, other);
    assert!(matches!(book.find_drive("/dev/sdz"), Err(LabBookError::NoSuchDrive { .. })));
}

#[test]
fn two_writers_lose_nothing() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("book");
    let runs_each = 20;
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let path = &path;
            scope.spawn(move || {
                for number in 0..runs_each {
                    let of_writer = Target { measurements: repeats("read_iops", &[writer]), ..target(&stick("sda")) };
                    keep(&mut open(path), writer * runs_each + number, &[of_writer]);
                }
            });
        }
    });
    let entries = open(&path).list(Filter::default()).unwrap();
    assert_eq!(entries.len() as u64, 4 * runs_each);
    assert!(entries.iter().all(|entry| entry.state == RunState::Finished && entry.measurement_count == 1));
}

#[test]
fn a_book_that_cannot_be_written_is_told_of_once_and_spoils_nothing() {
    let place = tempfile::tempdir().unwrap();
    let heard = std::cell::RefCell::new(Vec::new());
    let tell = |line: &str| heard.borrow_mut().push(line.to_owned());
    let mut recorder = Recorder::begin(&place.path().join("none/book"), &heading(1), &tell);
    recorder.add(&target(&stick("sda")));
    recorder.end(&ending(1));
    assert_eq!(heard.borrow().len(), 1, "{heard:?}");
    assert!(heard.borrow()[0].contains("none/book"), "{heard:?}");
    Recorder::none().add(&target(&stick("sda")));
    let path = place.path().join("book");
    let mut recorder = Recorder::begin(&path, &heading(1), &tell);
    recorder.add(&simulated_target(1, 1));
    recorder.end(&ending(1));
    assert_eq!(heard.borrow().len(), 1, "{heard:?}");
    assert_eq!(open(&path).list(Filter::default()).unwrap()[0].state, RunState::Finished);
}

#[test]
fn a_run_in_which_nothing_was_measured_can_be_taken_out() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("book");
    let mut book = open(&path);
    let kept = keep(&mut book, 1, &[simulated_target(1, 2)]);
    let empty = book.begin(&heading(2)).unwrap();
    let named = Target { measurements: Vec::new(), ..simulated_target(2, 1) };
    book.add(empty, &named).unwrap();
    for run in [kept, empty] {
        book.discard(run).unwrap();
    }
    let listed: Vec<_> = book.list(Filter::default()).unwrap().iter().map(|entry| entry.number).collect();
    assert_eq!(listed, [kept.0], "what was measured stays");
}
