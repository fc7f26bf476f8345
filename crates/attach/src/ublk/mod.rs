//! An array as a block device of this machine, through the kernel's ublk driver (Linux 6.4 and
//! later): the best of the three ways.
//!
//! ```text
//!  file system ─► block layer ─► ublk_drv ═ io_uring ═ queue's thread ─► Client ─► server
//!                                                          ▲               │
//!                                                          └── answer ─────┘  (an eventfd wakes the queue)
//! ```
//!
//! One queue of 64 requests, as one client and one array serve them all anyway. Content is copied
//! by the driver to and from a buffer of the request's tag.
//!
//! # When something is killed
//!
//! | killed | the device |
//! | --- | --- |
//! | the server | stays; the client waits for it, and sends again what was not answered; after the deadline requests fail |
//! | this process (the front) | stays, and requests wait, until [`run`] is called with the device to recover, or [`remove`]; the driver gives the new front what the old one had not answered. Until then there is no deadline |
//! | both | as with the front |
//!
//! A request that is done twice does no harm: all operations are idempotent, and the server carries
//! out nothing of a connection that is gone once it has taken a new one.
//!
//! # What ends a request
//!
//! Every request gets an errno that the block layer knows within the client's deadline. A result
//! that is none would leave a request under way for ever, and the device could not be taken down;
//! `protocol::failure` has the list.
//!
//! # Why not libublk
//!
//! Its bindings are made at build time by libclang, which who builds shoal need not have; it brings
//! an asynchronous runtime and fifty packages, and keeps a directory that everybody may write to.
//! What is needed of the driver is nine commands and two requests.

mod control;
mod kernel;
mod protocol;
mod queue;

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::io::Errno;
use thiserror::Error;

use crate::{Ability, Client};
use control::Control;
use protocol::Parameters;
use queue::Queue;

/// How often it is looked whether a device that is to go is still used.
const PAUSE: Duration = Duration::from_millis(100);

/// How the device is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UblkOptions {
    /// A power of two from 512 to 4096. Partition tables count in it, so an array should always
    /// have the same.
    pub logical_block_bytes: u32,
    /// A device whose front is gone, to be served again instead of a new one.
    pub recovered: Option<PathBuf>,
}

