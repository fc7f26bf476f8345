//! Attaches and detaches: one at a time, by what is written down and what is there.

use std::path::PathBuf;

use shoal_attach::records::{Attachment, Lock, Method, Records, Standing};
use shoal_attach::{LoopDevice, LoopError, LoopOptions};
use shoal_drive::disk_sequence;
use shoal_inventory::{Environment, Named};
use shoal_running::ArrayAddress;

use crate::error::AttachError;
use crate::found::{record_of, records};
use crate::front::{self, Front, Started};
use crate::launch::Launcher;
use crate::method::{Chosen, choose};
use crate::options::{AttachOptions, DEADLINE};
use crate::server::{self, Served};
use crate::usage;

/// Makes the array a device or file, or finds that it is one. Starts a process that runs the array
/// if nobody does.
pub fn attach(launcher: &Launcher, array: &ArrayAddress, options: &AttachOptions) -> Result<Attachment, AttachError> {
    let environment = &launcher.environment;
    let records = records(environment)?;
    let _lock = Lock::take(&records)?;
    if let Some(attachment) = record_of(environment, &records, array)? {
        front::refuse_stopped(&attachment)?;
        match attachment.standing() {
            Standing::Served | Standing::ServerGone | Standing::FrontStopped => {
                check_wish(&attachment, options)?;
                return with_server(launcher, &records, array, options, attachment);
            }
            Standing::FrontGone => return again(launcher, &records, array, options, attachment),
            // Whatever has its name now is somebody else's.
            Standing::Gone => clear(&records, &attachment)?,
        }
    }
    let chosen = choose(options)?;
    anew(launcher, &records, array, options, chosen)
}

/// The same attachment, with a server at the same place if that one was killed: the front finds it.
fn with_server(
    launcher: &Launcher,
    records: &Records,
    array: &ArrayAddress,
    options: &AttachOptions,
    attachment: Attachment,
) -> Result<Attachment, AttachError> {
    // Who uses the device decides whether it is written to, and not who starts the server again.
    let options = AttachOptions { read_only: attachment.read_only, ..*options };
    let served = server::find_or_start(launcher, records, array, &options, Some(&attachment.socket))?;
    let Some(started) = served.started else { return Ok(attachment) };
    let members = members(array, &served);
    let attachment = Attachment { server: Some(started), members, ..attachment };
    records.keep(&attachment)?;
    Ok(attachment)
}

/// Attaches what is not attached.
fn anew(
    launcher: &Launcher,
    records: &Records,
    array: &ArrayAddress,
    options: &AttachOptions,
    chosen: Chosen,
) -> Result<Attachment, AttachError> {
    let served = server::find_or_start(launcher, records, array, options, None)?;
    let front = front_of(records, options, &served, chosen.method);
    let started = front::start(launcher, records, &served.array_uuid, &front);
    let attachment = started.and_then(|started| connect(records, array, options, &served, &started, chosen));
    if attachment.is_err() {
        // The reason why it was not attached is what is told.
        served.stop_if_started();
    }
    attachment
}

/// Attaches again what has lost its front: a device that can be recovered is served again as it is,
/// a file is cleared away first.
fn again(
    launcher: &Launcher,
    records: &Records,
    array: &ArrayAddress,
    options: &AttachOptions,
    stale: Attachment,
) -> Result<Attachment, AttachError> {
    if !stale.method.can_recover() || check_wish(&stale, options).is_err() {
        clear(records, &stale)?;
        let chosen = choose(options)?;
        return anew(launcher, records, array, options, chosen);
    }
    let options = &AttachOptions { read_only: stale.read_only, ..*options };
    let served = server::find_or_start(launcher, records, array, options, None)?;
    let front = Front { recovered: Some(stale.device.clone()), ..front_of(records, options, &served, stale.method) };
    let started = front::start(launcher, records, &served.array_uuid, &front)?;
    let (server, members) = (served.started.or(stale.server), members(array, &served));
    let attachment = Attachment { front: started.process, socket: served.socket, server, members, ..stale };
    records.keep(&attachment)?;
    Ok(attachment)
}

/// What keeps the device.
fn front_of(records: &Records, options: &AttachOptions, served: &Served, method: Method) -> Front {
    Front {
        method,
        socket: served.socket.clone(),
        directory: records.file_directory(&served.array_uuid),
        name: file_name(&served.name),
        logical_block_bytes: served.logical_block_bytes,
        deadline_s: options.deadline.unwrap_or(DEADLINE).as_secs(),
        recovered: None,
        terms: None,
        record: method.can_recover().then(|| records.fronts_path(&served.array_uuid)),
    }
}

/// Writes down what a front keeps that was started, and puts a loop device on its file where a
/// block device is asked for.
fn connect(
    records: &Records,
    array: &ArrayAddress,
    options: &AttachOptions,
    served: &Served,
    started: &Started,
    Chosen { method, passed_over }: Chosen,
) -> Result<Attachment, AttachError> {
    let mut attachment = Attachment {
        array_uuid: served.array_uuid.clone(),
        name: served.name.clone(),
        method,
        passed_over,
        is_block_device: method != Method::Fuse,
        device: started.device.clone(),
        file: None,
        disk_sequence: (method != Method::Fuse).then(|| disk_sequence(&started.device)).flatten(),
        description: None,
        size_bytes: served.size_bytes,
        read_only: options.read_only,
        drives: absolute(&array.named.drives)?,
        members: members(array, served),
        socket: served.socket.clone(),
        front: started.process,
        successor: None,
        server: served.started,
        until_unmounted: options.until_unmounted,
    };
    if let Some(fronts) = records.fronts(&served.array_uuid)? {
        attachment.successor = fronts.successor;
        attachment.description = Some(fronts.description);
    }
    // From here on `detach` can undo it, whatever goes wrong.
    records.keep(&attachment)?;
    if method == Method::Fuse && options.block_device {
        attachment = add_loop_device(records, served, attachment)?;
        records.keep(&attachment)?;
    }
    Ok(attachment)
}

