//! What goes out when.

use shoal_drive::{DriveId, Memory};

use super::*;

const KIB: u64 = 1024;

/// A write of this token, at this place and of this length in KiB.
fn write(token: u64, at: u64, length: u64) -> Io {
    let memory = Memory { offset: 0, length: (length * KIB) as u32 };
    Io { token, drive: DriveId(0), kind: IoKind::Write(memory), offset: at * KIB }
}

/// Begins the next request: the tokens in it.
fn begin(elevator: &mut Elevator) -> Vec<u64> {
    elevator.begin().iter().map(|io| io.token).collect()
}

/// Ends what is under way, and begins the next request.
fn turn(elevator: &mut Elevator) -> Vec<u64> {
    for token in elevator.under_way.clone() {
        assert!(begin(elevator).is_empty(), "one request at a time");
        elevator.ended(token);
    }
    begin(elevator)
}

const NOTHING: [u64; 0] = [];

#[test]
fn what_waits_goes_out_ascending_whatever_order_it_came_in() {
    let mut elevator = Elevator::new(1 << 20);
    [write(1, 900, 4), write(2, 100, 4), write(3, 500, 4)].into_iter().for_each(|io| elevator.submit(io));
    assert_eq!(begin(&mut elevator), [2]);
    assert_eq!(turn(&mut elevator), [3]);
    assert_eq!(turn(&mut elevator), [1]);
    assert_eq!(turn(&mut elevator), NOTHING);
}

#[test]
fn neighbours_are_one_request_up_to_the_best_of_the_drive() {
    let mut elevator = Elevator::new(128 << 10);
    for (token, at) in [(3, 128), (1, 0), (2, 64), (4, 192), (5, 260)] {
        elevator.submit(write(token, at, 64));
    }
    assert_eq!(begin(&mut elevator), [1, 2]);
    assert_eq!(turn(&mut elevator), [3, 4]);
    assert_eq!(turn(&mut elevator), [5], "there is a gap before it");
    elevator.submit(write(6, 600, 512));
    assert_eq!(turn(&mut elevator), [6], "what is long already goes by itself");
}

#[test]
fn what_lies_behind_waits_for_the_next_sweep_and_what_lies_ahead_joins() {
    let mut elevator = Elevator::new(1 << 20);
    [write(1, 100, 4), write(2, 300, 4)].into_iter().for_each(|io| elevator.submit(io));
    assert_eq!(begin(&mut elevator), [1]);
    [write(3, 0, 4), write(4, 104, 4), write(5, 200, 4)].into_iter().for_each(|io| elevator.submit(io));
    assert_eq!(turn(&mut elevator), [4]);
    assert_eq!(turn(&mut elevator), [5]);
    assert_eq!(turn(&mut elevator), [2]);
    assert_eq!(turn(&mut elevator), [3]);
}

#[test]
fn a_sweep_ends_however_much_comes_ahead_of_it() {
    let mut elevator = Elevator::new(4096);
    elevator.submit(write(0, 1000, 4));
    assert_eq!(begin(&mut elevator), [0]);
    elevator.submit(write(1, 0, 4)); // behind
    let mut at = 1004;
    for count in 0.. {
        (0..3).for_each(|more| elevator.submit(write(10 + u64::from(count * 3 + more), at + 4 * u64::from(more), 4)));
        at += 12;
        if turn(&mut elevator) == [1] {
            assert!(count <= JOINS_MAX, "{count}");
            return;
        }
    }
}

#[test]
fn writes_of_one_place_keep_their_order() {
    let mut elevator = Elevator::new(1 << 20);
    (1..4).for_each(|token| elevator.submit(write(token, 8, 4)));
    assert_eq!(begin(&mut elevator), [1]);
    assert_eq!(turn(&mut elevator), [2]);
    assert_eq!(turn(&mut elevator), [3]);
}

#[test]
fn a_request_is_over_when_each_of_its_writes_is_answered() {
    let mut elevator = Elevator::new(1 << 20);
    [write(1, 0, 4), write(2, 4, 4), write(3, 50, 4)].into_iter().for_each(|io| elevator.submit(io));
    assert_eq!(begin(&mut elevator), [1, 2]);
    elevator.ended(2);
    assert_eq!(begin(&mut elevator), NOTHING);
    elevator.ended(1);
    assert_eq!(begin(&mut elevator), [3]);
}

#[test]
fn what_was_not_begun_can_be_taken_back() {
    let mut elevator = Elevator::new(4096);
    [write(1, 0, 4), write(2, 4, 4), write(3, 50, 4)].into_iter().for_each(|io| elevator.submit(io));
    assert_eq!(begin(&mut elevator), [1]);
    assert!(!elevator.holds(1) && elevator.holds(2));
    assert_eq!(elevator.take_back(), [2, 3]);
    assert_eq!(turn(&mut elevator), NOTHING);
}

#[test]
fn a_sweep_that_stands_between_two_requests_is_joined_as_well() {
    let mut elevator = Elevator::new(4096);
    [write(1, 0, 4), write(2, 50, 4)].into_iter().for_each(|io| elevator.submit(io));
    assert_eq!(begin(&mut elevator), [1]);
    elevator.ended(1);
    elevator.submit(write(3, 4, 4));
    assert_eq!(begin(&mut elevator), [3]);
    assert_eq!(turn(&mut elevator), [2]);
}
