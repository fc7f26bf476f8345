//! Groups of fields that belong together.

use crate::field::Field;

/// Where a change of the array's shape is. Kept, and otherwise not understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reshape {
    /// md's number of the new level.
    pub new_level: i32,
    /// The array sector up to which (or down to which) it has come.
    pub position_sectors: u64,
    /// Members more (or less).
    pub delta_devices: i32,
    /// md's number of the new layout.
    pub new_layout: u32,
    /// Sectors of the new chunk.
    pub new_chunk_sectors: u32,
    /// By how much the start of the data moves, with [`crate::Features::NEW_OFFSET`].
    pub new_offset_sectors: i32,
}

impl Field for Reshape {
    const BYTES: usize = 28;

    fn read(bytes: &[u8]) -> Self {
        Self {
            new_level: Field::read(&bytes[..4]),
            position_sectors: Field::read(&bytes[4..12]),
            delta_devices: Field::read(&bytes[12..16]),
            new_layout: Field::read(&bytes[16..20]),
            new_chunk_sectors: Field::read(&bytes[20..24]),
            new_offset_sectors: Field::read(&bytes[24..]),
        }
    }

    fn write(&self, bytes: &mut [u8]) {
        self.new_level.write(&mut bytes[..4]);
        self.position_sectors.write(&mut bytes[4..12]);
        self.delta_devices.write(&mut bytes[12..16]);
        self.new_layout.write(&mut bytes[16..20]);
        self.new_chunk_sectors.write(&mut bytes[20..24]);
        self.new_offset_sectors.write(&mut bytes[24..]);
    }
}

/// Where a member lists the blocks that it cannot store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BadBlockLog {
    /// Entries count in sectors shifted right by this.
    pub shift: u8,
    /// Sectors reserved; 0 if there is no log.
    pub size_sectors: u16,
    /// Where it starts, in sectors from the superblock.
    pub offset_sectors: i32,
}

impl Field for BadBlockLog {
    const BYTES: usize = 7;

    fn read(bytes: &[u8]) -> Self {
        Self {
            shift: Field::read(&bytes[..1]),
            size_sectors: Field::read(&bytes[1..3]),
            offset_sectors: Field::read(&bytes[3..]),
        }
    }

    fn write(&self, bytes: &mut [u8]) {
        self.shift.write(&mut bytes[..1]);
        self.size_sectors.write(&mut bytes[1..3]);
        self.offset_sectors.write(&mut bytes[3..]);
    }
}
