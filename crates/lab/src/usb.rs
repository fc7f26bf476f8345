//! USB sticks on several buses under a real kernel: pulled, plugged back, and never faster than
//! they are told to be.
//!
//! [`UsbLab`] finds QEMU and a kernel, and [`UsbLab::boot`] starts a machine in some ten seconds,
//! without root. It emulates every instruction, so what is bound by the processor says nothing
//! there. What is bound by a [`Stick`] does: its throttle goes by the clock.
//!
//! - The guest's root lies in its memory: busybox, mdadm, and programs of the host with their
//!   libraries. Nothing of the host is shared but the sticks' images.
//! - `stick SERIAL...` in a script gives devices by serial numbers ([`Stick::serial`]), as names
//!   follow from the order of plugging.
//! - [`UsbGuest::pull`] and [`UsbGuest::plug`] do what a hand would do, at any time.
//! - [`UsbLab::boot_from`] starts a machine that finds its root file system on the sticks by
//!   itself.

mod archive;
pub(crate) mod machine;
mod qmp;

use std::io;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::places::program;
use crate::{Guest, GuestError, Missing};
use machine::Parts;
use qmp::Control;

/// Sticks that one bus takes: the ports of an EHCI controller.
pub const PORTS: usize = 6;
const PRELUDE: &str = include_str!("usb/prelude.sh");
/// What looks for a root file system.
const INITRAMFS: &str = include_str!("usb/initramfs.sh");

/// Everything that a machine with USB buses is made from.
#[derive(Clone, Debug)]
pub struct UsbLab {
    parts: Parts,
    mdadm: PathBuf,
}

/// A USB 2.0 mass-storage stick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stick {
    /// Its content, an absolute path.
    pub image: PathBuf,
    /// The bus that it is plugged into, from 0.
    pub bus: usize,
    /// How fast it may be; as fast as the machine emulates it without.
    pub limits: Option<Limits>,
}

/// Rates at which a bucket leaks that holds a tenth of a second's worth: I/O waits while it is
/// full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For reads.
    pub read_bytes_per_s: u64,
    /// For writes.
    pub write_bytes_per_s: u64,
}

/// A machine that runs. Dropping it cuts its power.
#[derive(Debug)]
pub struct UsbGuest {
    guest: Guest,
    control: Control,
    sticks: Vec<Stick>,
    /// The root, the control socket, and what the kernel says.
    _directory: TempDir,
}

impl Stick {
    /// The serial number of the stick of this number.
    pub fn serial(number: usize) -> String {
        format!("STICK{number}")
    }
}

impl UsbLab {
    /// Finds all that is needed, or says what is missing.
    pub fn find() -> Result<Self, Missing> {
        let mdadm = program("mdadm").ok_or_else(|| Missing("mdadm".to_owned()))?;
        Ok(Self { parts: Parts::find(&machine::USB)?, mdadm })
    }

    /// Starts a machine with these sticks, and waits until it has found them and takes scripts.
    /// `programs`, absolute paths, are there at the same paths.
    pub fn boot(&self, sticks: &[Stick], programs: &[PathBuf]) -> Result<UsbGuest, GuestError> {
        // Elsewhere paths may be longer than the name of a socket.
        let directory = tempfile::tempdir()?;
        let programs: Vec<_> = programs.iter().chain([&self.mdadm]).cloned().collect();
        std::fs::write(directory.path().join("root"), self.parts.root(&programs, sticks.len())?)?;
        let buses = sticks.iter().map(|stick| stick.bus + 1).max().unwrap_or(1);
        let guest = self.parts.boot(directory.path(), buses, sticks, PRELUDE)?;
        let control = Control::connect(&directory.path().join("control"))?;
        Ok(UsbGuest { guest, control, sticks: sticks.to_vec(), _directory: directory })
    }
}

impl UsbLab {
    /// Starts a machine whose root file system is on an array of its sticks: from memory it loads
    /// what drives and md need, assembles what `mdadm_conf` names, as mdadm's own hook for an
    /// initramfs does, and hands over to `/sbin/init` on `/dev/md/ROOT`. Gives what was said on the
    /// console until the machine was switched off, which is to take no longer than five minutes.
    pub fn boot_from(&self, sticks: &[Stick], mdadm_conf: &str, root: &str) -> Result<Vec<String>, GuestError> {
        let directory = tempfile::tempdir()?;
        let settings = format!("#!/bin/sh\nROOT=/dev/md/{root} MDADM_CONF='{mdadm_conf}'\n");
        let init = INITRAMFS.replacen("#!/bin/sh\n", &settings, 1);
        let archive = self.parts.root_with(&init, std::slice::from_ref(&self.mdadm), sticks.len())?;
        std::fs::write(directory.path().join("root"), archive)?;
        let buses = sticks.iter().map(|stick| stick.bus + 1).max().unwrap_or(1);
        let process = self.parts.start(directory.path(), buses, sticks)?;
        let mut lines = Guest::until_off(process, "booting from an array")?;
        // What the kernel says by itself is bad news.
        let said = std::fs::read_to_string(directory.path().join("kernel.log")).unwrap_or_default();
        lines.extend(said.lines().map(|line| format!("kernel: {line}")));
        Ok(lines)
    }
}

impl UsbGuest {
    /// What runs scripts.
    pub fn shell(&mut self) -> &mut Guest {
        &mut self.guest
    }

    /// Pulls a stick out, whatever it is at.
    pub fn pull(&mut self, number: usize) -> io::Result<()> {
        self.control.command(&format!(r#"{{"execute":"device_del","arguments":{{"id":"stick{number}"}}}}"#))
    }

    /// Plugs a stick back into its bus, with the content that it had.
    pub fn plug(&mut self, number: usize) -> io::Result<()> {
        let device = self.sticks[number].device(number);
        self.control.command(&format!(r#"{{"execute":"device_add","arguments":{device}}}"#))
    }
}
