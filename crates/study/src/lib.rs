//! Studies: drives measured alone, all at once, and as arrays over level, chunk and members; what follows from the
//! measurements; and the page that shows them.
//!
//! * [`model`] is the document that a study leaves behind.
//! * [`analysis`] concludes: summaries, expectations, rankings, a recommendation.
//! * [`report`] turns the document into a self-contained HTML page.

pub mod analysis;
pub mod model;
pub mod report;
