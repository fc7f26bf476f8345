//! Where a study's drives are: the seam between the plan and the drives, real or simulated, that it is carried out on.

use shoal_volume::{BufferPlan, DriveId, World};

use crate::model::DriveDescription;

/// Drives that can be opened again and again, in any combination, and that nobody else touches meanwhile. Whoever makes
/// a bay has made sure that what the drives hold may be lost.
pub trait Bay: Sync {
    /// What the drives are opened into.
    type World: World;

    /// The drives. Elsewhere they are named by their index here.
    fn drives(&self) -> &[DriveDescription];

    /// Opens some of the drives for writing, in a world of their own with room for such requests. Called from several
    /// threads at once, for different drives.
    fn open(&self, drives: &[u32], requests: Requests) -> Result<Opened<Self::World>, BayError>;
}

/// Why a drive cannot be opened; its message says all there is to say.
pub type BayError = Box<dyn std::error::Error + Send + Sync>;

/// The requests that are going to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requests {
    /// In flight at most.
    pub count: u32,
    /// Size of the largest.
    pub bytes: u32,
}

/// Open drives.
#[derive(Debug)]
pub struct Opened<W> {
    /// The drives, their memory, the clock.
    pub world: W,
    /// How the memory is cut.
    pub plan: BufferPlan,
    /// In the order asked for.
    pub drives: Vec<DriveId>,
}
