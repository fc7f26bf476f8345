//! Power: what drives draw when they start and when they work, against what they are plugged into.
//!
//! USB gives 5 V. A port of a USB 2.0 root or of a hub with its own supply gives 500 mA, a port of
//! a hub without one 100 mA, and such a hub takes 500 mA in all, itself included (USB 2.0
//! specification, 7.2.1); a USB 3 port gives 900 mA (USB 3.0 specification, 11.4.1). Disks in a
//! computer draw from its supply; the `eide` study measured about 450 W for a whole computer with
//! twelve disks when all start at once.

use shoal_sim::BusKind;

use crate::arrays::Arrangement;
use crate::drives::Inventory;

/// What a USB 2.0 port gives.
pub const USB2_PORT_MW: u32 = 2_500;
/// What a port of a hub without a supply gives.
pub const BUS_POWERED_PORT_MW: u32 = 500;
/// What a USB 3 port gives.
pub const USB3_PORT_MW: u32 = 4_500;

/// What an array draws.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draw {
    /// While all drives start at once; none if a drive does not say.
    pub start_mw: Option<u64>,
    /// While all work.
    pub active_mw: Option<u64>,
    /// While none has anything to do.
    pub idle_mw: Option<u64>,
    /// What is too much for what it is plugged into, and what to do, a sentence each.
    pub problems: Vec<String>,
}

/// What an array draws, and whether its ports, hubs and supply (if its power is given) can give
/// that.
pub fn draw(inventory: &Inventory, array: &Arrangement, supply_mw: Option<u64>) -> Draw {
    let sum = |value: &dyn Fn(usize) -> Option<u32>| -> Option<u64> {
        array.drives().map(|(drive, _)| value(drive).map(u64::from)).sum()
    };
    let active_mw = sum(&|drive| inventory.drives[drive].active_mw);
    let mut draw = Draw {
        start_mw: sum(&|drive| start_mw(inventory, drive)),
        active_mw,
        idle_mw: sum(&|drive| inventory.drives[drive].idle_mw),
        problems: Vec::new(),
    };
    draw.problems.extend(supply_problem(supply_mw, draw.start_mw.max(active_mw)));
    draw.problems.extend(bus_problems(inventory, array));
    draw
}

/// What is wrong with USB buses, each thing said once.
fn bus_problems(inventory: &Inventory, array: &Arrangement) -> Vec<String> {
    let mut problems: Vec<(String, Vec<String>)> = Vec::new();
    for bus in 0..inventory.buses.len() {
        let Some(problem) = bus_problem(inventory, array, bus) else { continue };
        let name = inventory.bus_name(bus);
        match problems.iter_mut().find(|(same, _)| *same == problem) {
            Some((_, names)) => names.push(name),
            None => problems.push((problem, vec![name])),
        }
    }
    problems.into_iter().map(|(problem, names)| format!("on {}: {problem}", names.join(" and "))).collect()
}

fn supply_problem(supply_mw: Option<u64>, needed_mw: Option<u64>) -> Option<String> {
    let (supply_mw, needed_mw) = supply_mw.zip(needed_mw).filter(|(supply, needed)| needed > supply)?;
    Some(format!(
        "the supply gives {}, and the drives draw {} when they start: let them start one after the other, or use a larger \
         supply",
        watts(supply_mw),
        watts(needed_mw)
    ))
}

/// Starting takes at least what working does.
fn start_mw(inventory: &Inventory, drive: usize) -> Option<u32> {
    let drive = &inventory.drives[drive];
    match (drive.start_mw, drive.active_mw) {
        (Some(start), Some(active)) => Some(start.max(active)),
        (start, active) => start.or(active),
    }
}

/// What is wrong with a USB bus of the array.
fn bus_problem(inventory: &Inventory, array: &Arrangement, bus: usize) -> Option<String> {
    let port_mw = match inventory.buses[bus].kind {
        BusKind::Usb2 => USB2_PORT_MW,
        BusKind::Usb3 => USB3_PORT_MW,
        _ => return None,
    };
    let needs: Vec<Option<u32>> =
        array.drives().filter(|(_, on)| *on == bus).map(|(drive, _)| start_mw(inventory, drive)).collect();
    let most = needs.iter().flatten().max().copied()?;
    let all: u32 = needs.iter().flatten().sum();
    if most > port_mw {
        return Some(format!(
            "a drive draws {}, and a port gives {}: give it a supply of its own",
            milliamperes(most),
            milliamperes(port_mw)
        ));
    }
    (needs.len() > 1 && (all > port_mw || most > BUS_POWERED_PORT_MW)).then(|| {
        format!(
            "{} drives draw up to {} together, {} each, and a hub without a supply of its own gives 100 mA a port: use a \
             hub with one",
            needs.len(),
            milliamperes(all),
            milliamperes(most)
        )
    })
}

/// At 5 V.
fn milliamperes(milliwatts: u32) -> String {
    format!("{} mA", milliwatts / 5)
}

/// Watts.
pub fn watts(milliwatts: u64) -> String {
    let watts = milliwatts as f64 / 1_000.0;
    if watts >= 10.0 { format!("{watts:.0} W") } else { format!("{watts:.1} W") }
}
