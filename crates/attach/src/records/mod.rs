//! What is attached to this machine: a record for each array, and how it is at this moment.

mod attachment;
mod directory;
mod error;
mod method;
mod process;
mod standing;

pub use attachment::Attachment;
pub use directory::{Fronts, Lock, Records};
pub use error::RecordError;
pub use method::{Method, PassedOver, UnknownMethod};
pub use process::ProcessDocument;
pub use standing::{Held, Standing};