/// Makes the file that is attached a block device; if that cannot be, all is undone.
fn add_loop_device(records: &Records, served: &Served, attachment: Attachment) -> Result<Attachment, AttachError> {
    let (logical_block_bytes, is_read_only) = (served.logical_block_bytes, attachment.read_only);
    let options = LoopOptions { logical_block_bytes, is_read_only, has_partitions: true };
    let device = LoopDevice::attach(&attachment.device, options).map_err(|error| {
        let _ = clear(records, &attachment);
        AttachError::Loop(error)
    })?;
    let (file, device) = (Some(attachment.device), device.device());
    let disk_sequence = disk_sequence(&device);
    Ok(Attachment { file, device, disk_sequence, is_block_device: true, ..attachment })
}

/// Refuses what is attached in another way than is wanted.
fn check_wish(attachment: &Attachment, options: &AttachOptions) -> Result<(), AttachError> {
    let Attachment { name, device, method, .. } = attachment;
    let other = match options {
        AttachOptions { method: Some(wanted), .. } if wanted != method => Some(format!("by {method}")),
        AttachOptions { block_device: true, .. } if !attachment.is_block_device => Some("as a file".to_owned()),
        AttachOptions { read_only: false, .. } if attachment.read_only => Some("for reading only".to_owned()),
        _ => None,
    };
    let refuse = |how| AttachError::Otherwise { array: name.clone(), how, device: device.clone() };
    other.map_or(Ok(()), |how| Err(refuse(how)))
}

/// Undoes it: refused while it is mounted or used. Stops the array only if it was started for this.
pub fn detach(environment: &Environment, attachment: &Attachment) -> Result<(), AttachError> {
    let records = records(environment)?;
    let _lock = Lock::take(&records)?;
    front::refuse_foreign(attachment)?;
    clear(&records, attachment)
}

/// The same for whoever holds the lock.
fn clear(records: &Records, attachment: &Attachment) -> Result<(), AttachError> {
    if let Some(place) = attachment.mounted_at()?.first() {
        return Err(AttachError::Mounted { array: attachment.name.clone(), place: place.clone() });
    }
    front::refuse_stopped(attachment)?;
    let standing = attachment.standing();
    let own = (standing != Standing::Gone).then_some(attachment.device.as_path());
    if let Some(device) = own {
        usage::refuse_used(device, None)?;
    }
    if let Some(file) = &attachment.file {
        usage::refuse_used(file, own)?;
    }
    if let (Some(device), Standing::Served | Standing::ServerGone) = (own, standing) {
        usage::refuse_claimed(device)?;
    }
    let unflushed = let_go(attachment, standing)?;
    front::end(records, attachment, standing)?;
    server::stop(attachment)?;
    records.forget(attachment)?;
    unflushed.map_or(Ok(()), |error| Err(AttachError::Unflushed(error)))
}

/// Takes the loop device down, if there is one of this array's. One that is gone and lost what was
/// written last is no reason to keep the rest: that is told at the end.
fn let_go(attachment: &Attachment, standing: Standing) -> Result<Option<LoopError>, AttachError> {
    let own = (standing != Standing::Gone).then_some(&attachment.device).zip(attachment.file.as_ref());
    let Some(device) = own.and_then(|(device, file)| LoopDevice::find(device, file)) else { return Ok(None) };
    // Where nobody answers a flush it would be waited for until the deadline. Nobody has the device
    // open: what was written has gone to the array.
    let ended = if standing == Standing::Served { device.detach() } else { device.abandon() };
    match ended {
        Ok(()) => Ok(None),
        Err(error @ LoopError::Unflushed { .. }) => Ok(Some(error)),
        Err(error) => Err(AttachError::LoopHeld(error)),
    }
}

/// What it takes to name the array where nobody runs it. By its UUID alone it was found, if it has
/// been started by that.
fn members(array: &ArrayAddress, served: &Served) -> Vec<PathBuf> {
    let Named { drives, scan, uuid } = &array.named;
    let is_found_by_uuid = uuid.is_some() && drives.is_empty() && scan.is_none() && served.started.is_some();
    if is_found_by_uuid { Vec::new() } else { served.drives.clone() }
}

fn absolute(paths: &[PathBuf]) -> Result<Vec<PathBuf>, AttachError> {
    let absolute = |path: &PathBuf| std::path::absolute(path);
    paths.iter().map(absolute).collect::<Result<_, _>>().map_err(AttachError::System)
}

/// What a file that is the array is called: as the array, without the machine on which it was made.
fn file_name(array_name: &str) -> String {
    let own = array_name.rsplit_once(':').map_or(array_name, |(_, own)| own);
    match own {
        "" | "." | ".." => "array".to_owned(),
        own => own.replace(['/', '\0'], "_"),
    }
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn a_file_has_the_array_s_own_name() {
        assert_eq!(file_name("vm:pond"), "pond");
        assert_eq!(file_name("pond"), "pond");
        assert_eq!(file_name("vm:a/b"), "a_b");
        assert_eq!(file_name("vm:"), "array");
        assert_eq!(file_name(".."), "array");
    }
}
