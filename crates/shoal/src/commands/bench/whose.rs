//! Who a target is, for the lab book.

use shoal_bench::{Measurement, TargetDescription};
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
    pub(super) fn temporary_array(status: &ArrayStatus) -> Self {
        let array = Self::array(status, Vec::new()).array.map(|array| ArrayIdentity { uuid: None, ..array });
        Self { array, ..Self::default() }
    }

    /// What is measured, as it is kept, with the measurements that there are.
    pub(super) fn target(&self, description: &TargetDescription, measurements: &[Measurement]) -> Target {
        let Self { drive, array, members } = self.clone();
        let target = Target::of(measurements, "").unwrap_or_else(|| Target::described(description));
        Target { drive, array, members, ..target }
    }
}
