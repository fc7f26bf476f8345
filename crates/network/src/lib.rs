//! The network study: a client and a server with a shaped link between them, on one machine.

#![forbid(unsafe_code)]

mod cpu;
mod files;
mod host;
mod judge;
mod link;
mod nfs;
mod pair;
mod result;
mod scene;
mod servers;
mod study;
mod workload;

pub use host::{Host, HostError};
pub use link::LinkSpeed;
pub use pair::{CLIENT, LinkError, Pair, SERVER};
pub use result::{Bound, Calibration, CpuUse, Findings, LeftOut, Row, Run};
pub use scene::{Served, ServedDevice};
pub use study::{Offer, Options, Plan, Step, StudyError, plan, run};
pub use workload::{Direction, Protocol, WORKLOADS, Workload};
