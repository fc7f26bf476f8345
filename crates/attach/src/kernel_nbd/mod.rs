//! An array as a device of the kernel's nbd driver, for kernels that have no ublk.
//!
//! ```text
//!  file system ─► block layer ─► nbd ═ socket pairs ═ this process ─► Client ─► server
//! ```
//!
//! # Why the kernel does not talk to the server itself
//!
//! It could: a socket on which hands have been shaken is handed to the driver, and when the server
//! was restarted another one. What the driver does in between is the trouble. When a socket ends it
//! leaves requests that were sent on it where they are until their own timeout, so a restart of a
//! second costs as long as the slowest request may ever take; a read that the end cuts in the
//! middle of its payload fails at once where there is but one socket; and the timeout itself ends a
//! connection to a server that is alive and slow. Here the driver talks to this process, whose
//! sockets do not end, and [`crate::Client`] does the waiting: it asks again within milliseconds of
//! the server's return, and answers everything within the deadline. The price is a copy of the
//! content through this process.
//!
//! # When something is killed
//!
//! | killed | the device |
//! | --- | --- |
//! | the server | stays; requests wait for it, and fail after the deadline |
//! | this process | stays; requests wait for [`run`] with the device to recover: new ones for the deadline, those that it had not answered without end |
//!
//! A successor hands the driver a socket in place of the dead one (`NBD_CMD_RECONFIGURE`). New
//! requests go over it at once. Those that were sent over the dead one the driver moves when it
//! looks at requests that take long, which it does every `LOOK_DISTANCE`; that they are not
//! answered twice is the driver's business, which knows over which socket it has sent what.
//!
//! What the driver does to a request that takes long depends on two numbers. With a timeout, or
//! with several sockets, it takes the socket for dead, however alive the process at its other end
//! is, which may have a server to wait for: so a timeout would have to be longer than the deadline,
//! and a request that a killed process had not answered would be moved that much later. **With one
//! socket and the timeout 0** it moves what was sent over another socket than there is now, and
//! leaves the rest alone, with a line in the kernel's log. Time is kept on this side: this process
//! answers everything within the deadline.
//!
//! # Whose a device is
//!
//! `/dev/nbd0` is whatever was connected last. A device is made with the export's description, in
//! which the array's UUID is, as its identifier; who takes a device over, or away, looks whether it
//! has that one.

mod device;
mod netlink;
mod requests;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use shoal_serve::protocol::transmission;
use thiserror::Error;

use crate::{Ability, Client};
use device::Device;
use netlink::{Attributes, Command, Netlink};

/// How often the driver looks whether requests that take long are to be moved to another socket.
const LOOK_DISTANCE: Duration = Duration::from_secs(2);
/// How long a device may go on having a front that is said to be gone.
const TAKING_PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

/// How the device is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NbdOptions {
    /// A power of two from 512 to 4096.
    pub logical_block_bytes: u32,
    /// A device whose front is gone, to be served again instead of a new one.
    pub recovered: Option<PathBuf>,
}

