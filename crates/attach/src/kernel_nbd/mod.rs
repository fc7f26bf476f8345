//! An array as a device of the kernel's nbd driver, for kernels that have no ublk.
//!
//! ```text
//!  file system ─► block layer ─► nbd ═ socket pairs ═ this process ─► Client ─► server
//! ```
//!
//! # Why the kernel does not talk to the server itself
//!
//! It could: a socket on which hands have been shaken is handed to the driver, and when the server was restarted another one. What
//! the driver does in between is the trouble. When a socket ends it leaves requests that were sent on it where they are until
//! their own timeout, so a restart of a second costs as long as the slowest request may ever take; a read that the end cuts in the middle of
//! its payload fails at once where there is but one socket; and the timeout itself ends a connection to a server that is
//! alive and slow. Here the driver talks to this process, whose sockets do not end, and [`crate::Client`] does the waiting: it
//! asks again within milliseconds of the server's return, and answers everything within the deadline. The price is a copy of the content
//! through this process.
//!
//! # When something is killed
//!
//! | killed | the device |
//! | --- | --- |
//! | the server | stays; requests wait for it, and fail after the deadline |
//! | this process | stays: new requests wait for [`run`] with the device to recover (`NBD_CMD_RECONFIGURE`), for the deadline; what it had not answered is sent to its successor, or fails, when the driver's own timeout is over ([`MARGIN_S`] after the deadline) |
//!
//! The driver's timeout must not be 0, with which it waits for ever, nor left out, which means 30 s and then a dead device, server or no
//! server. Two sockets, as with one the driver fails reads instead of moving them.

mod netlink;
mod requests;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::io::Errno;
use shoal_serve::protocol::transmission;
use thiserror::Error;

use crate::{Ability, Client};
use netlink::{Attributes, Command, Netlink};

/// Socket pairs with the kernel.
const CONNECTIONS: usize = 2;
/// The driver's own timeout is so much longer than the deadline: only a process that is gone ever meets it.
pub const MARGIN_S: u64 = 30;
/// How long the device may take to show.
const DEVICE_PATIENCE: Duration = Duration::from_secs(60);
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

/// Makes a device (or takes over one whose front is gone), tells `ready` its path, and serves it until a message comes over `stop`, or
/// nobody is left who could send one. Told once, it ends when nobody uses the device any more; told again, at once.
pub fn run(
    client: &Client,
    options: &NbdOptions,
    ready: impl FnOnce(&Path),
    stop: Receiver<()>,
) -> Result<(), NbdError> {
    let mut netlink = open()?;
    let (tell, told) = channel();
    let (device, index) = start(&mut netlink, client, options, &tell)?;
    forward(stop, tell)?;
    let served = wait_for(&device, client.size_bytes()).and_then(|()| {
        ready(&device);
        serve(&device, &told)
    });
    // Where the kernel has left by itself, there is nothing to undo.
    let gone = netlink.ask(Command::Disconnect, &Attributes::default().short(netlink::INDEX, index));
    match gone {
        Ok(_) | Err(Errno::INVAL | Errno::NODEV) => served,
        Err(source) => served.and(Err(NbdError::Driver { what: "ending the device", source })),
    }
}

/// Takes a device away whose front is gone.
pub fn remove(device: &Path) -> Result<(), NbdError> {
    let attributes = Attributes::default().short(netlink::INDEX, index_of(device)?);
    match open()?.ask(Command::Disconnect, &attributes) {
        Ok(_) | Err(Errno::INVAL | Errno::NODEV) => Ok(()),
        Err(source) => Err(NbdError::Driver { what: "ending the device", source }),
    }
}

/// Hands the kernel its sockets, and serves them.
fn start(
    netlink: &mut Netlink,
    client: &Client,
    options: &NbdOptions,
    tell: &Sender<Told>,
) -> Result<(PathBuf, u32), NbdError> {
    let mut kernels = Vec::new();
    for _ in 0..CONNECTIONS {
        let (own, kernel) = UnixStream::pair()?;
        let tell = tell.clone();
        // Whoever waits for it may have ended.
        requests::start(own, client.clone(), move || drop(tell.send(Told::Left)))?;
        kernels.push(kernel);
    }
    let attributes = attributes(client).sockets(kernels.iter().map(AsFd::as_fd));
    if let Some(device) = &options.recovered {
        let index = index_of(device)?;
        let attributes = attributes.short(netlink::INDEX, index);
        netlink.ask(Command::Reconfigure, &attributes).map_err(driver("taking the device over"))?;
        return Ok((device.clone(), index));
    }
    let attributes = attributes
        .number(netlink::SIZE_BYTES, client.size_bytes())
        .number(netlink::BLOCK_SIZE_BYTES, options.logical_block_bytes.into())
        .number(netlink::SERVER_FLAGS, flags(client).into());
    let answer = netlink.ask(Command::Connect, &attributes).map_err(driver("making a device"))?;
    let index = netlink::find(&answer, netlink::INDEX).and_then(|payload| payload.first_chunk());
    let index = u32::from_ne_bytes(*index.ok_or(NbdError::Driver { what: "making a device", source: Errno::PROTO })?);
    Ok((PathBuf::from(format!("/dev/nbd{index}")), index))
}

/// What both a new device and one that is taken over are told.
fn attributes(client: &Client) -> Attributes {
    let deadline_s = client.deadline().as_secs().max(1);
    let attributes = Attributes::default()
        .number(netlink::TIMEOUT_S, deadline_s + MARGIN_S)
        .number(netlink::DEAD_CONNECTION_TIMEOUT_S, deadline_s);
    // By this a kernel that knows it refuses to be taken over with another array.
    attributes.text(netlink::BACKEND_IDENTIFIER, client.description())
}

/// What the device can do. Zeros are left to the block layer, which writes them in pieces that a deadline can be held for.
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
    let mut sockets = CONNECTIONS;
    loop {
        match told.recv() {
            Ok(Told::Left) if sockets > 1 => sockets -= 1,
            Ok(Told::Stop) => break,
            // Somebody else has ended the device.
            Ok(Told::Left) | Err(_) => return Ok(()),
        }
    }
    let exclusive = OFlags::EXCL.bits().cast_signed();
    loop {
        // Opened alone, it is mounted nowhere; and closing it writes back what is left of it in memory.
        match File::options().read(true).custom_flags(exclusive).open(device) {
            Err(error) if error.raw_os_error() == Some(Errno::BUSY.raw_os_error()) => {}
            Err(error) => return Err(error.into()),
            Ok(alone) => return alone.sync_all().map_err(NbdError::System),
        }
        match told.recv_timeout(PAUSE) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(_) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// Waits until the device is there, with its size.
fn wait_for(device: &Path, size_bytes: u64) -> Result<(), NbdError> {
    let begun = Instant::now();
    let name = device.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let size = format!("/sys/class/block/{name}/size");
    let has_size = || std::fs::read_to_string(&size).is_ok_and(|text| text.trim().parse() == Ok(size_bytes / 512));
    while !has_size() || !device.exists() {
        if begun.elapsed() > DEVICE_PATIENCE {
            return Err(NbdError::NoDevice { device: device.to_owned() });
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

fn index_of(device: &Path) -> Result<u32, NbdError> {
    let number = device.file_name().and_then(|name| name.to_str()?.strip_prefix("nbd")?.parse().ok());
    number.ok_or_else(|| NbdError::Name(device.to_owned()))
}
