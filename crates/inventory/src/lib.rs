//! The drives of this machine, by name: found, looked at, opened; which arrays they are members of,
//! and what may be wiped.
//!
//! | question | answered by |
//! | --- | --- |
//! | what is on a drive, though it may never answer | [`look()`] |
//! | which drives are the array that somebody names | [`member_paths`] |
//! | what is an array shown with, though not all of it is named | [`members_to_show`] |
//! | which arrays are there at all | [`listed`], [`remembered`] |
//! | may the array be started with those | [`members_to_open`], [`lacking`], [`host_memory`] |
//! | may a drive lose what it holds | [`check_wipeable`], [`check_erasable`], [`refuse_active`] |
//! | what is plugged in, where, and what is on it | [`plugged()`] |
//! | which drives are simulated, and what are they like | [`SimulatedDrives`] |
//!
//! Nothing here reads the environment or prints: what there is to tell goes to the listener of the
//! [`Environment`]. A drive that hangs costs its asker a limited time, and a thread that is left
//! behind.
//!
//! Not meant: arrays that run; whoever runs one is found by `shoal_running`.

#![forbid(unsafe_code)]

mod asked;
mod copies;
mod drives;
mod environment;
mod inside;
mod lacking;
mod list;
mod look;
mod newcomer;
mod places;
mod plugged;
mod present;
mod remembered;
mod search;
mod shown;
mod simulated;
mod wipe;

pub use asked::{PATIENCE, Silence, asked, is_there};
pub use copies::{CopyOfMember, refuse_copies};
pub use drives::{DrivesError, JoinError, Opened, is_member, join, join_for, open_drives, probe, same_file};
pub use environment::{Environment, EnvironmentError, RUNTIME_VARIABLE, STATE_VARIABLE};
pub use lacking::lacking;
pub use list::{Listed, arrays_named, is_called, listed, own_name};
pub use look::{Look, NoMember, Seen, look, look_within, member, members};
pub use newcomer::{
    ActiveMember, NewcomerError, candidate, candidate_at, is_of_array_inside, refuse_active, refuse_counted_on,
};
pub use places::{Absentee, machine_drives, remembered, usual_places};
pub use plugged::{Holds, Part, Plugged, plugged};
pub use present::{Intent, PresentError, ToOpen, members_to_open, refuse_silent};
pub use remembered::{
    ArrayInUse, Held, Purpose, forget_erased, hold, host_memory, keeper, last_places, last_seen, remember,
    remember_anew, store, trust,
};
pub use search::{Named, SearchError, arrays, files_in, member_paths, named_drives, outer_superblock};
pub use shown::{Shown, found_to_show, members_to_show};
pub use simulated::{NotReal, SimulatedDrives, SimulatedError, SimulatedOpened, is_simulated, refuse};
pub use wipe::{
    Former, WipeError, Wipeable, check_content, check_erasable, check_measurable, check_wipeable, find_signature,
};
