//! USB sticks in an emulated machine: where they are plugged in, how fast they are let be, pulled,
//! and plugged back.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs::File;
use std::path::Path;

use shoal_lab::usb::{Limits, Stick, UsbGuest, UsbLab};

const STICK_BYTES: u64 = 32 << 20;
const READ_BYTES_PER_S: u64 = 2_000_000;
/// What is read to see how fast that goes, and how long it takes beyond what the throttle lets pass
/// at once.
const SAMPLE_BYTES: u64 = 8 << 20;

#[test]
fn needs_bus_sticks_are_throttled_pulled_and_plugged_back() {
    let lab = UsbLab::find().map_err(|missing| eprintln!("SKIPPED: sticks are pulled and plugged: needs {missing}"));
    let Ok(lab) = lab else { return };
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let limits = Limits { read_bytes_per_s: READ_BYTES_PER_S, write_bytes_per_s: READ_BYTES_PER_S / 2 };
    let sticks = [0, 1, 0].map(|bus| (bus, limits));
    let sticks: Vec<_> = sticks
        .iter()
        .enumerate()
        .map(|(number, &(bus, limits))| stick(directory.path(), number, bus, limits))
        .collect();
    let mut machine = lab.boot(&sticks, &[]).unwrap_or_else(|error| panic!("{error}"));

    buses_differ(&mut machine);
    a_read_takes_its_time(&mut machine);
    content_survives_a_pull(&mut machine);
    assert_eq!(machine.shell().run("echo before; false; echo after").unwrap().status, 1);
}

fn stick(directory: &Path, number: usize, bus: usize, limits: Limits) -> Stick {
    let image = directory.join(format!("stick{number}"));
    File::create(&image).unwrap().set_len(STICK_BYTES).unwrap();
    Stick { image, bus, limits: Some(limits) }
}

fn buses_differ(machine: &mut UsbGuest) {
    let controllers = machine
        .shell()
        .done(
            "for device in $(stick STICK0 STICK1 STICK2); do
                 readlink -f /sys/block/${device##*/} | grep -o '0000:00:[^/]*/usb'
             done",
        )
        .unwrap();
    let controllers: Vec<_> = controllers.lines().collect();
    assert_eq!(controllers.len(), 3, "{controllers:?}");
    assert!(controllers[0] == controllers[2] && controllers[0] != controllers[1], "{controllers:?}");
}

/// Not faster than the throttle lets it; a machine that does much else may be slower.
fn a_read_takes_its_time(machine: &mut UsbGuest) {
    let count = SAMPLE_BYTES >> 20;
    let script = format!("timed dd if=$(stick STICK0) of=/dev/null bs=1M count={count} iflag=direct");
    let hundredths: u64 = machine.shell().done(&script).unwrap().trim().parse().unwrap();
    let burst_bytes = READ_BYTES_PER_S / 10;
    let least = (SAMPLE_BYTES - burst_bytes) * 100 / READ_BYTES_PER_S;
    assert!(hundredths >= least * 95 / 100, "{hundredths} hundredths of a second instead of {least}");
}

fn content_survives_a_pull(machine: &mut UsbGuest) {
    machine.shell().done("echo what it holds | dd of=$(stick STICK1) bs=512 conv=sync,fsync 2>/dev/null").unwrap();
    machine.pull(1).unwrap();
    machine.shell().done("while stick STICK1; do sleep 0.1; done; stick STICK0 STICK2").unwrap();
    machine.plug(1).unwrap();
    let found = machine
        .shell()
        .done("until stick STICK1 >/dev/null; do sleep 0.1; done; dd if=$(stick STICK1) bs=13 count=1 2>/dev/null")
        .unwrap();
    assert_eq!(found.trim_end(), "what it holds");
}
