//! Studies: drives measured alone, all at once, and as arrays over level, chunk and members; what follows from the
//! measurements; and the page that shows them.
//!
//! * [`plan`] says what a study does, in which order, and what that will take.
//! * [`run`] carries a plan out on the drives of a [`bay`].
//! * [`model`] is the document that a study leaves behind.
//! * [`analysis`] concludes: summaries, expectations, rankings, a recommendation.
//! * [`report`] turns the document into a self-contained HTML page.

pub mod analysis;
pub mod bay;
pub mod model;
pub mod plan;
pub mod report;
pub mod run;
