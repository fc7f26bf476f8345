//! The kernel's own md as an engine: mdadm assembles the members, sysfs tells how they are.
//!
//! * [`Kernel::find`] says whether there is an md to hand members to, and if not, what is missing.
//! * [`choose`] plays the assembly through by shoal's own rules, writing nothing: which members
//!   take part, and whether the array may run at all.
//! * [`KernelArray`] hands those members, and no others, to md, and does to the array what can be
//!   done to one; stopping it hands them back.
//! * [`KernelVolume`] is its content, with what happens to it meanwhile.
//!
//! What passes between shoal and md, in order:
//!
//! ```text
//!  choose (reading only) ─► loop devices for image files ─► mdadm --assemble --readonly ─► are these the members that
//!  were chosen? ─► mdadm --readwrite ─► /dev/mdN is claimed, and read and written by direct I/O
//!  at rest: flush ─► /dev/mdN is closed ─► mdadm --stop ─► the loop devices go ─► the members are free
//! ```
//!
//! Until the members are found to be the chosen ones nothing is written to any of them. Loop
//! devices are made such that the kernel itself removes them once md lets go: so nothing is left
//! behind by a process that is killed, but the array, which the next one takes over or stops.

#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may fail by panic"))]

mod array;
mod assembly;
mod choice;
mod error;
mod grow;
mod kernel;
mod loops;
mod members;
mod news;
mod patience;
mod places;
mod status;
mod sysfs;
mod tools;
mod volume;

pub use array::KernelArray;
pub use choice::{Choice, choose};
pub use error::KernelError;
pub use grow::Growth;
pub use kernel::Kernel;
pub use places::{MdDevice, holder_of};
pub use sysfs::{Action, Device, Shape, Snapshot, SysfsError};
pub use volume::KernelVolume;
