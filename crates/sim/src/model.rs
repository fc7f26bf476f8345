//! What a simulated drive, bus and host are made of: plain numbers, all of them integers.

use crate::Scheduler;

/// A value for reads and one for writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerDirection<T> {
    /// For reads.
    pub read: T,
    /// For writes.
    pub write: T,
}

/// A model of drive: what all drives of one make have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriveModel {
    /// What it is called in `sim:NAME`: lowercase words joined by hyphens.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// Capacity.
    pub size_bytes: u64,
    /// Smallest unit of I/O.
    pub logical_block_bytes: u32,
    /// The bus that it is plugged into unless told otherwise.
    pub bus: BusKind,
    /// What one command costs beside moving its data: two thirds before the data, one third after.
    pub command_ns: PerDirection<u64>,
    /// The unit that moves between the medium and the bus.
    pub page_bytes: u32,
    /// Pages that can wait between the two; at least 1.
    pub page_buffers: u32,
    /// Whether a write ends only when its last page is on the medium.
    pub write_through: bool,
    /// Commands that the drive can hold at a time and choose from (NCQ): at least 1, which is all
    /// that Bulk-Only Transport and parallel ATA know.
    pub queued_commands: u32,
    /// What keeps the data.
    pub medium: Medium,
    /// If it has less than the capacity that it claims.
    pub fake: Option<Fake>,
}

/// How a drive lies about its capacity. What is written beyond the real end is lost without an
/// error (*limbo*), unless addresses repeat: then it lands on what was written elsewhere
/// (*wraparound*, if they repeat at the real end), or some of it does and some is lost (*chain*, if
/// they repeat further on). What is lost reads zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fake {
    /// What it really keeps: the first bytes. A multiple of 4 KiB.
    pub real_bytes: u64,
    /// Addresses are taken modulo this, if they repeat. A multiple of 4 KiB, at least `real_bytes`.
    pub repeat_bytes: Option<u64>,
    /// So much of what was written last reads back right all the same.
    pub cache_bytes: u64,
}

/// What keeps the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Medium {
    /// Sticks, cards, SSDs.
    Flash(Flash),
    /// Rotating disks.
    Disk(Disk),
}

/// Flash memory behind a small controller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flash {
    /// How fast pages are read and programmed.
    pub bytes_per_s: PerDirection<u64>,
    /// What a command costs that does not continue the one before.
    pub random_ns: PerDirection<u64>,
    /// Pauses that come back.
    pub stalls: Vec<Stall>,
    /// How it copes with writes in several places.
    pub allocation: Option<AllocationUnits>,
    /// Room that takes writes faster, until it is full.
    pub fast_area: Option<FastArea>,
    /// How often a block can be written; what the maker or a source of its kind says.
    pub program_erase_cycles: Option<u32>,
}

/// A pause after every so many write commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// It comes after every so many write commands; at least 1.
    pub every_writes: u32,
    /// How long it is.
    pub duration_ns: u64,
    /// How many write commands of the first round are taken as done.
    pub phase_writes: u32,
}

/// The unit in which a flash controller keeps track of where data are: only a few can be open for
/// writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocationUnits {
    /// Size of one.
    pub unit_bytes: u64,
    /// How many can be open.
    pub open_units: u32,
    /// How fast the rest of a unit is copied when it is closed early.
    pub copy_bytes_per_s: u64,
}

/// Cells used at one bit each (pseudo-SLC): fast until full, emptied when idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastArea {
    /// What it holds.
    pub size_bytes: u64,
    /// How fast it takes writes.
    pub write_bytes_per_s: u64,
    /// How fast it is emptied while the drive is idle.
    pub drain_bytes_per_s: u64,
}

/// A rotating disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    /// From the outermost to the innermost; the first begins at 0.
    pub zones: Vec<Zone>,
    /// Seek to the neighbouring track.
    pub track_seek_ns: u64,
    /// Mean over seeks between random places: a third of the full stroke.
    pub average_seek_ns: u64,
    /// Seek over the whole disk.
    pub full_seek_ns: u64,
    /// One turn.
    pub rotation_ns: u64,
}

/// Tracks of one density.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Its first byte.
    pub start_byte: u64,
    /// How fast it passes under the head.
    pub bytes_per_s: u64,
}

/// The kinds of bus. What each can carry is in `bus.rs`, with its sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BusKind {
    /// USB 2.0 at high speed: packets of 512 bytes in microframes; drives that wait are polled.
    Usb2,
    /// USB 3 at 5 Gbit/s.
    Usb3,
    /// PCI, 32 bit at 33 MHz.
    Pci,
    /// Parallel ATA at 133 MB/s.
    Ata133,
    /// SATA at 3 Gbit/s.
    Sata3,
    /// SATA at 6 Gbit/s.
    Sata6,
    /// A network of 1 Gbit/s, as TCP payload.
    GigabitNetwork,
    /// A network of 100 Mbit/s, as TCP payload.
    FastNetwork,
    /// Nothing that holds a drive back.
    Direct,
}

/// One bus, and what it hangs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bus {
    /// Its kind.
    pub kind: BusKind,
    /// The bus that carries all of its traffic too, by index: ATA channels on PCI, a hub's port on
    /// its root.
    pub upstream: Option<usize>,
}

/// Drives on buses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// The buses. An upstream bus comes before those that hang on it.
    pub buses: Vec<Bus>,
    /// The drives, and the index of each one's bus.
    pub drives: Vec<(DriveModel, usize)>,
}

/// The computer, as far as it bears on member I/O.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostModel {
    /// Requests that follow each other are merged up to this, larger ones are split. The bus of a
    /// drive may allow less ([`BusKind::max_request_bytes`]).
    pub max_request_bytes: u32,
    /// I/O reaches a drive's queue in pieces of this: a page for buffered I/O on a block device of
    /// old kernels, 1 MiB (256 pages) for direct I/O. Pieces are merged, never divided.
    pub piece_bytes: u32,
    /// What a read-ahead window loses between the end of one and the start of the next.
    pub turn_ns: u64,
    /// Work of the processor per request; it is at one request at a time.
    pub request_ns: u64,
    /// Read-ahead of a drive.
    pub read_ahead_bytes: u32,
    /// Dirty pages that may be left in memory.
    pub dirty_bytes: u64,
    /// In which order requests go out to a drive that takes one at a time.
    pub scheduler: Scheduler,
}

impl Default for HostModel {
    /// Linux on a computer whose own work does not show: requests of at most 2560 sectors
    /// (`BLK_DEF_MAX_SECTORS`), 256 pages to a piece (`BIO_MAX_VECS`), 128 KiB of read-ahead,
    /// nothing left dirty.
    fn default() -> Self {
        Self {
            max_request_bytes: 2560 * 512,
            piece_bytes: 256 * 4096,
            turn_ns: 0,
            request_ns: 0,
            read_ahead_bytes: 128 << 10,
            dirty_bytes: 0,
            scheduler: Scheduler::Deadline,
        }
    }
}
