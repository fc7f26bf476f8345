//! Whose fault the errors of the crates below are.

use shoal_attach::records::RecordError;
use shoal_drive::OpenError as DriveError;
use shoal_md::ShapeUnknown;
use shoal_volume::{CreateError, OpenError, SimulatedWorldError, VolumeError};

use crate::failure::{Fault, HasFault};

/// A drive does not open.
impl HasFault for DriveError {
    fn fault(&self) -> Fault {
        match self {
            Self::Busy { .. } => Fault::Busy,
            Self::NotFound { .. } | Self::NotADrive { .. } | Self::Empty { .. } => Fault::Usage,
            Self::PermissionDenied { .. } | Self::System { .. } => Fault::Failed,
        }
    }
}

/// An array does not open.
impl HasFault for OpenError {
    fn fault(&self) -> Fault {
        match self {
            Self::DirtyDegraded { .. }
            | Self::Incomplete { .. }
            | Self::ReadOnly { .. }
            | Self::Doubt { .. }
            | Self::NotRemembered { .. }
            | Self::Shape(ShapeUnknown::Refused { .. }) => Fault::Refused,
            Self::InUse { .. } => Fault::Busy,
            Self::NoMember { .. } | Self::Assemble(_) | Self::Stranger { .. } | Self::Shape(_) => Fault::Usage,
            _ => Fault::Failed,
        }
    }
}

/// An array is not made.
impl HasFault for CreateError {
    fn fault(&self) -> Fault {
        match self {
            Self::Request(_) | Self::NoGroups | Self::Groups { .. } | Self::NestedSpares | Self::Spares { .. } => {
                Fault::Usage
            }
            Self::Write { .. } | Self::Open(_) | Self::Volume(_) => Fault::Failed,
        }
    }
}

/// The world below an array broke.
impl HasFault for VolumeError {
    fn fault(&self) -> Fault {
        Fault::Failed
    }
}

/// There is no memory for simulated drives.
impl HasFault for SimulatedWorldError {
    fn fault(&self) -> Fault {
        Fault::Failed
    }
}

/// What is written down of attached arrays cannot be read or written.
impl HasFault for RecordError {
    fn fault(&self) -> Fault {
        Fault::Failed
    }
}
