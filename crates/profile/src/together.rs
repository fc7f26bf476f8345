//! Several drives at once: what the bus that they share costs them.

use serde::Serialize;
use shoal_drive::{Io, IoKind};
use shoal_sim::{BusKind, Command, DriveModel, HostModel, Operation, Simulation, Topology};
use shoal_volume::{DriveId, Memory, World};

use crate::measure::{MeasureError, STEP_BYTES_MAX};

/// Reads of each drive, one at a time on each.
const READS: u64 = 256;
/// Size of each: one command on any bus.
const READ_BYTES: u32 = 64 << 10;

/// What several drives did at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Together {
    /// How many.
    pub drives: usize,
    /// What all of them read together.
    pub measured_bytes_per_s: u64,
    /// What the model says for drives on one bus. On USB 2.0 that is where polls of waiting drives
    /// show.
    pub predicted_bytes_per_s: u64,
    /// What it says for drives that share nothing.
    pub unshared_bytes_per_s: u64,
}

/// Reads from all drives of a world at once, and from simulated ones of these models.
pub fn together(world: &mut impl World, drives: &[(DriveId, DriveModel)]) -> Result<Together, MeasureError> {
    let measured_bytes_per_s = read_at_once(world, drives)?;
    let models: Vec<DriveModel> = drives.iter().map(|(_, model)| model.clone()).collect();
    Ok(Together {
        drives: drives.len(),
        measured_bytes_per_s,
        predicted_bytes_per_s: predict(&models, 1),
        unshared_bytes_per_s: predict(&models, models.len()),
    })
}

/// Each drive reads on as soon as it has read; the rate ends when the first of them has read all of
/// its share, so that all were busy throughout.
fn read_at_once(world: &mut impl World, drives: &[(DriveId, DriveModel)]) -> Result<u64, MeasureError> {
    let slots = (STEP_BYTES_MAX / READ_BYTES) as usize;
    let read = |drive: usize, number: u64| Io {
        token: drive as u64,
        drive: drives[drive].0,
        kind: IoKind::Read(Memory { offset: drive % slots * READ_BYTES as usize, length: READ_BYTES }),
        offset: number * u64::from(READ_BYTES),
    };
    let began = world.now();
    let mut done = vec![0_u64; drives.len()];
    (0..drives.len()).for_each(|drive| world.submit(read(drive, 0)));
    let mut finished = Vec::new();
    let mut end = None;
    while world.pending() > 0 || !finished.is_empty() {
        if finished.is_empty() {
            world.wait(1, None, &mut finished)?;
        }
        for answer in finished.drain(..) {
            let drive = usize::try_from(answer.token).expect("it was made of one");
            if let Err(error) = answer.result {
                let offset = done[drive] * u64::from(READ_BYTES);
                let drive = world.facts(drives[drive].0).name;
                return Err(MeasureError::Io { drive, what: "read", offset, length: READ_BYTES, error });
            }
            done[drive] += 1;
            if done[drive] >= READS {
                end.get_or_insert((world.now(), done.iter().sum::<u64>()));
            }
            if end.is_none() {
                world.submit(read(drive, done[drive]));
            }
        }
    }
    let (end, reads) = end.expect("some drive was the first");
    Ok(rate(reads, end.since_ns(began)))
}

fn predict(models: &[DriveModel], buses: usize) -> u64 {
    let bus = |model: &DriveModel| shoal_sim::Bus { kind: model.bus, upstream: None };
    let kind = models.first().map_or(BusKind::Direct, |model| model.bus);
    let topology = Topology {
        buses: if buses == 1 {
            vec![shoal_sim::Bus { kind, upstream: None }]
        } else {
            models.iter().map(bus).collect()
        },
        drives: models.iter().enumerate().map(|(number, model)| (model.clone(), number % buses)).collect(),
    };
    let Ok(mut simulation) = Simulation::new(&topology, &HostModel::default()) else { return 0 };
    let command = |drive: usize, number: u64| Command {
        token: drive as u64,
        drive,
        operation: Operation::Read,
        offset: number * u64::from(READ_BYTES),
        length: READ_BYTES,
    };
    (0..models.len()).for_each(|drive| simulation.submit(command(drive, 0)));
    let mut done = vec![0_u64; models.len()];
    loop {
        let mut finished = Vec::new();
        simulation.run_until(1, None, &mut finished);
        for token in finished {
            let drive = usize::try_from(token).expect("it was made of one");
            done[drive] += 1;
            if done[drive] >= READS {
                return rate(done.iter().sum(), simulation.now_ns());
            }
            simulation.submit(command(drive, done[drive]));
        }
    }
}

fn rate(reads: u64, duration_ns: u64) -> u64 {
    let bytes = u128::from(reads) * u128::from(READ_BYTES);
    u64::try_from(bytes * 1_000_000_000 / u128::from(duration_ns.max(1))).unwrap_or(u64::MAX)
}
