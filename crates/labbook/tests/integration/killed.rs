//! A process that measures and writes is killed at random moments, again and again on one lab book.
//! It opens every time, and has all that was finished.
//!
//! `SHOAL_KILLS` says how many times; the long tier takes 200.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rusqlite::Connection;
use shoal_labbook::{Filter, RunState};

use crate::support::{keep, open, simulated_target};

/// Where the child writes; without it there is no child.
const PLACE: &str = "SHOAL_LAB_BOOK_OF_CHILD";
/// The number of its first run.
const FIRST: &str = "SHOAL_LAB_BOOK_FIRST";
/// What the child says when a run is finished.
const FINISHED: &str = "finished ";
/// How long a child lives at most beyond that.
const LIFE_US: u64 = 100_000;

#[test]
fn child_measures_until_it_is_killed() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let first: u64 = std::env::var(FIRST).unwrap().parse().unwrap();
    let target = simulated_target(first, 1);
    for number in first..first + 100_000 {
        keep(&mut open(Path::new(&place)), number, &[target.clone(), simulated_target(number, 2)]);
        println!("{FINISHED}{number}");
    }
}

/// Starts a child, waits until it has finished so many runs, and a while longer, kills it, and
/// returns the runs that it has said to be finished. So however slow the machine is, runs are
/// finished, and cut off.
fn lives(path: &Path, first: u64, (runs, life): (usize, Duration)) -> Vec<u64> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "killed::child_measures_until_it_is_killed", "--nocapture"]);
    command.env(PLACE, path).env(FIRST, first.to_string()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    // The first stands behind what the harness has to say.
    let mut finished = lines.filter_map(|line| line.rsplit_once(FINISHED)?.1.parse().ok());
    let mut said: Vec<u64> = finished.by_ref().take(runs).collect();
    std::thread::sleep(life);
    child.kill().unwrap();
    child.wait().unwrap();
    said.extend(finished);
    said
}

#[test]
fn a_killed_process_leaves_a_lab_book_with_all_that_was_finished() {
    let kills = std::env::var("SHOAL_KILLS").map_or(40, |kills| kills.parse().unwrap());
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("book");
    let (mut state, mut finished, mut unfinished) = (7_u64, 0, 0);
    let mut said = Vec::new();
    for round in 0..kills {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let life = Duration::from_micros((state >> 33) % LIFE_US);
        said.extend(lives(&path, round * 100_000, ((round % 3) as usize, life)));
        let book = open(&path);
        let integrity: String =
            Connection::open(&path).unwrap().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(integrity, "ok", "after {round} kills");
        let entries = book.list(Filter::default()).unwrap();
        let of_state = |state| entries.iter().filter(move |entry| entry.state == state);
        (finished, unfinished) = (of_state(RunState::Finished).count(), of_state(RunState::Unfinished).count());
        assert!(finished >= said.len(), "{} runs were finished, and {finished} are there", said.len());
        assert!(of_state(RunState::Finished).all(|entry| entry.measurement_count == 3), "{entries:?}");
        for number in &said[said.len().saturating_sub(3)..] {
            let uuid = crate::support::heading(*number).uuid.to_string();
            let run = book.run(book.find(&uuid).unwrap()).unwrap();
            assert_eq!((run.state(), run.targets.len()), (RunState::Finished, 1), "{run:?}");
        }
    }
    assert!(
        !said.is_empty() && unfinished <= kills as usize,
        "{finished} finished, {unfinished} not, of {kills} kills"
    );
}
