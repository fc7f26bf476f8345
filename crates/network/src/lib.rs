//! The network study: what an array is worth to another host. A client and a server with a shaped
//! link between them, on one machine; content is moved over it by each protocol and in both
//! directions, and held against the array itself and against the link.
//!
//! ```text
//!  host.rs       a machine of its own: network, mounts, processes; gone with whoever made it
//!  link.rs       what a link of Ethernet carries, and the queue that carries just that
//!  pair.rs       two hosts, joined; what their link really carries
//!  workload.rs   what is transferred how: names, methods, clients, servers
//!  servers.rs    Samba, the NFS server and vsftpd, as `shoal share` runs them
//!  nfs_kind.rs   NFS by the kernel where it can, else by programs
//!  nfs_mount.rs  the kernel's client
//!  nfs/          a client of NFS 4.0, as far as copying a file takes
//!  scene.rs      one transfer: prepared, timed, made durable, compared
//!  study.rs      all of them, in an order by seed
//!  judge.rs      rows: medians and extremes, shares, what set the pace, what speaks against it
//! ```
//!
//! One machine plays client, server and drives: where its processors are busy the row says so. The
//! link delays nothing but by its rate; the time of a byte there and back is that of two hosts of
//! one machine, and is told.

#![forbid(unsafe_code)]

mod cpu;
mod files;
mod host;
mod judge;
mod link;
mod nfs;
mod nfs_kind;
mod nfs_mount;
mod options;
mod pair;
mod result;
mod scene;
mod servers;
mod study;
mod workload;

pub use host::{HostError, IsolatedHost};
pub use link::LinkSpeed;
pub use nfs_kind::NfsKind;
pub use options::Options;
pub use pair::{CLIENT, LinkError, Pair, SERVER};
pub use result::{Bound, Calibration, CpuUse, Findings, LeftOut, Row, Run};
pub use scene::{Served, ServedDevice};
pub use study::{Offer, Step, StudyError, TransferPlan, plan, run};
pub use workload::{Direction, Protocol, WORKLOADS, Workload};