/// Why there is no device, or no longer.
#[derive(Debug, Error)]
pub enum UblkError {
    /// The kernel has no ublk, or not for us.
    #[error("/dev/ublk-control: {0}: ublk needs root, and Linux 6.4 or later with its module (modprobe ublk_drv)")]
    Missing(io::Error),
    /// A system of 32 bits, on which nobody has tried it.
    #[error("ublk is for systems of 64 bits: another way to attach has to do")]
    Narrow,
    /// Not a power of two within bounds.
    #[error("logical blocks of {0} bytes: a device of this kernel has blocks of 512 to 4096 bytes")]
    Block(u32),
    /// The path is none of such a device.
    #[error("{0}: no ublk device has such a path (/dev/ublkbN)")]
    Name(PathBuf),
    /// Another program made it.
    #[error("{0} was not made by shoal: it is left alone")]
    Foreign(PathBuf),
    /// It is served.
    #[error("{device} is still served by process {process}")]
    Served {
        /// The device.
        device: PathBuf,
        /// Its front.
        process: i32,
    },
    /// The array is not what it was.
    #[error("{device} has {device_bytes} bytes and the array {array_bytes}: detach it, and attach it anew")]
    Size {
        /// The device.
        device: PathBuf,
        /// What the kernel knows.
        device_bytes: u64,
        /// What the server says.
        array_bytes: u64,
    },
    /// The driver refused.
    #[error("the kernel's ublk driver refuses to {what}: {errno}")]
    Command {
        /// To do what.
        what: &'static str,
        /// Why.
        errno: Errno,
    },
    /// The queue cannot be served, or could not go on being.
    #[error("{device}: its requests cannot be served: {source}")]
    Queue {
        /// The device.
        device: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Whether the kernel has ublk, and we may use it; an error that says why not.
pub fn probe() -> Result<(), UblkError> {
    Control::open().map(drop)
}

/// Makes a device (or takes over one whose front is gone), tells `ready` its path, and serves it
/// until a message comes over `stop`, or nobody is left who could send one. Told once, it ends when
/// nobody uses the device any more; told again, at once.
pub fn run(
    client: &Client,
    options: &UblkOptions,
    ready: impl FnOnce(&Path),
    stop: Receiver<()>,
) -> Result<(), UblkError> {
    let block = options.logical_block_bytes;
    if !block.is_power_of_two() || !(512..=4096).contains(&block) {
        return Err(UblkError::Block(block));
    }
    crate::stay_out_of_reclaim();
    let parameters = parameters(client, block);
    let mut control = Control::open()?;
    let number = match &options.recovered {
        None => control.add(&parameters)?,
        Some(device) => {
            let number = number_of(device)?;
            control.start_recovery(number, &parameters)?;
            number
        }
    };
    let (tell, told) = channel();
    let queue = match start(&mut control, number, client, options.recovered.is_some(), tell.clone()) {
        Ok(queue) => queue,
        Err(error) => {
            // What was to be recovered may be recovered by another.
            if options.recovered.is_none() {
                let _ = control.delete(number);
            }
            return Err(error);
        }
    };
    ready(&device_of(number));
    std::thread::spawn(move || forward(&stop, &tell));
    end(&mut control, number, &told, queue)
}

/// Tells that the device is to end. Whoever can no longer say so is gone, and then it should be,
/// too.
fn forward(stop: &Receiver<()>, tell: &Sender<Told>) {
    let _ = stop.recv();
    let _ = tell.send(Told::Stop);
    if stop.recv().is_ok() {
        let _ = tell.send(Told::Stop);
    }
}

/// Takes a device away whose front is gone. What is under way on it fails.
pub fn remove(device: &Path) -> Result<(), UblkError> {
    let number = number_of(device)?;
    let mut control = Control::open()?;
    // Its number may be that of another array's device by now.
    control.refuse_served(number)?;
    control.stop(number)?;
    control.delete(number)
}

fn parameters(client: &Client, logical_block_bytes: u32) -> Parameters {
    let is_read_only = client.is_read_only();
    let can = |ability| !is_read_only && client.can(ability);
    // Blocks larger than a page are no business of the block layer's.
    let physical_block_bytes = client.block_bytes().clamp(logical_block_bytes, 4096);
    Parameters {
        size_bytes: client.size_bytes(),
        logical_block_bytes,
        physical_block_bytes,
        is_read_only,
        can_flush: can(Ability::Flush),
        can_fua: can(Ability::Fua) && can(Ability::Flush),
        can_discard: can(Ability::Discard),
        can_zero: can(Ability::WriteZeroes),
    }
}

fn device_of(number: u32) -> PathBuf {
    format!("/dev/ublkb{number}").into()
}

fn number_of(device: &Path) -> Result<u32, UblkError> {
    let name = device.to_str().and_then(|path| path.strip_prefix("/dev/ublkb"));
    name.and_then(|number| number.parse().ok()).ok_or_else(|| UblkError::Name(device.to_owned()))
}

/// What ends the service.
enum Told {
    /// Somebody wants it to.
    Stop,
    /// It has.
    Ended(io::Result<()>),
}

/// Makes the disk, or goes on with it. The queue has to be there before, as the kernel reads the
/// partitions at once.
fn start(
    control: &mut Control,
    number: u32,
    client: &Client,
    is_recovered: bool,
    tell: Sender<Told>,
) -> Result<JoinHandle<()>, UblkError> {
    let queue = start_queue(number, client.clone(), tell)
        .map_err(|source| UblkError::Queue { device: device_of(number), source })?;
    if is_recovered { control.end_recovery(number) } else { control.start(number) }?;
    Ok(queue)
}

/// Waits for the end, and takes the device away; or leaves it for another front, if this one can no
/// longer serve it.
fn end(control: &mut Control, number: u32, told: &Receiver<Told>, queue: JoinHandle<()>) -> Result<(), UblkError> {
    let device = device_of(number);
    match wait_for_end(told, &device) {
        Some(Err(source)) => return Err(UblkError::Queue { device, source }),
        // Somebody else stopped it.
        Some(Ok(())) => {}
        None => control.stop(number)?,
    }
    // The driver keeps the device as long as the queue has it open.
    let _ = queue.join();
    control.delete(number)
}

/// Returns when the device is to be stopped; or with what came of it, if it has ended by itself.
fn wait_for_end(told: &Receiver<Told>, device: &Path) -> Option<io::Result<()>> {
    match told.recv() {
        Ok(Told::Ended(result)) => return Some(result),
        Ok(Told::Stop) | Err(_) => {}
    }
    while is_used(device) {
        match told.recv_timeout(PAUSE) {
            Ok(Told::Ended(result)) => return Some(result),
            Ok(Told::Stop) => break,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
    }
    None
}

/// Whether it is mounted, or claimed in another way.
fn is_used(device: &Path) -> bool {
    let exclusive = OFlags::EXCL.bits().cast_signed();
    let opened = File::options().read(true).custom_flags(exclusive).open(device);
    opened.is_err_and(|error| error.raw_os_error() == Some(Errno::BUSY.raw_os_error()))
}

/// Starts the thread that serves the device's requests, once the kernel has taken it for that.
fn start_queue(number: u32, client: Client, tell: Sender<Told>) -> io::Result<JoinHandle<()>> {
    let (report, reported) = channel();
    let thread = std::thread::Builder::new().name(format!("ublk{number}")).spawn(move || {
        // The driver knows a queue's server by its thread.
        match control::open_character_device(number).and_then(|device| Queue::open(device, client)) {
            Ok(queue) => {
                let _ = report.send(Ok(()));
                let _ = tell.send(Told::Ended(queue.serve()));
            }
            Err(error) => {
                let _ = report.send(Err(error));
            }
        }
    })?;
    reported.recv().unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into())).map(|()| thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_named_as_the_kernel_names_it() {
        assert_eq!(number_of(&device_of(7)).unwrap(), 7);
        for path in ["/dev/ublkc7", "/dev/ublkb", "/dev/ublkb7p1", "/dev/sda", "ublkb7"] {
            assert!(matches!(number_of(Path::new(path)), Err(UblkError::Name(_))), "{path}");
        }
    }

    #[test]
    fn a_kernel_without_ublk_is_told_with_the_mend() {
        if Path::new("/dev/ublk-control").exists() {
            return;
        }
        let said = probe().unwrap_err().to_string();
        assert!(
            said.contains("/dev/ublk-control") && said.contains("modprobe ublk_drv") && !said.contains('\n'),
            "{said}"
        );
    }
}
