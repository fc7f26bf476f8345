//! The driver's words as bytes: `linux/ublk_cmd.h` and the kernel's `Documentation/block/ublk.rst`.
//! No library has these without bindings that a C compiler's front end makes at build time, and
//! they are few.

use rustix::io::Errno;

use crate::limits::PART_BYTES_MAX;

/// Requests under way at once.
pub(super) const DEPTH: u16 = 64;
/// The longest request.
pub(super) const BUFFER_BYTES: u32 = 1 << 20;
/// A device number that the kernel is to choose.
pub(super) const ANY_DEVICE: u32 = u32::MAX;
/// `struct ublksrv_io_desc`.
pub(super) const DESCRIPTOR_BYTES: usize = 24;
/// `struct ublksrv_ctrl_dev_info`.
pub(super) const INFORMATION_BYTES: usize = 64;
/// `struct ublk_params`, up to what is said of discards, and a multiple of eight.
pub(super) const PARAMETER_BYTES: usize = 64;

/// The front may be killed and another take its place, and then gets what was not answered once
/// more: all that we are asked is the same when it is done twice.
pub(super) const FEATURES: u64 = USER_RECOVERY | USER_RECOVERY_REISSUE;
const USER_RECOVERY: u64 = 1 << 3;
const USER_RECOVERY_REISSUE: u64 = 1 << 4;

const READ_ONLY: u32 = 1 << 0;
const VOLATILE_CACHE: u32 = 1 << 2;
const FUA: u32 = 1 << 3;
const BASIC: u32 = 1 << 0;
const DISCARD: u32 = 1 << 1;
/// A device's state, of three: dead, live, and without a front.
const LIVE: u16 = 1;
/// Bytes of the driver's unit.
const SECTOR_BYTES: u64 = 512;

/// What the control device is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandCode {
    Information,
    Add,
    Delete,
    Start,
    Stop,
    SetParameters,
    Parameters,
    StartRecovery,
    EndRecovery,
}

impl CommandCode {
    /// As ioctl(2) numbers, with the size of `struct ublksrv_ctrl_cmd` in them, as since Linux 6.4.
    pub(super) fn number(self) -> u32 {
        const READS: u32 = 2 << 30;
        const READS_AND_WRITES: u32 = 3 << 30;
        let (direction, number) = match self {
            Self::Information => (READS, 0x02),
            Self::Add => (READS_AND_WRITES, 0x04),
            Self::Delete => (READS_AND_WRITES, 0x05),
            Self::Start => (READS_AND_WRITES, 0x06),
            Self::Stop => (READS_AND_WRITES, 0x07),
            Self::SetParameters => (READS_AND_WRITES, 0x08),
            Self::Parameters => (READS, 0x09),
            Self::StartRecovery => (READS_AND_WRITES, 0x10),
            Self::EndRecovery => (READS_AND_WRITES, 0x11),
        };
        direction | 32 << 16 | u32::from(b'u') << 8 | number
    }
}

/// What is said of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IoCode {
    /// Give me a request.
    Fetch,
    /// Here is what came of it; give me another.
    CommitAndFetch,
}

impl IoCode {
    /// With the size of `struct ublksrv_io_cmd` in it.
    pub(super) fn number(self) -> u32 {
        let number = match self {
            Self::Fetch => 0x20,
            Self::CommitAndFetch => 0x21,
        };
        3 << 30 | 16 << 16 | u32::from(b'u') << 8 | number
    }
}

/// `struct ublksrv_ctrl_cmd`, in the room that a ring has for commands.
pub(super) fn control_bytes(device: u32, length: u16, address: u64, data: u64) -> [u8; 80] {
    let mut bytes = [0; 80];
    let no_queue = u16::MAX;
    put(&mut bytes, 0, &device.to_ne_bytes());
    put(&mut bytes, 4, &no_queue.to_ne_bytes());
    put(&mut bytes, 6, &length.to_ne_bytes());
    put(&mut bytes, 8, &address.to_ne_bytes());
    put(&mut bytes, 16, &data.to_ne_bytes());
    bytes
}

/// `struct ublksrv_io_cmd`, of the first queue.
pub(super) fn io_bytes(tag: u16, result: i32, buffer: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    put(&mut bytes, 2, &tag.to_ne_bytes());
    put(&mut bytes, 4, &result.to_ne_bytes());
    put(&mut bytes, 8, &buffer.to_ne_bytes());
    bytes
}

/// What the driver knows of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Information {
    pub(super) depth: u16,
    pub(super) buffer_bytes: u32,
    pub(super) device: u32,
    /// Of the process that serves it, or did.
    pub(super) process: i32,
    /// Whether it is served at this moment, as far as the driver has noticed.
    pub(super) is_served: bool,
    pub(super) features: u64,
}

impl Information {
    pub(super) fn new(device: u32) -> Self {
        let process = rustix::process::getpid().as_raw_nonzero().get();
        Self { depth: DEPTH, buffer_bytes: BUFFER_BYTES, device, process, is_served: false, features: FEATURES }
    }

