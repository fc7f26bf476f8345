//! `shoal mount` and `shoal unmount`: an array's file system in a directory, and out of it again.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use shoal_attach::records::{Attachment, Standing};
use shoal_attaching::AttachOptions;
use shoal_documents::protocol::Command;
use shoal_documents::{MountDocument, MountOptionDocument, UnmountDocument};
use shoal_filesystem::{
    Identity, Kind, MountError, MountOption, UnmountError, check_place, identify, mount_options, mounted_on,
};
use shoal_inventory::{check_content, is_there};
use shoal_running::Opening;
use shoal_share::machine::Leaving;

use super::share::machine::machine;
use crate::args::{ArrayArgs, Cli, MountArgs, UnmountArgs};
use crate::attaching::{attach, attachment_of, attachments, detach};
use crate::exit::Failure;
use crate::output;
use crate::setup::{check_first, reach_running};

/// How often it is looked at those on whom an unmount waits.
const UNMOUNT_WATCH: Duration = Duration::from_secs(5);

/// Attaches the array if need be, and mounts its file system.
pub(crate) fn run(cli: &Cli, args: &MountArgs) -> Result<(), Failure> {
    let (array, directory) =
        args.array_and_directory().ok_or_else(|| Failure::usage("give the array's members, and then the directory"))?;
    refuse_mounted(&array)?;
    let place = check_place(&directory).map_err(mount_failure)?;
    refuse_non_root(&array)?;
    let options = AttachOptions {
        block_device: true,
        read_only: args.read_only,
        force: args.force,
        until_unmounted: true,
        ..AttachOptions::default()
    };
    let opening = Opening { writable: !args.read_only, force: args.force, ..Opening::WRITABLE };
    check_first(cli, &array, opening, None, |array| {
        let name = array.execute(Command::Status)?.array.name;
        // What has no signature of anything has none of a file system.
        check_content(array.content(), &name).map_or_else(|_| Ok(()), |()| Err(no_file_system(&name)))
    })?;
    let already = attachment_of(&array)?.is_some_and(|attachment| attachment.is_alive());
    let attachment = attach(cli, &array, &options)?;
    let mounted = mount_on(args, &attachment, &place);
    if mounted.is_err() && !already {
        // The reason why it was not mounted is what is told.
        let _ = detach(&attachment);
    }
    output::document(cli, &mounted?, mount_text)
}

/// Refuses an array that is mounted. Its file system may wait for somebody to run it again.
fn refuse_mounted(array: &ArrayArgs) -> Result<(), Failure> {
    let Some(attachment) = attachment_of(array)? else { return Ok(()) };
    let Some(place) = attachment.mounted_at()?.into_iter().next() else { return Ok(()) };
    let mend = match attachment.standing() {
        Standing::ServerGone => format!(", and nobody runs it: `{}` runs it again", attachment.attach_command()),
        _ => String::new(),
    };
    let (name, place) = (&attachment.name, place.display());
    Err(Failure::Refused(format!("array {name} is mounted on {place} already{mend}")))
}

fn mount_on(args: &MountArgs, attachment: &Attachment, place: &Path) -> Result<MountDocument, Failure> {
    let Attachment { name, device, .. } = attachment;
    if !attachment.is_block_device {
        let device = device.display();
        return Err(Failure::Refused(format!("array {name} is attached as the file {device}: detach it first")));
    }
    // What is looked at is what is mounted.
    let _held = attachment.hold()?;
    let identity = identify(device).map_err(Failure::failed)?;
    let Some(Identity { kind, .. }) = identity else {
        return Err(no_file_system(name));
    };
    let read_only = args.read_only || attachment.read_only;
    let options = mount_options(kind.parse::<Kind>().ok(), args.options.as_deref(), read_only);
    let mount = shoal_filesystem::mount(device, &kind, place, &options).map_err(mount_failure)?;
    let method = serde_json::to_value(attachment.method).map_err(Failure::failed)?;
    Ok(MountDocument {
        array: name.clone(),
        array_uuid: attachment.array_uuid.clone(),
        method: method.as_str().unwrap_or_default().to_owned(),
        device: device.display().to_string(),
        directory: mount.place.display().to_string(),
        kind: mount.kind,
        options: options.into_iter().map(option_document).collect(),
    })
}

fn no_file_system(name: &str) -> Failure {
    Failure::usage(format!("array {name} holds no file system: make one with `shoal format`"))
}

