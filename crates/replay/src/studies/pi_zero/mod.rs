//! Four sticks on the hub of a Raspberry Pi Zero: fio on each and on a linear device over all, and
//! drives pulled.

mod claims;
mod pulled;

pub(crate) use claims::claims;

use shoal_bench::Direction;
use shoal_sim::{DriveModel, HostModel, Medium, Topology};
use shoal_volume::{ArrayLevel, Level};

use crate::ReplayError;
use crate::experiment::Experiment;
use crate::methods::fio;
use crate::outcomes::Outcomes;
use crate::rig::{alone, array, drive, model};

/// `--size=1G`
const FILE_BYTES: u64 = 1 << 30;

/// The sticks, one of which was in another state in its first run and in the linear device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stick {
    A,
    B,
    BSlow,
    C,
    D,
}

impl Stick {
    pub(crate) const ALL: [Self; 5] = [Self::A, Self::B, Self::BSlow, Self::C, Self::D];

    /// In the outcomes.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::A => "stick A",
            Self::B => "stick B",
            Self::BSlow => "stick B, long pauses",
            Self::C => "stick C",
            Self::D => "stick D",
        }
    }

    /// Its model, from the catalogue.
    fn model(self) -> Result<DriveModel, ReplayError> {
        match self {
            Self::A => model("pi-zero-a"),
            Self::B => model("pi-zero-b"),
            Self::BSlow => with_longest_pauses(model("pi-zero-b")?, LONG_PAUSE_NS),
            Self::C => model("pi-zero-c"),
            Self::D => model("pi-zero-d"),
        }
    }
}

/// The pauses of stick B in its first run.
const LONG_PAUSE_NS: u64 = 893_390_000;

/// Which stick a figure of the tables is about: the tables name slots.
pub(crate) fn stick_in_slot(experiment: &str, configuration: &str) -> Option<Stick> {
    use Stick::{A, B, BSlow, C, D};
    let slot =
        ["/dev/sda", "/dev/sdb", "/dev/sdc", "/dev/sdd"].iter().position(|slot| configuration.starts_with(slot))?;
    let is_run = |run| configuration.contains(run);
    let order = match experiment {
        "Write speed tests" if is_run("run 1") => [A, D, C, BSlow],
        "Write speed tests" | "Read speeds" => [A, D, C, B],
        "Write speed experiment (slot order)" if is_run("run 1") => [B, C, A, D],
        "Write speed experiment (slot order)" => [D, A, C, B],
        _ => return None,
    };
    Some(order[slot])
}

/// A stick whose longest pauses are of another length.
fn with_longest_pauses(mut model: DriveModel, duration_ns: u64) -> Result<DriveModel, ReplayError> {
    if let Medium::Flash(flash) = &mut model.medium {
        let ordinary = flash.stalls.clone();
        // As often as a p99.99 over this many writes needs to show it: what lies beyond it, and
        // itself.
        let writes = FILE_BYTES / 4096;
        let every_writes = u32::try_from(writes / (writes / 10_000 + 1)).expect("some ten thousand");
        flash.stalls = vec![shoal_sim::Stall { every_writes, duration_ns, phase_writes: 0 }];
        flash.stalls.extend(ordinary);
    }
    Ok(model)
}

/// The Pi's fio is direct: no cache, and pieces of up to 1 MiB.
fn host() -> HostModel {
    HostModel::default()
}

/// The longest first.
pub(crate) fn experiments() -> Vec<Experiment> {
    let mut experiments: Vec<_> =
        Stick::ALL.into_iter().map(|stick| Experiment::new(move |outcomes| write(stick, outcomes))).collect();
    experiments.push(Experiment::new(|outcomes| linear(Direction::Write, outcomes)));
    experiments.push(Experiment::new(|outcomes| linear(Direction::Read, outcomes)));
    let readers = Stick::ALL.into_iter().filter(|&stick| stick != Stick::BSlow);
    experiments.extend(readers.map(|stick| Experiment::new(move |outcomes| read(stick, outcomes))));
    experiments.push(Experiment::new(pulled::play));
    experiments
}

fn write(stick: Stick, outcomes: &mut Outcomes) -> Result<(), ReplayError> {
    let loaded = fio(&mut drive(&alone(stick.model()?), &host())?, Direction::Write, FILE_BYTES)?;
    outcomes.put(format!("{}, write", stick.name()), loaded.megabytes_per_s());
    outcomes.put(format!("{}, write, p99.99", stick.name()), loaded.tail_ms()?);
    Ok(())
}

fn read(stick: Stick, outcomes: &mut Outcomes) -> Result<(), ReplayError> {
    let loaded = fio(&mut drive(&alone(stick.model()?), &host())?, Direction::Read, FILE_BYTES)?;
    outcomes.put(format!("{}, read", stick.name()), loaded.megabytes_per_s());
    Ok(())
}

/// The sticks in the order in which the linear device joins them: that of the first run of the slot
/// experiment.
const LINEAR: [Stick; 4] = [Stick::BSlow, Stick::C, Stick::A, Stick::D];

fn linear(direction: Direction, outcomes: &mut Outcomes) -> Result<(), ReplayError> {
    let mut topology = Topology { buses: alone(Stick::A.model()?).buses, drives: Vec::new() };
    for stick in LINEAR {
        topology.drives.push((stick.model()?, 0));
    }
    let mut volume = array(&topology, &host(), ArrayLevel::Plain(Level::Linear), 64 << 10)?;
    let loaded = fio(&mut volume, direction, FILE_BYTES)?;
    match direction {
        Direction::Read => outcomes.put("linear, read", loaded.megabytes_per_s()),
        Direction::Write => {
            outcomes.put("linear, write", loaded.megabytes_per_s());
            outcomes.put("linear, write, p99.99", loaded.tail_ms()?);
        }
    }
    Ok(())
}
