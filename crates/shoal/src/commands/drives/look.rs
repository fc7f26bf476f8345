//! A look at what is plugged in.

use std::path::Path;

use shoal_inventory::{PATIENCE, plugged};

use super::document::DrivesDocument;
use crate::exit::Failure;

/// Where the kernel's tree of devices is mounted.
pub(super) const SYSFS: &str = "/sys";

pub(super) fn look() -> Result<DrivesDocument, Failure> {
    let found = plugged(Path::new(SYSFS), PATIENCE);
    let found = found.map_err(|error| Failure::Failed(format!("{SYSFS}/block: {error}: is sysfs mounted?")))?;
    Ok(DrivesDocument::of(&found))
}
