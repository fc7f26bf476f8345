//! Arrays as block devices of this machine: who attached what, and how it is undone.
//!
//! ```text
//!  shoal attach ──starts──► shoal serve   owns the array; may be killed and started again
//!       │                        ▲ unix socket, NBD
//!       └──────starts──► shoal front  ─► ublk │ kernel nbd │ FUSE file ◄─ loop device
//!       └──────writes──► UUID.attached, in the directory of running arrays
//! ```
//!
//! The two processes live apart from each other and from the command: the front waits for a server that is gone, and comes
//! to an agreement with the next one; a front that is killed is followed by its successor (`successor`). What is attached is written down, so that any
//! later command can undo it, even after one of the processes was killed; a record whose front is gone, and the front's successor too, is *stale*,
//! and is cleared away by the next `attach` or `detach`. What a record names is looked at before each use (`shoal_attach::records`): a device that is not the array's
//! any more is left alone. One `attach` or `detach` works at a time.

mod front;
mod method;
mod occupied;
mod process;
mod server;
mod successor;
mod usage;

use std::path::{Path, PathBuf};
use std::time::Duration;

use shoal_attach::records::{Attachment, Lock, Method, PassedOver, Records, Standing};
use shoal_attach::{LoopDevice, LoopOptions};
use shoal_drive::disk_sequence;
use shoal_inventory::{arrays, same_file};
use shoal_running::{make_runtime_directory, own_runtime_directory};

use crate::args::{ArrayArgs, Cli};
use crate::exit::Failure;
use crate::setup::{environment, member_paths};

pub(crate) use front::{Front, run as run_front};
pub(crate) use occupied::{Occupied, check_overwritable, refuse_members_in_use, refuse_occupied, refuse_served};
pub(crate) use process::leave_session;
pub(crate) use successor::wait_to_follow;

/// How long a request waits for a server that is gone, if nobody says otherwise. A file system that is told of an error is
/// of no use until it is mounted again, so it is long enough for somebody to come and start the server.
pub(crate) const DEADLINE: Duration = Duration::from_secs(300);

/// What is wanted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wish {
    /// No other method.
    pub(crate) method: Option<Method>,
    /// A file will not do.
    pub(crate) block_device: bool,
    /// Nobody is to write.
    pub(crate) read_only: bool,
    /// Run the array though it is degraded and was not shut down cleanly.
    pub(crate) force: bool,
    /// It is attached to be mounted, and is to be detached when it is unmounted.
    pub(crate) until_unmounted: bool,
    /// After so long a request that nobody answered fails; [`DEADLINE`] if left out.
    pub(crate) deadline: Option<Duration>,
}

/// Makes the array a device or file, or finds that it is one. Starts a process that runs the array if nobody does.
pub(crate) fn attach(cli: &Cli, array: &ArrayArgs, wish: &Wish) -> Result<Attachment, Failure> {
    let records = records()?;
    let _lock = Lock::take(&records)?;
    if let Some(attachment) = record_of(&records, array)? {
        match attachment.standing() {
            Standing::Served | Standing::ServerGone => {
                check_wish(&attachment, wish)?;
                return with_server(cli, &records, array, wish, attachment);
            }
            Standing::FrontGone => return again(cli, &records, array, wish, attachment),
            // Whatever has its name now is somebody else's.
            Standing::Gone => clear(&records, &attachment)?,
        }
    }
    let chosen = method::choose(wish)?;
    anew(cli, &records, array, wish, chosen)
}

/// The same attachment, with a server at the same place if that one was killed: the front finds it.
fn with_server(
    cli: &Cli,
    records: &Records,
    array: &ArrayArgs,
    wish: &Wish,
    attachment: Attachment,
) -> Result<Attachment, Failure> {
    let served = server::find_or_start(cli, records, array, wish, Some(&attachment.socket))?;
    let Some(started) = served.started else { return Ok(attachment) };
    let attachment = Attachment { server: Some(started), ..attachment };
    records.keep(&attachment)?;
    Ok(attachment)
}

