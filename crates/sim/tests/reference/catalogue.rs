//! What is called solved in the catalogue, solved again: the simulation of one drive has to give
//! the figure of one drive that its description names. Within 1 %, as published figures have three
//! digits at most, and the way to the first place is counted.

use shoal_sim::{HostModel, Operation, Simulation, parse_fleet};

use crate::drives::old_kernel;
use crate::workloads::{KIB, MIB, User, raid0};

fn user(name: &str, host: &HostModel) -> User {
    let fleet = parse_fleet(name).unwrap();
    User::new(Simulation::new(&fleet.topology, host).unwrap())
}

/// Windows in turn, with a pause after each.
fn windows(name: &str, operation: Operation, window: u64, turn_ns: u64) -> f64 {
    user(name, &old_kernel()).windows(operation, raid0(1, 64 * KIB), 64 * MIB, window, turn_ns) as f64
}

fn read_ahead(name: &str) -> f64 {
    windows(name, Operation::Read, 128 * KIB, 0)
}

fn write_back(name: &str) -> f64 {
    user(name, &old_kernel()).write_back(raid0(1, 64 * KIB), 64 * MIB) as f64
}

/// What HD Tune does: 64 KiB, and a pause of 149 us.
fn hd_tune(name: &str) -> f64 {
    windows(name, Operation::Read, 64 * KIB, 149_000)
}

/// What ATTO does: 64 KiB after 64 KiB.
fn atto(name: &str, operation: Operation) -> f64 {
    windows(name, operation, 64 * KIB, 0)
}

/// What fio did: 1 GiB, 4 KiB at a time; the rate, and the 99.99th percentile in ms.
fn fio(name: &str, operation: Operation) -> (f64, f64) {
    let count = 262_144;
    let (rate, latencies) =
        user(name, &HostModel::default()).one_at_a_time(operation, 1, count, |number| number * 4096);
    (rate as f64, latencies[count as usize * 9999 / 10_000] as f64 / 1e6)
}

#[track_caller]
fn assert_gives(what: &str, value: f64, published: f64, bound: f64) {
    let error = value / published - 1.0;
    assert!(error.abs() < bound, "{what}: {value}, published {published}: {:+.2} %", error * 100.0);
}

#[test]
fn sticks_alone_do_what_was_published_of_sticks_alone() {
    let figures = [
        ("cruzer-titanium reads", read_ahead("cruzer-titanium"), 19e6),
        ("cruzer-titanium writes", write_back("cruzer-titanium"), 8e6),
        ("rally2 reads", read_ahead("rally2"), 23.38 * 1_048_576.0),
        ("rally2 writes", write_back("rally2"), 14e6),
        ("laptop-7200 reads", read_ahead("laptop-7200"), 30.11 * 1_048_576.0),
        ("rundisk-1g reads", hd_tune("rundisk-1g"), 13.4e6),
        ("rundisk-1g writes", atto("rundisk-1g", Operation::Write), 7.94e6),
        ("apacer-4g reads", hd_tune("apacer-4g"), 25.8e6),
        ("apacer-4g writes", atto("apacer-4g", Operation::Write), 9.68e6),
        ("lexar-firefly-8g reads", hd_tune("lexar-firefly-8g"), 21.7e6),
        ("lexar-firefly-8g writes", atto("lexar-firefly-8g", Operation::Write), 12.98e6),
        ("pi-zero-a reads", fio("pi-zero-a", Operation::Read).0, 6.611e6),
        ("pi-zero-b reads", fio("pi-zero-b", Operation::Read).0, 6.389e6),
        ("pi-zero-c reads", fio("pi-zero-c", Operation::Read).0, 6.402e6),
        ("pi-zero-d reads", fio("pi-zero-d", Operation::Read).0, 7.259e6),
    ];
    for (what, value, published) in figures {
        assert_gives(what, value, published, 0.01);
    }
}

#[test]
fn stalls_give_the_mean_speed_and_the_tail_that_were_published() {
    let figures = [
        ("pi-zero-a", 1.931e6, 442.5),
        ("pi-zero-b", 2.3625e6, 70.78),
        ("pi-zero-c", 2.427e6, 69.73),
        ("pi-zero-d", 3.858e6, 2600.47),
    ];
    for (name, rate, tail_ms) in figures {
        let (simulated, simulated_tail_ms) = fio(name, Operation::Write);
        assert_gives(name, simulated, rate, 0.01);
        assert_gives(name, simulated_tail_ms, tail_ms, 0.005);
    }
}

#[test]
fn a_random_read_of_the_rally_takes_what_seeker_said() {
    let mut user = user("rally2", &HostModel::default());
    let (_, latencies) = user.one_at_a_time(Operation::Read, 1, 400, |number| number * 7919 % 400_000 * 4096);
    let mean_ms = latencies.iter().sum::<u64>() as f64 / 400.0 / 1e6;
    assert_gives("seeker", mean_ms, 6.63, 0.005);
}