fn option_document(option: MountOption) -> MountOptionDocument {
    let reason = (!option.reason.is_empty()).then(|| option.reason.to_owned());
    MountOptionDocument { option: option.word, reason }
}

fn mount_failure(error: MountError) -> Failure {
    match error {
        MountError::NoDirectory { .. } => Failure::usage(error),
        MountError::Taken { .. } => Failure::Refused(error.to_string()),
        MountError::Program(_) | MountError::Failed { .. } => Failure::failed(error),
    }
}

/// The kernel lets root alone mount a block device's file system.
fn refuse_non_root(array: &ArrayArgs) -> Result<(), Failure> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let drives = array.drives.iter().map(|drive| drive.display().to_string());
    let named: Vec<_> = array.uuid.iter().map(|uuid| format!("--uuid {uuid}")).chain(drives).collect();
    let named = named.join(" ");
    Err(Failure::Refused(format!(
        "mounting needs root: use sudo, or `shoal attach {named}` and, on the file that it tells, `udisksctl loop-setup -f \
         FILE` and `udisksctl mount`, or fuse2fs for ext4"
    )))
}

fn mount_text(document: &MountDocument) -> String {
    let MountDocument { array, kind, directory, device, method, .. } = document;
    let mut text = format!("array {array}: {kind} on {directory}, through {device} ({method})\n");
    for option in &document.options {
        let reason = option.reason.as_deref().unwrap_or("as asked");
        text += &format!("  {}: {reason}\n", option.option);
    }
    text
}

/// Unmounts an array's file system, and detaches the array if it was attached for that.
pub(crate) fn unmount(cli: &Cli, args: &UnmountArgs) -> Result<(), Failure> {
    let (attachment, places) = find(&args.array)?;
    shoal_attaching::refuse_stopped_front(&attachment)?;
    if !places.is_empty() {
        refuse_unrun(&attachment)?;
    }
    hear_from_server(&attachment)?;
    let shares = machine()?.served_below(&places).map_err(Failure::failed)?;
    // Held until the array is detached too: servers have nothing of it from here on.
    let _leaving = let_go(args, &places, &shares)?;
    // Another front of a FUSE file would be another file.
    let is_dead = attachment.standing() == Standing::FrontGone && !attachment.method.can_recover();
    for place in &places {
        unmount_watched(&attachment, place, is_dead)?;
    }
    let detached = attachment.until_unmounted;
    if detached {
        detach(&attachment)?;
    }
    let document = UnmountDocument {
        directories: places.iter().map(|place| place.display().to_string()).collect(),
        waiting_shares: shares,
        device: attachment.device.display().to_string(),
        detached,
    };
    output::document(cli, &document, unmount_text)?;
    if is_dead && !places.is_empty() {
        return Err(Failure::failed(
            "the process that kept the device was gone: what was written there and not flushed is lost",
        ));
    }
    Ok(())
}

/// Unmounts in a thread of its own: who stops the processes meanwhile on which that waits is told,
/// and need not wait for it.
fn unmount_watched(attachment: &Attachment, place: &Path, is_dead: bool) -> Result<(), Failure> {
    let (sender, receiver) = sync_channel(1);
    let own = place.to_owned();
    let unmount = if is_dead { shoal_filesystem::unmount_dead } else { shoal_filesystem::unmount };
    std::thread::spawn(move || sender.send(unmount(&own)));
    loop {
        match receiver.recv_timeout(UNMOUNT_WATCH) {
            Ok(unmounted) => return unmounted.map(drop).map_err(unmount_failure),
            Err(RecvTimeoutError::Timeout) => {
                shoal_attaching::refuse_stopped_front(attachment)?;
                refuse_unrun(attachment)?;
                hear_from_server(attachment)?;
            }
            Err(RecvTimeoutError::Disconnected) => return Err(Failure::failed("the thread that unmounts has ended")),
        }
    }
}

/// Without a process that runs the array what was written could not be flushed, and that would be
/// waited for.
fn refuse_unrun(attachment: &Attachment) -> Result<(), Failure> {
    if attachment.standing() != Standing::ServerGone {
        return Ok(());
    }
    let (name, again) = (&attachment.name, attachment.attach_command());
    Err(Failure::Refused(format!(
        "array {name} is run by nobody, so what was written cannot be flushed: `{again}` runs it again; then unmount"
    )))
}

