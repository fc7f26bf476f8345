//! Simulated drives, alone or as an array, ready to be measured.

use shoal_sim::{DriveModel, Fleet, HostModel, Topology, parse_fleet};
use shoal_volume::{
    ArrayLevel, ArrayVolume, BufferPlan, ConsistencyPolicy, Contents, CreateOptions, DriveVolume, MinorVersion,
    OpenOptions, SimulatedWorld, Volume, World,
};

use crate::ReplayError;

/// Requests that may be in flight, and how long each may be: together more than any method keeps.
const REQUEST_COUNT: u32 = 128;
const REQUEST_BYTES: u32 = 256 << 10;
/// Nothing in a replay is left to chance; worlds ask for a seed all the same.
const SEED: u64 = 1;

/// A volume whose time is virtual, and passes when it is told to.
pub(crate) trait Timed: Volume {
    /// Lets time pass; what is in flight goes on.
    fn pass(&mut self, duration_ns: u64);
}

impl Timed for DriveVolume<SimulatedWorld> {
    fn pass(&mut self, duration_ns: u64) {
        self.world_mut().simulation_mut().advance(duration_ns);
    }
}

impl Timed for ArrayVolume<SimulatedWorld> {
    fn pass(&mut self, duration_ns: u64) {
        self.world_mut().simulation_mut().advance(duration_ns);
    }
}

/// The drives of a fleet's notation, which is one of this crate's own.
pub(crate) fn fleet(text: &str) -> Result<Fleet, ReplayError> {
    Ok(parse_fleet(text)?)
}

/// The model of one drive of the catalogue.
pub(crate) fn model(name: &str) -> Result<DriveModel, ReplayError> {
    Ok(shoal_sim::find(name).map_err(shoal_sim::NotationError::from)?.model.clone())
}

/// A model alone on a bus of its own kind.
pub(crate) fn alone(model: DriveModel) -> Topology {
    let bus = shoal_sim::Bus { kind: model.bus, upstream: None };
    Topology { buses: vec![bus], drives: vec![(model, 0)] }
}

/// The first drive of a topology, as a volume.
pub(crate) fn drive(topology: &Topology, host: &HostModel) -> Result<DriveVolume<SimulatedWorld>, ReplayError> {
    let plan = BufferPlan::for_drives(1, REQUEST_COUNT, REQUEST_BYTES);
    let world = SimulatedWorld::new(topology, host, Contents::Discarded, plan, SEED)?;
    let id = world.drives()[0];
    Ok(DriveVolume::new(world, id, plan))
}

/// All drives of a topology as a new array, in sync.
pub(crate) fn array(
    topology: &Topology,
    host: &HostModel,
    level: ArrayLevel,
    chunk_bytes: u32,
) -> Result<ArrayVolume<SimulatedWorld>, ReplayError> {
    let plan = BufferPlan::for_drives(topology.drives.len(), REQUEST_COUNT, REQUEST_BYTES);
    let world = SimulatedWorld::new(topology, host, Contents::Discarded, plan, SEED)?;
    let drives = world.drives();
    let create = CreateOptions {
        level,
        chunk_bytes,
        spare_count: 0,
        name: "replay".to_owned(),
        homehost: None,
        drive_bytes_limit: None,
        assume_clean: true,          // nothing is ever read back
        metadata: MinorVersion::End, // data begin where the drive begins, as with the superblocks of the studies' time
        consistency: ConsistencyPolicy::Resync,
    };
    // An array marks itself clean when it has been idle: a matter of the superblock's, and not of
    // what is measured.
    let options = OpenOptions { safe_mode_delay: None, ..OpenOptions::writable() };
    Ok(ArrayVolume::create(world, plan, &drives, &create, &options)?)
}