    pub(super) fn bytes(&self) -> [u8; INFORMATION_BYTES] {
        let mut bytes = [0; INFORMATION_BYTES];
        let queues = 1_u16;
        put(&mut bytes, 0, &queues.to_ne_bytes());
        put(&mut bytes, 2, &self.depth.to_ne_bytes());
        put(&mut bytes, 8, &self.buffer_bytes.to_ne_bytes());
        put(&mut bytes, 12, &self.device.to_ne_bytes());
        put(&mut bytes, 16, &self.process.to_ne_bytes());
        put(&mut bytes, 24, &self.features.to_ne_bytes());
        bytes
    }

    pub(super) fn parse(bytes: &[u8; INFORMATION_BYTES]) -> Self {
        Self {
            depth: u16::from_ne_bytes(take(bytes, 2)),
            is_served: u16::from_ne_bytes(take(bytes, 4)) == LIVE,
            buffer_bytes: u32::from_ne_bytes(take(bytes, 8)),
            device: u32::from_ne_bytes(take(bytes, 12)),
            process: i32::from_ne_bytes(take(bytes, 16)),
            features: u64::from_ne_bytes(take(bytes, 24)),
        }
    }

    /// Whether it is one that we made: another program's has other queues.
    pub(super) fn is_like_ours(&self) -> bool {
        let Self { device, process, is_served, features, .. } = *self;
        *self == Self { device, process, is_served, features, ..Self::new(0) } && self.features & FEATURES == FEATURES
    }
}

/// What the disk is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parameters {
    pub(super) size_bytes: u64,
    /// Powers of two.
    pub(super) logical_block_bytes: u32,
    pub(super) physical_block_bytes: u32,
    pub(super) is_read_only: bool,
    pub(super) can_flush: bool,
    pub(super) can_fua: bool,
    pub(super) can_discard: bool,
    pub(super) can_zero: bool,
}

impl Parameters {
    pub(super) fn bytes(&self) -> [u8; PARAMETER_BYTES] {
        let mut bytes = [0; PARAMETER_BYTES];
        let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
        let attributes =
            flag(self.is_read_only, READ_ONLY) | flag(self.can_flush, VOLATILE_CACHE) | flag(self.can_fua, FUA);
        let types = BASIC | flag(self.can_discard || self.can_zero, DISCARD);
        let shift = |block_bytes: u32| u8::try_from(block_bytes.ilog2()).expect("it is at most 31");
        let [logical, physical] = [shift(self.logical_block_bytes), shift(self.physical_block_bytes)];
        let sectors = |bytes: u32| u32::try_from(u64::from(bytes) / SECTOR_BYTES).expect("it is fewer");
        let whole = self.size_bytes - self.size_bytes % u64::from(self.logical_block_bytes);
        put(&mut bytes, 0, &(PARAMETER_BYTES as u32).to_ne_bytes());
        put(&mut bytes, 4, &types.to_ne_bytes());
        put(&mut bytes, 8, &attributes.to_ne_bytes());
        // Logical and physical blocks, the best and the least I/O.
        put(&mut bytes, 12, &[logical, physical, physical, physical]);
        put(&mut bytes, 16, &sectors(BUFFER_BYTES).to_ne_bytes());
        put(&mut bytes, 24, &(whole / SECTOR_BYTES).to_ne_bytes());
        let range = |is_possible: bool| if is_possible { sectors(PART_BYTES_MAX) } else { 0 };
        put(&mut bytes, 44, &self.physical_block_bytes.to_ne_bytes());
        put(&mut bytes, 48, &range(self.can_discard).to_ne_bytes());
        put(&mut bytes, 52, &range(self.can_zero).to_ne_bytes());
        let segments = 1_u16;
        put(&mut bytes, 56, &segments.to_ne_bytes());
        bytes
    }

    /// Room for the kernel's answer, with its length in it.
    pub(super) fn room() -> [u8; PARAMETER_BYTES] {
        let mut bytes = [0; PARAMETER_BYTES];
        put(&mut bytes, 0, &(PARAMETER_BYTES as u32).to_ne_bytes());
        bytes
    }

    /// How large a disk of these parameters is.
    pub(super) fn size_bytes_of(bytes: &[u8; PARAMETER_BYTES]) -> u64 {
        u64::from_ne_bytes(take(bytes, 24)).saturating_mul(SECTOR_BYTES)
    }
}

/// What a request wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write { fua: bool },
    Flush,
    Discard,
    Zeroes { may_discard: bool },
}

/// A request. `kind` is none if it is of a kind that we have not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Descriptor {
    pub(super) kind: Option<Kind>,
    pub(super) offset: u64,
    pub(super) length: u32,
}

