//! What programs print of arrays, and what goes over a running array's socket: types, and how they
//! are read and written.
//!
//! A document has all sizes in bytes and all times in nanoseconds. Its JSON schema comes out of its
//! type. A word that stands for one of several things is an enum here, so a word that is not known
//! is an error and never something else.
//!
//! Not meant: documents of one subject alone (a study, a share, a plan), which are in that
//! subject's crate; and text for people.

mod array;
mod attach;
mod commands;
mod consistency;
mod failure;
mod faults;
mod filesystem;
mod incomplete;
mod level_words;
pub mod protocol;
mod service;
mod state;
mod unnamed;

pub use array::{
    ArrayDocument, HealthDocument, LeftOutDocument, MemberDocument, MemberStateDocument, ReplacementDocument,
    verdict_text,
};
pub use attach::{AttachDocument, AttachedDocument};
pub use commands::{ExamineDocument, ExaminedDocument, ScrubDocument, SuperblockDocument, TransferDocument};
pub use consistency::ConsistencyDocument;
pub use failure::{ErrorDocument, FailureDocument, Fault, HasFault};
pub use filesystem::{
    ArgumentDocument, FormatDocument, GeometryDocument, MadeDocument, MountDocument, MountOptionDocument,
    UnmountDocument,
};
pub use incomplete::Extent;
pub use service::{AlertTestDocument, MdadmConfDocument, ServiceDocument, ServiceFileDocument, WayOutDocument};
pub use state::{
    BackgroundDocument, BlameDocument, EngineDocument, FindingsDocument, MatterDocument, MismatchDocument,
    NewsDocument, PauseDocument, RangeDocument, RunningDocument, SimulatedDocument, StateDocument, WorkDocument,
};
