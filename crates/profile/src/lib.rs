//! A drive's description out of a measurement of the drive.
//!
//! ```text
//!  plan ──probes──► measure (a World: real drives, files, simulated ones) ──observations──► analyse ──► Profile
//!                                                                                              │
//!                                        the same probes on a simulated drive of that model ◄──┘  residuals
//! ```
//!
//! A *probe* is a list of steps, one I/O at a time, that answers one question ([`Question`] says
//! which and how). An *observation* is a probe with the latency of each step. [`analyse`] is a pure
//! function of observations: closed forms of the model's equations, medians against stalls. At last
//! the found model is simulated over the same steps; what is left between the two is the profile's
//! residuals, and says how far the model can be trusted.
//!
//! What cannot be seen from outside is assumed, and said so: the page (4 KiB of flash, 64 KiB of a
//! disk's cache), and how many commands are queued. What lies beyond what the bus carries, or needs
//! writing where nothing may be written, is called not measured, with a value that stands in.

#![forbid(unsafe_code)]

mod analysis;
mod measure;
mod probe;
mod replay;
mod together;

pub use analysis::{Given, Profile, Residual, analyse};
pub use measure::{MeasureError, Observation, STEP_BYTES_MAX, Watch, measure, wrote};
pub use probe::{Cost, Direction, PlanError, Probe, Question, Step, cost, plan};
pub use together::{Together, together};
