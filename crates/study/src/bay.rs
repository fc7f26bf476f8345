//! Where a study's drives are: the seam between the plan and the drives, real or simulated, that it
//! is carried out on.

use shoal_volume::{ArrayVolume, BufferPlan, DriveId, World};

pub use crate::error::BayError;
use crate::model::DriveDescription;
use crate::running::{OwnArray, RunningArray};

/// Drives that can be opened again and again, in any combination, and that nobody else touches
/// meanwhile. Whoever makes a bay has made sure that what the drives hold may be lost.
pub trait Bay {
    /// What the drives are opened into.
    type World: World + 'static;

    /// The drives. Elsewhere they are named by their index here.
    fn drives(&self) -> &[DriveDescription];

    /// Simulated drives: the models and buses that all figures follow from. None where drives are
    /// real.
    fn simulated(&self) -> Option<&str> {
        None
    }

    /// How many bytes the drives can keep, all together, while they are opened once. None where
    /// that is what they hold.
    fn kept_bytes_max(&self) -> Option<u64> {
        None
    }

    /// Who runs the arrays, if it is not shoal's own engine.
    fn engine(&self) -> Option<&str> {
        None
    }

    /// Hands an array that was made in a world of these drives to whoever is to run it.
    fn run(
        &self,
        array: ArrayVolume<Self::World>,
        drives: Vec<(u32, DriveId)>,
        _requests: Requests,
    ) -> Result<Box<dyn RunningArray>, BayError> {
        Ok(Box::new(OwnArray::new(array, drives)))
    }

    /// Opens some of the drives for writing, in a world of their own with room for such requests.
    fn open(&self, drives: &[u32], requests: Requests) -> Result<Opened<Self::World>, BayError>;
}

/// The requests that are going to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requests {
    /// In flight at most.
    pub count: u32,
    /// Size of the largest.
    pub bytes: u32,
    /// Whether what is written is read back and compared. Where it is not, simulated drives keep
    /// nothing, and no memory is needed for it.
    pub compared: bool,
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
