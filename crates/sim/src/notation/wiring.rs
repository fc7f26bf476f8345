//! From places to buses: which there are, what each hangs on, and which drive is on which.

use std::collections::BTreeMap;

use super::NotationError;
use super::syntax::{Group, Segment, Which};
use crate::limits::FLEET_MAX;
use crate::{Bus, BusKind, Description, Topology};

/// What tells a bus from the others on the same bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Number {
    /// It has this number, and can be named by others.
    Shared(u32),
    /// It belongs to the drives that it was made for.
    Own(usize),
}

/// A bus, by the way to it from the computer.
type Way = Vec<(BusKind, Number)>;

/// Drives that one ATA cable has plugs for.
const ATA_DRIVES: usize = 2;

#[derive(Default)]
struct Wiring {
    buses: Vec<Bus>,
    known: BTreeMap<Way, usize>,
}

pub(super) fn wire(groups: &[Group], descriptions: &[Description]) -> Result<Topology, NotationError> {
    let mut wiring = Wiring::default();
    let mut drives = Vec::new();
    let mut rest = descriptions;
    for group in groups {
        let (these, others) = rest.split_at(group.count as usize);
        rest = others;
        let first = drives.len();
        let ways = if group.place.is_empty() { own_ways(first, these) } else { ways(&group.place)? };
        for (turn, description) in these.iter().enumerate() {
            let bus = wiring.bus(&ways[turn % ways.len()])?;
            drives.push((description.model.clone(), bus));
        }
        wiring.check_channels(group, &drives)?;
    }
    Ok(Topology { buses: wiring.buses, drives })
}

impl Wiring {
    /// The bus at the end of a way; made, with all on the way to it, if it is not there yet.
    fn bus(&mut self, way: &[(BusKind, Number)]) -> Result<usize, NotationError> {
        let mut upstream = None;
        for depth in 1..=way.len() {
            let known = self.known.get(&way[..depth]).copied();
            let bus = known.unwrap_or(self.buses.len());
            if known.is_none() {
                if self.buses.len() >= FLEET_MAX as usize {
                    return Err(NotationError::TooMany { what: "buses" });
                }
                self.buses.push(Bus { kind: way[depth - 1].0, upstream });
                self.known.insert(way[..depth].to_vec(), bus);
            }
            upstream = Some(bus);
        }
        Ok(upstream.expect("a place has at least one bus"))
    }

    /// Whether each ATA channel has plugs for its drives.
    fn check_channels<T>(&self, group: &Group, drives: &[(T, usize)]) -> Result<(), NotationError> {
        let on = |bus: usize| drives.iter().filter(|drive| drive.1 == bus).count();
        let channels = (0..self.buses.len()).filter(|&bus| self.buses[bus].kind == BusKind::Ata133);
        match channels.map(on).max() {
            Some(most) if most > ATA_DRIVES => Err(NotationError::Channel {
                place: group.to_string(),
                drives: most,
                channels: (group.count as usize).div_ceil(ATA_DRIVES),
            }),
            _ => Ok(()),
        }
    }
}

/// The buses that a place names, in the order in which drives are dealt to them: those nearer to
/// the computer take turns first.
fn ways(place: &[Segment]) -> Result<Vec<Way>, NotationError> {
    let mut ways: Vec<Way> = vec![Vec::new()];
    for segment in place {
        let numbers = match segment.which {
            Which::UpTo(count) => 1..=count,
            Which::Number(number) => number..=number,
        };
        if ways.len() * numbers.clone().count() > FLEET_MAX as usize {
            return Err(NotationError::TooMany { what: "buses" });
        }
        let longer =
            |number| ways.iter().map(move |way| [&way[..], &[(segment.kind, Number::Shared(number))]].concat());
        ways = numbers.flat_map(longer).collect();
    }
    Ok(ways)
}

/// Where drives are plugged in if nothing is said; `first` is the number of the first of them in
/// the fleet.
fn own_ways(first: usize, drives: &[Description]) -> Vec<Way> {
    let way = |(turn, description): (usize, &Description)| match description.model.bus {
        kind @ (BusKind::Sata3 | BusKind::Sata6) => vec![(kind, Number::Own(first + turn))],
        kind @ BusKind::Ata133 => {
            vec![(BusKind::Pci, Number::Shared(1)), (kind, Number::Own(first + turn / ATA_DRIVES))]
        }
        kind => vec![(kind, Number::Shared(1))],
    };
    drives.iter().enumerate().map(way).collect()
}
