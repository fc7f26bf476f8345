//! How an attachment is at this moment: whether what its record names is still the array's, and who
//! serves it.
//!
//! A record is a file, and what it names are names: `/dev/loop0` is whatever got that number last.
//! So before a device is shown, mounted, formatted or let go of, it is looked at:
//!
//! | device | it is the array's if |
//! | --- | --- |
//! | loop | it is a loop device of the array's file, and the kernel's number of the disk (`diskseq`) is the recorded one |
//! | nbd | the driver's identifier is the server's description of the array |
//! | ublk | the kernel's number of the disk is the recorded one |
//! | the file alone | a FUSE file system is mounted where it lies, a directory of this array's own |
//!
//! A device that is not is *gone*: the next `attach` or `mount` makes another, and what is at its
//! name now is left alone. Who is about to use a device holds it open meanwhile
//! ([`Attachment::hold`]): the kernel gives its number to nobody else as long as somebody has it
//! open.

use std::fs::File;
use std::path::Path;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shoal_drive::{disk_sequence, mounts};

use super::attachment::Attachment;
use super::error::RecordError;
use super::method::Method;
use super::process::ProcessDocument;
use crate::{LoopDevice, kernel_nbd};

/// Whether an attached device can be used now, and if not, which part of it is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It can be used.
    Served,
    /// No process runs the array: requests wait for one until their deadline.
    ServerGone,
    /// A signal has stopped the process that keeps the device: requests wait until it is let go on.
    FrontStopped,
    /// No process keeps the device.
    FrontGone,
    /// There is no such device, or it is not this array's any more.
    Gone,
}

/// A device that is held open, and is the array's.
#[derive(Debug)]
pub struct Held(#[expect(dead_code, reason = "held")] File);

impl Attachment {
    /// How it is now. Nothing is read from the device.
    pub fn standing(&self) -> Standing {
        if !self.is_there() {
            Standing::Gone
        } else if !self.has_front() {
            Standing::FrontGone
        } else if !self.has_server() {
            Standing::ServerGone
        } else if self.front.is_stopped() {
            Standing::FrontStopped
        } else {
            Standing::Served
        }
    }

    /// Whether it is there, and served or about to be: by the process that takes the place of one
    /// that was killed.
    pub fn is_alive(&self) -> bool {
        self.has_front() && self.is_there()
    }

    /// Whether it is what is at `device` now.
    pub fn is_at(&self, device: &Path) -> bool {
        self.device == device && self.is_there()
    }

    /// Opens the device; an error if it is not the array's.
    pub fn hold(&self) -> Result<Held, RecordError> {
        let file = File::open(&self.device);
        let file = file.map_err(|error| RecordError::File { path: self.device.clone(), error })?;
        if !self.is_there() {
            return Err(RecordError::NotTheArray { name: self.name.clone(), device: self.device.clone() });
        }
        Ok(Held(file))
    }

    /// Whether somebody listens where the front looks for the array's server. Never waited for: a
    /// server that stands still has a queue that fills.
    pub fn has_server(&self) -> bool {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let connected = SocketAddrUnix::new(&self.socket).and_then(|address| {
            let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            connect(&socket, &address)
        });
        matches!(connected, Ok(()) | Err(Errno::AGAIN))
    }

    fn has_front(&self) -> bool {
        self.front.is_alive() || self.successor.is_some_and(ProcessDocument::is_alive)
    }

    /// Whether what the record names is the array's.
    pub fn is_there(&self) -> bool {
        let is_same_disk = || self.disk_sequence.is_none_or(|recorded| disk_sequence(&self.device) == Some(recorded));
        match (self.method, &self.file) {
            (Method::Fuse, None) => is_shown(&self.device),
            (Method::Fuse, Some(file)) => LoopDevice::find(&self.device, file).is_some() && is_same_disk(),
            (Method::Nbd, _) => {
                let is_of = |description: &String| kernel_nbd::is_of(&self.device, description).unwrap_or(false);
                self.description.as_ref().is_some_and(is_of)
            }
            (Method::Ublk, _) => self.device.exists() && is_same_disk(),
        }
    }
}

/// Whether the file of a front is there, which nobody is asked for: a dead one would not answer.
fn is_shown(file: &Path) -> bool {
    let is_its = |place: &Path| file.parent() == Some(place);
    mounts().is_ok_and(|mounts| mounts.iter().any(|mount| mount.kind.starts_with("fuse") && is_its(&mount.place)))
}
