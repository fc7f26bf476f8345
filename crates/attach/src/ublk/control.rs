//! Making, starting, taking over and taking away devices.

use std::fs::File;
use std::io;
use std::time::Duration;

use rustix::io::Errno;

use super::kernel::ControlRing;
use super::protocol::{ANY_DEVICE, CommandCode, INFORMATION_BYTES, Information, Parameters};
use super::{UblkError, device_of};

/// How often, and with which pauses, something is tried that takes the kernel a moment: Linux 6.6
/// and older look every five seconds whether a front is gone.
const TRIES: u32 = 150;
const PAUSE: Duration = Duration::from_millis(100);

/// The driver's control device.
pub(super) struct Control {
    ring: ControlRing,
}

impl Control {
    pub(super) fn open() -> Result<Self, UblkError> {
        if cfg!(target_pointer_width = "32") {
            return Err(UblkError::Narrow);
        }
        Ok(Self { ring: ControlRing::open().map_err(UblkError::Missing)? })
    }

    /// Makes a device, which has no disk yet; gives its number.
    pub(super) fn add(&mut self, parameters: &Parameters) -> Result<u32, UblkError> {
        let mut information = Information::new(ANY_DEVICE).bytes();
        self.command("make a device", CommandCode::Add, ANY_DEVICE, 0, &mut information)?;
        let number = Information::parse(&information).device;
        let set =
            self.command("take the array's parameters", CommandCode::SetParameters, number, 0, &mut parameters.bytes());
        if set.is_err() {
            let _ = self.delete(number);
        }
        set.map(|()| number)
    }

    /// Makes the disk. Returns when it is there.
    pub(super) fn start(&mut self, number: u32) -> Result<(), UblkError> {
        self.command("start the device", CommandCode::Start, number, own_process(), &mut [])
    }

    /// Prepares to serve a device whose front is gone, if it is one of this array's.
    pub(super) fn start_recovery(&mut self, number: u32, parameters: &Parameters) -> Result<(), UblkError> {
        let device = device_of(number);
        let information = self.refuse_foreign(number)?;
        let mut known = Parameters::room();
        self.command("tell a device's parameters", CommandCode::Parameters, number, 0, &mut known)?;
        let [device_bytes, array_bytes] = [known, parameters.bytes()].map(|bytes| Parameters::size_bytes_of(&bytes));
        if device_bytes != array_bytes {
            return Err(UblkError::Size { device, device_bytes, array_bytes });
        }
        // It takes the kernel a moment to see that a process is gone.
        for _ in 0..TRIES {
            match self.ring.command(CommandCode::StartRecovery, number, 0, &mut []) {
                Ok(()) => return Ok(()),
                Err(Errno::BUSY) => std::thread::sleep(PAUSE),
                Err(errno) => return Err(UblkError::Command { what: "have a device taken over", errno }),
            }
        }
        Err(UblkError::Served { device, process: information.process })
    }

    /// An error if a device goes on being served, and is none that lost its front.
    pub(super) fn refuse_served(&mut self, number: u32) -> Result<(), UblkError> {
        for _ in 0..TRIES {
            if !self.refuse_foreign(number)?.is_served {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
        Err(UblkError::Served { device: device_of(number), process: self.refuse_foreign(number)?.process })
    }

    /// Lets the requests go that have waited for a front.
    pub(super) fn end_recovery(&mut self, number: u32) -> Result<(), UblkError> {
        self.command("go on with the device", CommandCode::EndRecovery, number, own_process(), &mut [])
    }

    /// Takes the disk away. Returns when all its requests have ended.
    pub(super) fn stop(&mut self, number: u32) -> Result<(), UblkError> {
        self.command("stop the device", CommandCode::Stop, number, 0, &mut [])
    }

    /// Takes the device away, and its disk, if it has one. Returns when nobody has it open.
    pub(super) fn delete(&mut self, number: u32) -> Result<(), UblkError> {
        match self.ring.command(CommandCode::Delete, number, 0, &mut []) {
            // Somebody else was faster.
            Ok(()) | Err(Errno::NODEV) => Ok(()),
            Err(errno) => Err(UblkError::Command { what: "take the device away", errno }),
        }
    }

    /// An error if the device is not there, or not one of ours.
    pub(super) fn refuse_foreign(&mut self, number: u32) -> Result<Information, UblkError> {
        let mut bytes = [0; INFORMATION_BYTES];
        self.command("tell of the device", CommandCode::Information, number, 0, &mut bytes)?;
        let information = Information::parse(&bytes);
        if information.is_like_ours() { Ok(information) } else { Err(UblkError::Foreign(device_of(number))) }
    }

    fn command(
        &mut self,
        what: &'static str,
        code: CommandCode,
        number: u32,
        data: u64,
        buffer: &mut [u8],
    ) -> Result<(), UblkError> {
        self.ring.command(code, number, data, buffer).map_err(|errno| UblkError::Command { what, errno })
    }
}

/// `/dev/ublkcN`, which udev may still be busy with.
pub(super) fn open_character_device(number: u32) -> io::Result<File> {
    let path = format!("/dev/ublkc{number}");
    let mut left = TRIES;
    loop {
        match File::options().read(true).write(true).open(&path) {
            Err(_) if left > 0 => left -= 1,
            result => return result,
        }
        std::thread::sleep(PAUSE);
    }
}

fn own_process() -> u64 {
    u64::from(rustix::process::getpid().as_raw_nonzero().get().unsigned_abs())
}
