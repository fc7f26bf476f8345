//! How an array is used on this machine, for whoever would overwrite it, or stop it, under its
//! users.

use std::path::PathBuf;

use shoal_attach::records::Attachment;
use shoal_documents::StateDocument;
use shoal_inventory::{Environment, Named, Wipeable, check_wipeable};
use shoal_running::ArrayAddress;

use crate::error::AttachError;
use crate::found::attachment_of;

/// A use of an array that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupied {
    /// `mounted on DIR`, or `attached as DEVICE`.
    pub what: String,
    /// What ends it.
    pub mend: String,
}

impl Occupied {
    /// How the array is used through an attachment. A mount comes first: it has to end first.
    pub fn of(attachment: &Attachment) -> Result<Option<Self>, AttachError> {
        if let Some(mounted) = Self::mount_of(attachment)? {
            return Ok(Some(mounted));
        }
        Ok(attachment.is_alive().then(|| {
            let device = attachment.device.display();
            Self { what: format!("attached as {device}"), mend: format!("`shoal detach {device}` first") }
        }))
    }

    /// The same of mounts alone.
    pub fn mount_of(attachment: &Attachment) -> Result<Option<Self>, AttachError> {
        Ok(attachment.mounted_at()?.first().map(|place| {
            let place = place.display();
            Self { what: format!("mounted on {place}"), mend: format!("`shoal unmount {place}` first") }
        }))
    }
}

/// Refuses an array that is mounted or attached: what is written past a file system that is in use
/// damages it.
pub fn refuse_occupied(environment: &Environment, array: &ArrayAddress) -> Result<(), AttachError> {
    let Some(attachment) = attachment_of(environment, array)? else { return Ok(()) };
    match Occupied::of(&attachment)? {
        Some(Occupied { what, mend }) => {
            let array = attachment.name;
            Err(AttachError::Occupied { array, what, mend })
        }
        None => Ok(()),
    }
}

/// Refuses drives that are to be overwritten and are in use, also as members of an array that is
/// mounted or attached, whether or not anybody runs it now; and drives and files that hold
/// something unless `force`. They may come to the array `own`, if that is given.
pub fn check_overwritable(
    environment: &Environment,
    paths: &[PathBuf],
    own: &ArrayAddress,
    force: bool,
) -> Result<Wipeable, AttachError> {
    refuse_members_in_use(environment, paths, own)?;
    Ok(check_wipeable(paths, force)?)
}

/// Refuses drives whose end is to come and that are in use, in the same ways; and files that hold
/// something and are no members of arrays unless `force`.
pub fn check_erasable(environment: &Environment, paths: &[PathBuf], force: bool) -> Result<Wipeable, AttachError> {
    refuse_members_in_use(environment, paths, &ArrayAddress::default())?;
    Ok(shoal_inventory::check_erasable(paths, force)?)
}

/// Refuses drives that are members of an array that is mounted or attached, and not of this one.
pub fn refuse_members_in_use(
    environment: &Environment,
    paths: &[PathBuf],
    own: &ArrayAddress,
) -> Result<(), AttachError> {
    let own = attachment_of(environment, own)?.map(|attachment| attachment.array_uuid);
    for path in paths {
        let named = Named { drives: vec![path.clone()], ..Named::default() };
        let named = ArrayAddress { named, socket: None };
        let attachment = attachment_of(environment, &named)?.filter(|found| own.as_ref() != Some(&found.array_uuid));
        let Some(attachment) = attachment else { continue };
        if let Some(Occupied { what, mend }) = Occupied::of(&attachment)? {
            return Err(AttachError::Member { drive: path.clone(), array: attachment.name, what, mend });
        }
    }
    Ok(())
}

/// Refuses an array that runs and has clients of its network block device, for the same reason.
pub fn refuse_served(state: &StateDocument) -> Result<(), AttachError> {
    let Some(running) = state.running.as_ref().filter(|running| running.nbd_clients > 0) else { return Ok(()) };
    let (array, places) = (state.array.name.clone(), running.nbd.join(" "));
    let clients = match running.nbd_clients {
        1 => "a client".to_owned(),
        count => format!("{count} clients"),
    };
    Err(AttachError::Served { array, clients, places })
}