/// Attaches what is not attached.
fn anew(
    cli: &Cli,
    records: &Records,
    array: &ArrayArgs,
    wish: &Wish,
    chosen: method::Chosen,
) -> Result<Attachment, Failure> {
    let served = server::find_or_start(cli, records, array, wish, None)?;
    let front = front_of(records, wish, &served, chosen.method);
    let attachment = connect(records, array, wish, &served, &front, chosen.passed_over);
    if attachment.is_err() {
        // The reason why it was not attached is what is told.
        served.stop_if_started();
    }
    attachment
}

/// Attaches again what has lost its front: a device that can be recovered is served again as it is, a file is cleared away first.
fn again(
    cli: &Cli,
    records: &Records,
    array: &ArrayArgs,
    wish: &Wish,
    stale: Attachment,
) -> Result<Attachment, Failure> {
    if !stale.method.can_recover() || check_wish(&stale, wish).is_err() {
        clear(records, &stale)?;
        let chosen = method::choose(wish)?;
        return anew(cli, records, array, wish, chosen);
    }
    let served = server::find_or_start(cli, records, array, wish, None)?;
    let front = Front { recovered: Some(stale.device.clone()), ..front_of(records, wish, &served, stale.method) };
    let started = front::start(records, &served.array_uuid, &front)?;
    let server = served.started.or(stale.server);
    let attachment = Attachment { front: started.process, socket: served.socket, server, ..stale };
    records.keep(&attachment)?;
    Ok(attachment)
}

/// What keeps the device.
fn front_of(records: &Records, wish: &Wish, served: &server::Served, method: Method) -> Front {
    Front {
        method,
        socket: served.socket.clone(),
        directory: records.file_directory(&served.array_uuid),
        name: file_name(&served.name),
        logical_block_bytes: served.logical_block_bytes,
        deadline_s: wish.deadline.unwrap_or(DEADLINE).as_secs(),
        recovered: None,
        terms: None,
        record: method.can_recover().then(|| records.fronts_path(&served.array_uuid)),
    }
}

/// Starts the front, and puts a loop device on its file where a block device is asked for.
fn connect(
    records: &Records,
    array: &ArrayArgs,
    wish: &Wish,
    served: &server::Served,
    front: &Front,
    passed_over: Vec<PassedOver>,
) -> Result<Attachment, Failure> {
    let started = front::start(records, &served.array_uuid, front)?;
    let mut attachment = Attachment {
        array_uuid: served.array_uuid.clone(),
        name: served.name.clone(),
        method: front.method,
        passed_over,
        is_block_device: front.method != Method::Fuse,
        device: started.device.clone(),
        file: None,
        disk_sequence: (front.method != Method::Fuse).then(|| disk_sequence(&started.device)).flatten(),
        description: None,
        size_bytes: served.size_bytes,
        read_only: wish.read_only,
        drives: absolute(&array.drives)?,
        socket: served.socket.clone(),
        front: started.process,
        successor: None,
        server: served.started,
        until_unmounted: wish.until_unmounted,
    };
    if let Some(fronts) = records.fronts(&served.array_uuid)? {
        attachment.successor = fronts.successor;
        attachment.description = Some(fronts.description);
    }
    // From here on `detach` can undo it, whatever goes wrong.
    records.keep(&attachment)?;
    if front.method == Method::Fuse && wish.block_device {
        attachment = add_loop_device(records, served, attachment)?;
        records.keep(&attachment)?;
    }
    Ok(attachment)
}

/// Makes the file that is attached a block device; if that cannot be, all is undone.
fn add_loop_device(records: &Records, served: &server::Served, attachment: Attachment) -> Result<Attachment, Failure> {
    let (logical_block_bytes, is_read_only) = (served.logical_block_bytes, attachment.read_only);
    let options = LoopOptions { logical_block_bytes, is_read_only, has_partitions: true };
    let device = LoopDevice::attach(&attachment.device, options).map_err(|error| {
        let _ = clear(records, &attachment);
        Failure::failed(error)
    })?;
    let (file, device) = (Some(attachment.device), device.device());
    let disk_sequence = disk_sequence(&device);
    Ok(Attachment { file, device, disk_sequence, is_block_device: true, ..attachment })
}

