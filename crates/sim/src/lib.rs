//! The simulated world: inexpensive drives, their buses and what befalls them, on a virtual clock.
//!
//! No I/O beside reading descriptions of drives, no thread, no clock of the machine's. Time is an
//! integer count of nanoseconds; events are ordered by time, and by sequence where times are equal;
//! chance comes from a seed. So a run is a function of its inputs, bit for bit, on every machine.

#![forbid(unsafe_code)]

mod bus;
mod catalogue;
mod content;
mod description;
mod drive;
mod faults;
mod limits;
mod model;
mod notation;
mod pool;
mod port;
mod queue;
mod scheduler;
mod simulation;
mod time;
mod topology;

pub use catalogue::{UnknownDrive, catalogue, find};
pub use content::{CACHE_BYTES, Content, SECTOR_BYTES, Struck, Ticket};
pub use description::{
    Description, DescriptionError, Facts, Origin, Parameter, Power, Price, Status, parse_description, read_description,
};
pub use drive::DriveStatistics;
pub use faults::{Area, Fault, FaultKind, FaultPlan, Misbehaviour, MisbehaviourKind, PlannedFault};
pub use model::{
    AllocationUnits, Bus, BusKind, Disk, DriveModel, Fake, FastArea, Flash, HostModel, Medium, PerDirection, Stall,
    Topology, Zone,
};
pub use notation::{Fleet, NotationError, PREFIX, parse_fleet};
pub use scheduler::Scheduler;
pub use simulation::{Command, Operation, Simulation};
pub use topology::TopologyError;
