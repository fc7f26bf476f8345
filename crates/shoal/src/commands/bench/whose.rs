//! Who a target is, for the lab book.

use shoal_bench::Measurement;
use shoal_labbook::{ArrayIdentity, DriveIdentity, Target};
use shoal_volume::{ArrayLevel, ArrayStatus};

/// A target's drive, or its array and that one's members, as far as they can be known again.
#[derive(Clone, Debug, Default)]
pub(super) struct Whose {
    pub(super) drive: Option<DriveIdentity>,
    pub(super) array: Option<ArrayIdentity>,
    pub(super) members: Vec<DriveIdentity>,
}

impl Whose {
    pub(super) fn drive(drive: Option<DriveIdentity>) -> Self {
        Self { drive, ..Self::default() }
    }

    /// An array that is there before and after.
    pub(super) fn array(status: &ArrayStatus, members: Vec<DriveIdentity>) -> Self {
        let level = ArrayLevel::Plain(status.level).name();
        let array = ArrayIdentity { uuid: Some(status.uuid.clone()), name: status.name.clone(), level };
        Self { array: Some(array), members, ..Self::default() }
    }

    /// An array that is gone with the command.
    pub(super) fn passing_array(status: &ArrayStatus) -> Self {
        let array = Self::array(status, Vec::new()).array.map(|array| ArrayIdentity { uuid: None, ..array });
        Self { array, ..Self::default() }
    }

    /// What was measured, as it is kept; none if nothing was.
    pub(super) fn target(&self, measurements: &[Measurement]) -> Option<Target> {
        let Self { drive, array, members } = self.clone();
        Some(Target { drive, array, members, ..Target::of(measurements, "")? })
    }
}