/// Refuses what is attached in another way than is wanted.
fn check_wish(attachment: &Attachment, wish: &Wish) -> Result<(), Failure> {
    let Attachment { name, device, method, .. } = attachment;
    let other = match wish {
        Wish { method: Some(wanted), .. } if wanted != method => Some(format!("by {method}")),
        Wish { block_device: true, .. } if !attachment.is_block_device => Some("as a file".to_owned()),
        Wish { read_only: false, .. } if attachment.read_only => Some("for reading only".to_owned()),
        _ => None,
    };
    other.map_or(Ok(()), |how| {
        Err(Failure::Refused(format!("array {name} is attached {how}, at {}: detach it first", device.display())))
    })
}

/// Undoes it: refused while it is mounted or used. Stops the array only if it was started for this.
pub(crate) fn detach(attachment: &Attachment) -> Result<(), Failure> {
    let records = records()?;
    let _lock = Lock::take(&records)?;
    front::refuse_foreign(attachment)?;
    clear(&records, attachment)
}

/// The same for whoever holds the lock.
fn clear(records: &Records, attachment: &Attachment) -> Result<(), Failure> {
    if let Some(place) = attachment.mounted_at()?.first() {
        let (name, place) = (&attachment.name, place.display());
        return Err(Failure::Refused(format!("array {name} is mounted on {place}: unmount it first")));
    }
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
    if let (Some(device), Some(file)) = (own, &attachment.file)
        && let Some(device) = LoopDevice::find(device, file)
    {
        // Where nobody answers a flush it would be waited for until the deadline. Nobody has the device open: what was written has gone to the array.
        let ended = if standing == Standing::Served { device.detach() } else { device.abandon() };
        ended.map_err(|error| Failure::Refused(error.to_string()))?;
    }
    front::end(records, attachment, standing)?;
    server::stop(attachment)?;
    Ok(records.forget(attachment)?)
}

/// How the array is attached, if it is.
pub(crate) fn attachment_of(array: &ArrayArgs) -> Result<Option<Attachment>, Failure> {
    match existing_records() {
        Some(records) => record_of(&records, array),
        None => Ok(None),
    }
}

/// All that is attached by this user.
pub(crate) fn attachments() -> Result<Vec<Attachment>, Failure> {
    existing_records().map_or_else(|| Ok(Vec::new()), |records| Ok(records.all()?))
}

/// What is written down of what is attached; the directory is made if need be.
fn records() -> Result<Records, Failure> {
    Ok(make_runtime_directory(environment()).map(Records::of)?)
}

/// None if there is no directory, and so nothing is attached.
fn existing_records() -> Option<Records> {
    own_runtime_directory(environment()).map(Records::of)
}

/// By what the members say, by the names under which it was attached, and, of one that runs, by what it says itself.
fn record_of(records: &Records, array: &ArrayArgs) -> Result<Option<Attachment>, Failure> {
    let all = records.all()?;
    if all.is_empty() {
        return Ok(None);
    }
    let uuids = uuids_of(array);
    let named = |attachment: &Attachment| {
        uuids.contains(&attachment.array_uuid)
            || array.drives.iter().any(|drive| attachment.drives.iter().any(|own| same_file(own, drive)))
    };
    if let Some(found) = all.iter().find(|attachment| named(attachment)) {
        return Ok(Some(found.clone()));
    }
    let running = server::uuid_of_running(array)?;
    Ok(all.into_iter().find(|attachment| running.as_ref() == Some(&attachment.array_uuid)))
}

/// What the superblocks say that can be read.
fn uuids_of(array: &ArrayArgs) -> Vec<String> {
    let paths = member_paths(array).unwrap_or_else(|_| array.drives.clone());
    arrays(environment(), &paths).iter().map(ToString::to_string).collect()
}

fn absolute(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let absolute = |path: &PathBuf| std::path::absolute(path);
    paths.iter().map(absolute).collect::<Result<_, _>>().map_err(Failure::failed)
}

/// What a file that is the array is called: as the array, without the machine on which it was made.
fn file_name(array_name: &str) -> String {
    let own = array_name.rsplit_once(':').map_or(array_name, |(_, own)| own);
    match own {
        "" | "." | ".." => "array".to_owned(),
        own => own.replace(['/', '\0'], "_"),
    }
}

/// A path as text, for the arguments of a process.
fn text(path: &Path) -> Result<&str, Failure> {
    path.to_str()
        .ok_or_else(|| Failure::Usage(format!("{}: the name is not UTF-8: use a symbolic link", path.display())))
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