/// Refuses while the process that runs the array is stopped, or hangs: what was written could not
/// be flushed, and that would be waited for, uninterruptibly.
fn hear_from_server(attachment: &Attachment) -> Result<(), Failure> {
    let uuid = attachment.array_uuid.parse().map_err(Failure::failed)?;
    match reach_running(&ArrayArgs { uuid: Some(uuid), ..ArrayArgs::default() })? {
        Some(mut running) => Ok(running.execute(Command::Status).map(drop)?),
        // Who serves it from elsewhere answers for himself.
        None => Ok(()),
    }
}

/// Has the servers of shares let go, if that is told; what is shared is not unmounted otherwise.
fn let_go(args: &UnmountArgs, places: &[PathBuf], shares: &[String]) -> Result<Option<Leaving>, Failure> {
    match shares.first() {
        None => Ok(None),
        Some(_) if args.let_shares_wait => Leaving::of(&machine()?, places).map(Some).map_err(Failure::failed),
        Some(first) => {
            let places: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
            Err(Failure::Refused(format!(
                "{} is shared as {}: `shoal unshare {first}` first, or let it wait until it is mounted again with --let-shares-wait",
                places.join(" and "),
                shares.join(" and ")
            )))
        }
    }
}

/// Nothing is attached by these names.
fn not_attached(named: &ArrayArgs) -> Failure {
    match named.drives.iter().find(|path| !is_there(path)) {
        Some(path) => Failure::usage(format!(
            "{}: not found: give the directory where the array is mounted, or a drive of the array",
            path.display()
        )),
        None => Failure::usage("the array is not attached: nothing to undo"),
    }
}

/// What is attached and where it is mounted: by the directory, or by the array.
fn find(named: &ArrayArgs) -> Result<(Attachment, Vec<PathBuf>), Failure> {
    if let [directory] = named.drives.as_slice()
        && directory.is_dir()
    {
        return find_by_directory(directory);
    }
    let attachment = attachment_of(named)?.ok_or_else(|| not_attached(named))?;
    let mut places = attachment.mounted_at()?;
    // What was mounted last may hide, or lie in, what was mounted before.
    places.reverse();
    // Where it was attached to be mounted, somebody else has unmounted it, and what is left is to
    // be taken down.
    if places.is_empty() && !attachment.until_unmounted {
        let (name, device) = (&attachment.name, attachment.device.display());
        return Err(Failure::usage(format!(
            "array {name} is attached at {device} and not mounted: `shoal detach` undoes it"
        )));
    }
    Ok((attachment, places))
}

fn find_by_directory(directory: &Path) -> Result<(Attachment, Vec<PathBuf>), Failure> {
    let place =
        directory.canonicalize().map_err(|error| Failure::Usage(format!("{}: {error}", directory.display())))?;
    let mount = mounted_on(&place).ok_or_else(|| unmount_failure(UnmountError::NotMounted { place: place.clone() }))?;
    let attachment = attachments()?.into_iter().find(|attachment| attachment.is_at(&mount.source));
    let attachment = attachment.ok_or_else(|| {
        let (place, source) = (place.display(), mount.source.display());
        Failure::Refused(format!("{place} is {source}, which no array of yours is attached as: use umount"))
    })?;
    // It stays attached as long as it is mounted elsewhere.
    let elsewhere = attachment.mounted_at()?.iter().any(|other| *other != place);
    let until_unmounted = attachment.until_unmounted && !elsewhere;
    Ok((Attachment { until_unmounted, ..attachment }, vec![place]))
}

fn unmount_failure(error: UnmountError) -> Failure {
    match error {
        UnmountError::NotMounted { .. } => Failure::usage(error),
        UnmountError::Busy { .. } => Failure::Refused(error.to_string()),
        UnmountError::Flush { .. } | UnmountError::Program(_) | UnmountError::Failed { .. } => Failure::failed(error),
    }
}

fn unmount_text(document: &UnmountDocument) -> String {
    let after = if document.detached { "detached" } else { "still attached" };
    let waiting: String =
        document.waiting_shares.iter().map(|name| format!("share {name} waits until it is mounted again\n")).collect();
    let directories =
        if document.directories.is_empty() { "nothing".to_owned() } else { document.directories.join(", ") };
    format!("unmounted: {directories}; {} {after}\n{waiting}", document.device)
}
