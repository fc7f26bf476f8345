//! Short stories of the engine.

mod fuzz;
mod rig;