impl Descriptor {
    /// `struct ublksrv_io_desc` as three words: two of 32 bits (flags over the operation, and
    /// sectors), the first sector, and an address.
    pub(super) fn parse(words: [u64; DESCRIPTOR_BYTES / 8]) -> Self {
        let first = words[0].to_ne_bytes();
        let (flags, sectors) = (u32::from_ne_bytes(take(&first, 0)), u32::from_ne_bytes(take(&first, 4)));
        let [fua, keeps_room] = [flags & 1 << 13 != 0, flags & 1 << 15 != 0];
        let kind = match flags & 0xff {
            0 => Some(Kind::Read),
            1 => Some(Kind::Write { fua }),
            2 => Some(Kind::Flush),
            3 => Some(Kind::Discard),
            5 => Some(Kind::Zeroes { may_discard: !keeps_room }),
            _ => None,
        };
        let length = u64::from(sectors) * SECTOR_BYTES;
        Self {
            kind: kind.filter(|_| u32::try_from(length).is_ok()),
            offset: words[1].saturating_mul(SECTOR_BYTES),
            length: u32::try_from(length).unwrap_or(0),
        }
    }
}

/// The result of a failed request. The block layer knows a handful of errors, and tries some of the
/// others again and again or lets them hang: what is not sure to end a request is an I/O error.
pub(super) fn failure(errno: Errno) -> i32 {
    const ENDING: [Errno; 4] = [Errno::TIMEDOUT, Errno::NOSPC, Errno::OPNOTSUPP, Errno::IO];
    -ENDING.into_iter().find(|&known| known == errno).unwrap_or(Errno::IO).raw_os_error()
}

fn put(bytes: &mut [u8], at: usize, what: &[u8]) {
    bytes[at..at + what.len()].copy_from_slice(what);
}

fn take<const LENGTH: usize>(bytes: &[u8], at: usize) -> [u8; LENGTH] {
    bytes[at..at + LENGTH].try_into().expect("it is so long")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_kernels_header() {
        // As a C compiler makes them of linux/ublk_cmd.h.
        assert_eq!(CommandCode::Information.number(), 0x8020_7502);
        assert_eq!(CommandCode::Add.number(), 0xc020_7504);
        assert_eq!(CommandCode::Parameters.number(), 0x8020_7509);
        assert_eq!(CommandCode::EndRecovery.number(), 0xc020_7511);
        assert_eq!(IoCode::Fetch.number(), 0xc010_7520);
        assert_eq!(IoCode::CommitAndFetch.number(), 0xc010_7521);
    }

    #[test]
    fn a_device_is_known_again_by_what_it_was_made_with() {
        let ours = Information::new(3);
        let parsed = Information::parse(&ours.bytes());
        assert_eq!(parsed, ours);
        // The driver adds features of its own.
        assert!(Information { features: FEATURES | 1 << 6, process: 1, ..parsed }.is_like_ours());
        assert!(!Information { features: USER_RECOVERY, ..parsed }.is_like_ours());
        assert!(!Information { depth: 128, ..parsed }.is_like_ours());
    }

    #[test]
    fn a_disk_has_whole_blocks_only() {
        let parameters = Parameters {
            size_bytes: (1 << 30) + 5000,
            logical_block_bytes: 4096,
            physical_block_bytes: 4096,
            is_read_only: false,
            can_flush: true,
            can_fua: true,
            can_discard: true,
            can_zero: true,
        };
        let bytes = parameters.bytes();
        assert_eq!(Parameters::size_bytes_of(&bytes), (1 << 30) + 4096);
        assert_eq!(bytes[12..16], [12; 4]);
        assert_eq!(u32::from_ne_bytes(take(&bytes, 4)), BASIC | DISCARD);
        let neither = Parameters { can_discard: false, can_zero: false, ..parameters };
        assert_eq!(u32::from_ne_bytes(take(&neither.bytes(), 4)), BASIC);
    }

    #[test]
    fn requests_are_read_as_the_driver_writes_them() {
        let words = |flags: u32, sectors: u32| {
            let mut first = [0; 8];
            put(&mut first, 0, &flags.to_ne_bytes());
            put(&mut first, 4, &sectors.to_ne_bytes());
            [u64::from_ne_bytes(first), 8, 0]
        };
        let parsed = |flags, sectors| Descriptor::parse(words(flags, sectors));
        assert_eq!(parsed(0, 8), Descriptor { kind: Some(Kind::Read), offset: 4096, length: 4096 });
        assert_eq!(parsed(1 | 1 << 13, 1).kind, Some(Kind::Write { fua: true }));
        assert_eq!(parsed(1, 1).kind, Some(Kind::Write { fua: false }));
        assert_eq!(parsed(2, 0).kind, Some(Kind::Flush));
        assert_eq!(parsed(5 | 1 << 15, 1).kind, Some(Kind::Zeroes { may_discard: false }));
        assert_eq!(parsed(13, 1).kind, None);
        assert_eq!(parsed(3, u32::MAX).kind, None);
    }

    #[test]
    fn every_failure_ends_its_request() {
        assert_eq!(failure(Errno::TIMEDOUT), -110);
        assert_eq!(failure(Errno::NOSPC), -28);
        // Those would be tried again, or mean something else to the driver.
        for errno in
            [Errno::AGAIN, Errno::NODEV, Errno::INTR, Errno::NOMEM, Errno::BUSY, Errno::from_raw_os_error(4000)]
        {
            assert_eq!(failure(errno), -5, "{errno}");
        }
    }
}
