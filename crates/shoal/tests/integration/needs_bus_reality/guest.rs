//! What sticks and arrays of them do in the machine, under Linux's md and under shoal.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde_json::Value;
use shoal_lab::usb::{Limits, Stick, UsbGuest, UsbLab};

use crate::needs_bus_reality::figures::{Each, Effort, Engine, Figures, Kind};
use crate::needs_bus_reality::shapes::Shape;

/// Sticks on each of the two buses.
const STICKS: [usize; 2] = [6, 3];
/// Content of one.
pub(crate) const STICK_BYTES: u64 = 192 << 20;
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_shoal");

/// A machine with sticks on both buses.
pub(crate) struct Machine {
    guest: UsbGuest,
    effort: Effort,
}

/// What `shoal bench` is to run on.
#[derive(Debug)]
pub(crate) struct Target {
    devices: String,
    options: &'static str,
}

impl Machine {
    pub(crate) fn boot(lab: &UsbLab, directory: &Path, limits: Option<Limits>, effort: Effort) -> Self {
        let buses = STICKS.iter().enumerate().flat_map(|(bus, &count)| std::iter::repeat_n(bus, count));
        let stick = |(number, bus)| {
            let image = directory.join(format!("stick{number}"));
            File::create(&image).unwrap().set_len(STICK_BYTES).unwrap();
            Stick { image, bus, limits }
        };
        let sticks: Vec<_> = buses.enumerate().map(stick).collect();
        let guest = lab.boot(&sticks, &[PathBuf::from(PROGRAM)]).unwrap_or_else(|error| panic!("{error}"));
        Self { guest, effort }
    }

    /// One stick alone: all that is measured of it. It is one that is in none of the few arrays, as
    /// it is written to.
    pub(crate) fn stick(&mut self) -> Figures {
        self.figures(&Target { devices: serials([STICKS[0] - 1]), options: "--raw" })
    }

    /// Makes an array with mdadm, which Linux then runs, or with shoal.
    pub(crate) fn create(&mut self, shape: &Shape, engine: Engine) -> Target {
        let (level, count, sticks) = (shape.level, shape.count(), members(shape));
        self.done("[ ! -e /dev/md0 ] || mdadm --stop --quiet /dev/md0");
        match engine {
            Engine::Linux => {
                self.done(&format!(
                    "mdadm --create /dev/md0 --run --quiet --metadata 1.2 --assume-clean --level {level} {} \
                     --raid-devices {count} {sticks}",
                    shape.chunk_option("")
                ));
                // By threads: where a request may not wait, as io_uring's first try may not, md's
                // RAID5 takes a stick whose queue is full for one that cannot be read, and reads
                // everything again in blocks of 4 KiB.
                Target { devices: "/dev/md0".to_owned(), options: "--io-engine threads" }
            }
            Engine::Shoal => {
                self.done(&format!(
                    "{PROGRAM} --quiet create --force --assume-clean --level {level} {} {sticks}",
                    shape.chunk_option("K")
                ));
                Target { devices: sticks, options: "" }
            }
        }
    }

    pub(crate) fn figures(&mut self, target: &Target) -> Figures {
        Figures {
            bytes_per_s: Each {
                read: self.figure(target, Kind::SequentialRead),
                write: self.figure(target, Kind::SequentialWrite),
            },
            request_ns: Each {
                read: self.figure(target, Kind::SmallRead),
                write: self.figure(target, Kind::SmallWrite),
            },
        }
    }

    /// The median of a few measurements.
    pub(crate) fn figure(&mut self, target: &Target, kind: Kind) -> u64 {
        let Effort { seconds, repeats } = self.effort;
        let Target { devices, options: how } = target;
        let options = options(kind);
        let document = self.done(&format!(
            "{PROGRAM} --quiet --json bench {how} {options} --warm-up 1 --seconds {seconds} --repeat {repeats} {devices} \
             2>/dev/null"
        ));
        median(&document, kind)
    }

    fn done(&mut self, script: &str) -> String {
        self.guest.shell().done(script).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// The members of an array: from the first of each bus on.
fn members(shape: &Shape) -> String {
    let [one, other] = shape.sticks;
    serials((0..one).chain(STICKS[0]..STICKS[0] + other))
}

fn serials(numbers: impl IntoIterator<Item = usize>) -> String {
    let serials: Vec<_> = numbers.into_iter().map(Stick::serial).collect();
    format!("$(stick {})", serials.join(" "))
}

/// What `shoal bench` is told for a kind of figure.
pub(crate) fn options(kind: Kind) -> &'static str {
    match kind {
        Kind::SequentialRead => "--read",
        Kind::SequentialWrite => "--write --force",
        Kind::SmallRead => "--random --depth 1 --read",
        Kind::SmallWrite => "--random --depth 1 --write --force",
    }
}

/// The median of what a document of `shoal bench` says.
pub(crate) fn median(document: &str, kind: Kind) -> u64 {
    let document: Value = serde_json::from_str(document).unwrap_or_else(|error| panic!("{error}: {document}"));
    let number = |result: &Value| match kind.is_sequential() {
        true => result["bytes_per_s"].as_u64(),
        false => result["latency_ns"]["mean"].as_u64(),
    };
    let results = document["results"].as_array().unwrap();
    let mut numbers: Vec<_> = results.iter().map(|result| number(result).unwrap()).collect();
    numbers.sort_unstable();
    numbers[numbers.len() / 2]
}
