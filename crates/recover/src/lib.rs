//! Members of arrays among many files, and what can be made of them.
//!
//! [`Search`] finds members wherever they are; [`plans()`] says for each array which of them make
//! it, and with which superblocks. A plan is looked at through an overlay, so nothing is written;
//! [`unreadable()`] and [`losses()`] say what it cannot save. Its content can be copied out
//! ([`save()`]), or its superblocks be written ([`apply()`]), of members that are still what they
//! were ([`changed()`]).

#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may fail by panic"))]
#![cfg_attr(test, expect(clippy::single_range_in_vec_init, reason = "lists of ranges are what is tested"))]

mod apply;
mod changes;
mod copy;
mod damage;
mod limits;
mod losses;
mod plan;
mod reads;
mod rescue_map;
mod save;
mod search;
mod seen;
mod unreadable;

pub use apply::{ApplyError, apply, refuse_incomplete};
pub use changes::changed;
pub use losses::{Loss, losses};
pub use plan::{Group, Overlay, PlanError, Reader, RecoveryPlan, plans};
pub use rescue_map::MapError;
pub use save::{SaveError, content_of, save};
pub use search::{Found, Search, SearchError};
pub use unreadable::{Content, unreadable};
