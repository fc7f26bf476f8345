//! The drives that worlds are made of: few makes, of very different speed, so that answers come in
//! every order.

use shoal_sim::{Bus, BusKind, DriveModel, Flash, Medium, PerDirection, Stall, Topology};

/// A make of drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Make {
    /// A stick that takes its time, and pauses.
    SlowStick,
    /// A better stick.
    Stick,
    /// An SSD.
    Fast,
}

impl Make {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::SlowStick, Self::Stick, Self::Fast];

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::SlowStick => "slow-stick",
            Self::Stick => "stick",
            Self::Fast => "fast",
        }
    }

    fn model(self, size_bytes: u64) -> DriveModel {
        let both = |ns| PerDirection { read: ns, write: ns };
        let (bus, command_ns, bytes_per_s, random_ns, stalls) = match self {
            Self::SlowStick => {
                let stall = Stall { every_writes: 40, duration_ns: 70_000_000, phase_writes: 13 };
                (BusKind::Usb2, 375_000, PerDirection { read: 19_000_000, write: 5_000_000 }, 2_000_000, vec![stall])
            }
            Self::Stick => (BusKind::Usb2, 300_000, both(25_000_000), 500_000, Vec::new()),
            Self::Fast => (BusKind::Sata6, 20_000, both(400_000_000), 50_000, Vec::new()),
        };
        DriveModel {
            name: self.name().to_owned(),
            title: self.name().to_owned(),
            size_bytes,
            logical_block_bytes: 512,
            bus,
            command_ns: both(command_ns),
            page_bytes: 4096,
            page_buffers: 1,
            queued_commands: 1,
            fake: None,
            write_through: false,
            medium: Medium::Flash(Flash { bytes_per_s, random_ns: both(random_ns), stalls, ..Flash::default() }),
        }
    }
}

/// Drives of these makes and capacities, each on the bus of its number; a bus is of the kind that
/// its first drive wants.
pub(crate) fn topology(makes: &[(Make, usize)], bytes_of: impl Fn(usize) -> u64) -> Topology {
    let mut numbers: Vec<usize> = makes.iter().map(|(_, bus)| *bus).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let drives: Vec<_> = (0..).zip(makes).map(|(drive, (make, _))| make.model(bytes_of(drive))).collect();
    let kind = |number: &usize| {
        let first = makes.iter().position(|(_, bus)| bus == number).expect("the number is of some drive");
        Bus { kind: drives[first].bus, upstream: None }
    };
    let buses = numbers.iter().map(kind).collect();
    let place = |bus: usize| numbers.binary_search(&bus).expect("every number is there");
    let places: Vec<_> = makes.iter().map(|(_, bus)| place(*bus)).collect();
    Topology { buses, drives: drives.into_iter().zip(places).collect() }
}
