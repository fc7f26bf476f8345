//! What is attached on this machine, as it is written down.

use shoal_attach::records::{Attachment, Records};
use shoal_documents::protocol::Command;
use shoal_inventory::{Environment, arrays, last_places, member_paths, same_file};
use shoal_running::{ArrayAddress, make_runtime_directory, own_runtime_directory, reach_running};

use crate::error::AttachError;

/// How the array is attached, if it is.
pub fn attachment_of(environment: &Environment, array: &ArrayAddress) -> Result<Option<Attachment>, AttachError> {
    match existing_records(environment) {
        Some(records) => record_of(environment, &records, array),
        None => Ok(None),
    }
}

/// All that is attached by this user.
pub fn attachments(environment: &Environment) -> Result<Vec<Attachment>, AttachError> {
    existing_records(environment).map_or_else(|| Ok(Vec::new()), |records| all(environment, &records))
}

/// All that is written down, with the members that the arrays have now.
fn all(environment: &Environment, records: &Records) -> Result<Vec<Attachment>, AttachError> {
    Ok(records.all()?.into_iter().map(|attachment| with_present_members(environment, attachment)).collect())
}

/// The drives that were members when it was attached may have been replaced since.
fn with_present_members(environment: &Environment, attachment: Attachment) -> Attachment {
    let array = attachment.array_uuid.parse().ok();
    let places = array.and_then(|array| last_places(environment, array, &attachment.members));
    match places {
        Some(members) => Attachment { members, ..attachment },
        None => attachment,
    }
}

/// What is written down of what is attached; the directory is made if need be.
pub(crate) fn records(environment: &Environment) -> Result<Records, AttachError> {
    Ok(make_runtime_directory(environment).map(Records::of)?)
}

/// None if there is no directory, and so nothing is attached.
fn existing_records(environment: &Environment) -> Option<Records> {
    own_runtime_directory(environment).map(Records::of)
}

/// By what the members say, by the names under which it was attached, and, of one that runs, by
/// what it says itself.
pub(crate) fn record_of(
    environment: &Environment,
    records: &Records,
    array: &ArrayAddress,
) -> Result<Option<Attachment>, AttachError> {
    let all = all(environment, records)?;
    if all.is_empty() {
        return Ok(None);
    }
    let uuids = uuids_of(environment, array);
    let named = |attachment: &Attachment| {
        uuids.contains(&attachment.array_uuid)
            || array.named.drives.iter().any(|drive| attachment.drives.iter().any(|own| same_file(own, drive)))
    };
    if let Some(found) = all.iter().find(|attachment| named(attachment)) {
        return Ok(Some(found.clone()));
    }
    let running = uuid_of_running(environment, array)?;
    Ok(all.into_iter().find(|attachment| running.as_ref() == Some(&attachment.array_uuid)))
}

/// What the superblocks say that can be read.
pub(crate) fn uuids_of(environment: &Environment, array: &ArrayAddress) -> Vec<String> {
    let paths = member_paths(environment, &array.named).unwrap_or_else(|_| array.named.drives.clone());
    arrays(environment, &paths).iter().map(ToString::to_string).collect()
}

/// What the array is called that runs, if it does.
fn uuid_of_running(environment: &Environment, array: &ArrayAddress) -> Result<Option<String>, AttachError> {
    let Some(mut running) = reach_running(environment, array)? else { return Ok(None) };
    Ok(Some(running.execute(Command::Status)?.array.uuid))
}
