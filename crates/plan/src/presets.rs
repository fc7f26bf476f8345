//! Plans of the published studies: their drives, their prices, their supply, and the array that
//! they made.

use crate::cost::{CostFigure, Purchase, published_cost_figures};
use crate::reliability::{FailureRate, find_rate};
use crate::units::CENTS_PER_USD;

/// A study's array, to be planned again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// What it is called in `--preset`.
    pub name: &'static str,
    /// The study.
    pub study: &'static str,
    /// What its array was.
    pub title: &'static str,
    /// The drives on their buses.
    pub fleet: &'static str,
    /// What it was for.
    pub purpose: &'static str,
    /// The array that the study made: its level and how many groups.
    pub level: (&'static str, usize),
    /// What was paid; for sticks, the drives alone.
    pub purchase: Purchase,
    /// How often its drives failed, if it says.
    pub failure: Option<FailureRate>,
    /// What its supply gave.
    pub supply_mw: Option<u64>,
}

/// "About 450 W" when the computer with twelve disks starts.
const EIDE_SUPPLY_MW: u64 = 450_000;

/// All presets.
pub fn presets() -> Vec<Preset> {
    let software = crate::cost::EIDE_SOFTWARE;
    let hardware = crate::cost::EIDE_HARDWARE;
    let twelve = "wd2500jb*12@pci/ata133*12";
    vec![
        Preset {
            name: "eide-software-raid5",
            title: "eight disks of 250 GB on two PCI cards, RAID5 in software",
            ..eide("wd2500jb*8@pci/ata133*4", ("5", 1), software)
        },
        Preset {
            name: "eide-hardware-raid5",
            title: "twelve disks of 250 GB, RAID5",
            ..eide(twelve, ("5", 1), hardware)
        },
        Preset {
            name: "eide-raid50",
            title: "twelve disks of 250 GB, RAID0 over two RAID5 of six",
            ..eide(twelve, ("50", 2), hardware)
        },
        Preset {
            name: "cruzer-raid0",
            study: "cruzer",
            title: "six sticks of 2 GB on two USB 2.0 buses, RAID0",
            fleet: "cruzer-titanium*6@usb2*2",
            purpose: "throughput",
            level: ("0", 1),
            purchase: Purchase { base_cents: 0, drives_cents: 6 * 20 * CENTS_PER_USD },
            failure: None,
            supply_mw: None,
        },
    ]
}

/// An array of the `eide` study, still without a name.
fn eide(fleet: &'static str, level: (&'static str, usize), purchase: Purchase) -> Preset {
    Preset {
        name: "",
        study: "eide",
        title: "",
        fleet,
        purpose: "capacity,survive=1",
        level,
        purchase,
        failure: find_rate("eide"),
        supply_mw: Some(EIDE_SUPPLY_MW),
    }
}

/// The preset of this name.
pub fn find_preset(name: &str) -> Option<Preset> {
    presets().into_iter().find(|preset| preset.name == name)
}

impl Preset {
    /// The study's cost figures.
    pub fn figures(&self) -> Vec<CostFigure> {
        published_cost_figures().into_iter().filter(|figure| figure.study == self.study).collect()
    }
}
