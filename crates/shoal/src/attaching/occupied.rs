//! How an array is used on this machine, for whoever would overwrite it, or stop it, under its
//! users.

use std::path::PathBuf;

use shoal_attach::records::Attachment;
use shoal_documents::StateDocument;
use shoal_inventory::{Wipeable, check_wipeable};

use super::attachment_of;
use crate::args::ArrayArgs;
use crate::exit::Failure;

/// A use of an array that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Occupied {
    /// `mounted on DIR`, or `attached as DEVICE`.
    pub(crate) what: String,
    /// What ends it.
    pub(crate) mend: String,
}

impl Occupied {
    /// How the array is used through an attachment. A mount comes first: it has to end first.
    pub(crate) fn of(attachment: &Attachment) -> Result<Option<Self>, Failure> {
        if let Some(mounted) = Self::mount_of(attachment)? {
            return Ok(Some(mounted));
        }
        Ok(attachment.is_alive().then(|| {
            let device = attachment.device.display();
            Self { what: format!("attached as {device}"), mend: format!("`shoal detach {device}` first") }
        }))
    }

    /// The same of mounts alone.
    pub(crate) fn mount_of(attachment: &Attachment) -> Result<Option<Self>, Failure> {
        Ok(attachment.mounted_at()?.first().map(|place| {
            let place = place.display();
            Self { what: format!("mounted on {place}"), mend: format!("`shoal unmount {place}` first") }
        }))
    }
}

/// Refuses an array that is mounted or attached: what is written past a file system that is in use
/// damages it.
pub(crate) fn refuse_occupied(array: &ArrayArgs) -> Result<(), Failure> {
    let Some(attachment) = attachment_of(array)? else { return Ok(()) };
    match Occupied::of(&attachment)? {
        Some(Occupied { what, mend }) => {
            let name = &attachment.name;
            Err(Failure::Refused(format!("array {name} is {what}, and would be overwritten under its users: {mend}")))
        }
        None => Ok(()),
    }
}

/// Refuses drives that are to be overwritten and are in use, also as members of an array that is mounted or attached,
/// whether or not anybody runs it now; and drives and files that hold something unless `force`. They may come to the
/// array `own`, if that is given.
pub(crate) fn check_overwritable(paths: &[PathBuf], own: &ArrayArgs, force: bool) -> Result<Wipeable, Failure> {
    refuse_members_in_use(paths, own)?;
    Ok(check_wipeable(paths, force)?)
}

/// Refuses drives that are members of an array that is mounted or attached, and not of this one.
pub(crate) fn refuse_members_in_use(paths: &[PathBuf], own: &ArrayArgs) -> Result<(), Failure> {
    let own = attachment_of(own)?.map(|attachment| attachment.array_uuid);
    for path in paths {
        let named = ArrayArgs { drives: vec![path.clone()], ..ArrayArgs::default() };
        let attachment = attachment_of(&named)?.filter(|found| own.as_ref() != Some(&found.array_uuid));
        let Some(attachment) = attachment else { continue };
        if let Some(Occupied { what, mend }) = Occupied::of(&attachment)? {
            let (path, name) = (path.display(), &attachment.name);
            return Err(Failure::Refused(format!(
                "{path} is a member of array {name}, which is {what}: take another drive, or {mend}"
            )));
        }
    }
    Ok(())
}

/// Refuses an array that runs and has clients of its network block device, for the same reason.
pub(crate) fn refuse_served(state: &StateDocument) -> Result<(), Failure> {
    let Some(running) = state.running.as_ref().filter(|running| running.nbd_clients > 0) else { return Ok(()) };
    let (name, places) = (&state.array.name, running.nbd.join(" "));
    let clients = match running.nbd_clients {
        1 => "a client".to_owned(),
        count => format!("{count} clients"),
    };
    Err(Failure::Refused(format!(
        "array {name} is served to {clients} at {places}, and would be overwritten under them: disconnect them first"
    )))
}