/// Why there is no device, or no longer.
#[derive(Debug, Error)]
pub enum NbdError {
    /// The kernel has no nbd.
    #[error("the kernel's nbd driver is not there: load its module (modprobe nbd)")]
    Missing,
    /// It is not for us.
    #[error("the kernel's nbd driver is for root")]
    NotRoot,
    /// The kernel says no.
    #[error("the kernel's nbd driver: {what}: {source}")]
    Driver {
        /// What was to be done.
        what: &'static str,
        /// What it says.
        source: Errno,
    },
    /// The path names no such device.
    #[error("{0}: no device of the kernel's nbd driver: they are called /dev/nbd0 and so on")]
    Name(PathBuf),
    /// It is another array's, or another program's.
    #[error("{device} is {whose}: it is left alone")]
    Foreign {
        /// The device.
        device: PathBuf,
        /// By what the driver says.
        whose: String,
    },
    /// There is nothing to take over.
    #[error("{0} is not connected any more: attach the array anew")]
    Gone(PathBuf),
    /// It is served.
    #[error("{0} still has a process that serves it")]
    Served(PathBuf),
    /// The array is not what it was.
    #[error("{device} has another size than the array: detach it, and attach it anew")]
    Size {
        /// The device.
        device: PathBuf,
    },
    /// It does not show.
    #[error("{device}: the device does not appear: is /dev kept by devtmpfs or udev?")]
    NoDevice {
        /// Its name.
        device: PathBuf,
    },
    /// Sockets or threads are not to be had.
    #[error("sockets for the kernel: {0}")]
    System(#[from] io::Error),
}

fn driver(what: &'static str) -> impl FnOnce(Errno) -> NbdError {
    move |source| NbdError::Driver { what, source }
}

/// Whether the kernel has the driver, and we may use it; an error that says why not.
pub fn probe() -> Result<(), NbdError> {
    open().map(drop)
}

fn open() -> Result<Netlink, NbdError> {
    if !rustix::process::geteuid().is_root() {
        return Err(NbdError::NotRoot);
    }
    Netlink::open().map_err(|errno| match errno {
        Errno::NOENT => NbdError::Missing,
        source => NbdError::Driver { what: "looking for it", source },
    })
}

/// Why a device is not kept any longer.
enum Told {
    /// Somebody wants it to end.
    Stop,
    /// The kernel has left a socket.
    Left,
}

/// Makes a device (or takes over one whose front is gone), tells `ready` its path, and serves it
/// until a message comes over `stop`, or nobody is left who could send one. Told once, it ends when
/// nobody uses the device any more; told again, at once.
pub fn run(
    client: &Client,
    options: &NbdOptions,
    ready: impl FnOnce(&Path),
    stop: Receiver<()>,
) -> Result<(), NbdError> {
    let mut netlink = open()?;
    let (tell, told) = channel();
    let device = match &options.recovered {
        Some(path) => take_over(&mut netlink, client, Device::of(path)?, &tell)?,
        None => make(&mut netlink, client, options, &tell)?,
    };
    forward(stop, tell)?;
    ready(&device.path());
    let served = serve(&device.path(), &told);
    served.and(disconnect(&mut netlink, device, client.description()))
}

/// Takes a device away whose front is gone, if it is that of the export with this description.
pub fn remove(device: &Path, description: &str) -> Result<(), NbdError> {
    disconnect(&mut open()?, Device::of(device)?, description)
}

/// Whether a device is what a front made of the export with this description; false if nothing is
/// connected there.
///
/// # Errors
///
/// It is somebody else's, or none of the driver's.
pub fn is_of(device: &Path, description: &str) -> Result<bool, NbdError> {
    Device::of(device)?.is_of(description)
}

/// Does nothing where nothing is connected any more.
fn disconnect(netlink: &mut Netlink, device: Device, description: &str) -> Result<(), NbdError> {
    if !device.is_of(description)? {
        return Ok(());
    }
    match netlink.ask(Command::Disconnect, &Attributes::default().short(netlink::INDEX, device.0)) {
        // Somebody else was faster.
        Ok(_) | Err(Errno::INVAL | Errno::NODEV) => Ok(()),
        Err(source) => Err(NbdError::Driver { what: "ending the device", source }),
    }
}

/// Has the kernel make a device, and serves it.
fn make(netlink: &mut Netlink, client: &Client, options: &NbdOptions, tell: &Sender<Told>) -> Result<Device, NbdError> {
    let attributes = attributes(client)
        // Not left out: then it would be 30 s.
        .number(netlink::TIMEOUT_S, 0)
        .number(netlink::SIZE_BYTES, client.size_bytes())
        .number(netlink::BLOCK_SIZE_BYTES, options.logical_block_bytes.into())
        .number(netlink::SERVER_FLAGS, flags(client).into());
    let lacks_number = || NbdError::Driver { what: "making a device", source: Errno::PROTO };
    let answer = offer(netlink, Command::Connect, attributes, client, tell)?.ok_or_else(lacks_number)?;
    let index = netlink::find(&answer, netlink::INDEX).and_then(|payload| payload.first_chunk());
    let device = Device(u32::from_ne_bytes(*index.ok_or_else(lacks_number)?));
    let is_there = device.wait_for(client.size_bytes()).and_then(|()| device.look_every(LOOK_DISTANCE));
    if is_there.is_err() {
        // The reason why there is none is what is told.
        let _ = disconnect(netlink, device, client.description());
    }
    is_there.map(|()| device)
}

/// Serves a device whose front is gone. What it is is looked at before: with a socket of another
/// array it would be that array.
fn take_over(netlink: &mut Netlink, client: &Client, device: Device, tell: &Sender<Told>) -> Result<Device, NbdError> {
    if !device.is_of(client.description())? {
        return Err(NbdError::Gone(device.path()));
    }
    if device.size_bytes() != Some(client.size_bytes() / 512 * 512) {
        return Err(NbdError::Size { device: device.path() });
    }
    let attributes = attributes(client).short(netlink::INDEX, device.0);
    let begun = Instant::now();
    // It takes the driver a moment to see that a socket is dead, and until then it has no use for
    // another.
    while offer(netlink, Command::Reconfigure, attributes.clone(), client, tell)?.is_none() {
        if begun.elapsed() > TAKING_PATIENCE {
            return Err(NbdError::Served(device.path()));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(device)
}

/// Offers the kernel one end of a socket pair, and serves the other: the answer to the command, or
/// none if the kernel did not take it, as its own is not dead; it does not say so.
fn offer(
    netlink: &mut Netlink,
    command: Command,
    attributes: Attributes,
    client: &Client,
    tell: &Sender<Told>,
) -> Result<Option<Vec<u8>>, NbdError> {
    let (own, kernels) = UnixStream::pair()?;
    let what = if command == Command::Connect { "making a device" } else { "taking the device over" };
    let answer = netlink.ask(command, &attributes.sockets([kernels.as_fd()])).map_err(driver(what))?;
    drop(kernels);
    let mut file = [PollFd::new(&own, PollFlags::empty())];
    poll(&mut file, Some(&Timespec::default())).map_err(io::Error::from)?;
    if file[0].revents().contains(PollFlags::HUP) {
        return Ok(None);
    }
    let tell = tell.clone();
    // Whoever waits for it may have ended.
    requests::start(own, client.clone(), move || drop(tell.send(Told::Left)))?;
    Ok(Some(answer))
}

/// What both a new device and one that is taken over are told.
fn attributes(client: &Client) -> Attributes {
    let deadline_s = client.deadline().as_secs().max(1);
    Attributes::default()
        .number(netlink::DEAD_CONNECTION_TIMEOUT_S, deadline_s)
        .text(netlink::BACKEND_IDENTIFIER, client.description())
}

/// What the device can do. Zeros are left to the block layer, which writes them in pieces that a
/// deadline can be held for.
fn flags(client: &Client) -> u16 {
    let can = |ability, flag| if client.can(ability) { flag } else { 0 };
    transmission::HAS_FLAGS
        | transmission::CAN_MULTI_CONN
        | if client.is_read_only() { transmission::READ_ONLY } else { 0 }
        | can(Ability::Flush, transmission::SEND_FLUSH)
        | can(Ability::Fua, transmission::SEND_FUA)
        | can(Ability::Discard, transmission::SEND_TRIM)
}

/// Passes on that somebody wants it to end.
fn forward(stop: Receiver<()>, tell: Sender<Told>) -> Result<(), NbdError> {
    let thread = std::thread::Builder::new().name("shoal-nbd-stop".to_owned()).spawn(move || {
        // Whoever can no longer say it is gone, and the device should be, too.
        let _ = stop.recv();
        while tell.send(Told::Stop).is_ok() && stop.recv().is_ok() {}
    });
    thread.map(drop).map_err(NbdError::System)
}

/// Waits until it is to end, and nobody uses the device.
fn serve(device: &Path, told: &Receiver<Told>) -> Result<(), NbdError> {
    match told.recv() {
        Ok(Told::Stop) => {}
        // Somebody else has ended the device.
        Ok(Told::Left) | Err(_) => return Ok(()),
    }
    let exclusive = OFlags::EXCL.bits().cast_signed();
    loop {
        // Opened alone, it is mounted nowhere; and closing it writes back what is left of it in
        // memory.
        match File::options().read(true).custom_flags(exclusive).open(device) {
            Err(error) if error.raw_os_error() == Some(Errno::BUSY.raw_os_error()) => {}
            Err(error) => return Err(error.into()),
            Ok(alone) => return flush(alone, told),
        }
        match told.recv_timeout(PAUSE) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(_) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// Has all of it made durable, which a server that is gone keeps waiting; whoever tells to end once
/// more does not wait for it.
fn flush(alone: File, told: &Receiver<Told>) -> Result<(), NbdError> {
    let (report, reported) = channel();
    let thread = std::thread::Builder::new().name("shoal-nbd-flush".to_owned());
    thread.spawn(move || drop(report.send(alone.sync_all())))?;
    loop {
        match reported.recv_timeout(PAUSE) {
            Ok(flushed) => return flushed.map_err(NbdError::System),
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) if matches!(told.try_recv(), Err(TryRecvError::Empty)) => {}
            Err(RecvTimeoutError::Timeout) => return Ok(()),
        }
    }
}
