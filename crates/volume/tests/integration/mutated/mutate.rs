//! What is changed on the drives of a set.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use shoal_md::{PPL_HEADER_BYTES, PplHeader, SUPERBLOCK_BYTES};
use shoal_sim::Content;
use shoal_volume::{DriveId, Superblock, read_superblock};

use super::arrays::{DRIVE_BYTES, Set};

/// Where a superblock has fields that are worth more than chance: feature map, array UUID's end,
/// level, size, chunk, members, bitmap, data area, recovery and resync offsets, number, UUID, bad
/// blocks, events, table.
const FIELDS: [(usize, usize); 22] = [
    (8, 4),
    (72, 4),
    (76, 4),
    (80, 8),
    (88, 4),
    (92, 4),
    (96, 4),
    (100, 4),
    (104, 8),
    (128, 8),
    (136, 8),
    (144, 8),
    (152, 8),
    (160, 4),
    (168, 16),
    (184, 1),
    (185, 1),
    (186, 2),
    (188, 4),
    (200, 8),
    (208, 8),
    (220, 4),
];
const TABLE: usize = 256;
const CHECKSUM: usize = 216;
const NUMBER: usize = 160;
const DEVICE_UUID: usize = 168;
const EVENTS: usize = 200;
const MAX_DEV: usize = 220;

struct Chance(Xoshiro256PlusPlus);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        (self.0.next_u64() % limit.max(1) as u64) as usize
    }

    /// A value that somebody may have forgotten, or any.
    fn value(&mut self) -> u64 {
        let any = self.0.next_u64();
        let edges = [0, 1, 2, 3, 4, 127, 1920, 0xfffd, 0xfffe, 0xffff, 0x7fff_ffff, 0xffff_ffff, u64::MAX, any % 64];
        edges.get(self.below(edges.len() + 2)).copied().unwrap_or(any)
    }
}

/// The set of this number, and the drives that are said to be members.
pub(crate) fn mutated(bases: &[Set], seed: u64) -> (Set, Vec<DriveId>) {
    let mut chance = Chance(Xoshiro256PlusPlus::seed_from_u64(seed));
    let mut set = bases[chance.below(bases.len())].clone();
    let mut members: Vec<_> = (0..set.members).collect();
    let spare = set.contents.len() - 1;
    if chance.below(2) == 0 && members.len() == spare {
        stray(&mut set, spare, &mut chance);
        members.push(spare as u32);
    }
    for _ in 0..chance.below(4) {
        let drive = chance.below(members.len());
        let content = &mut set.contents[drive];
        match chance.below(8) {
            0..=4 => change_superblock(content, &mut chance),
            5 => change_areas(content, &mut chance),
            6 => change_log(content, &mut chance),
            _ => scribble(content, &mut chance),
        }
    }
    if chance.below(3) == 0 && members.len() > 1 {
        members.remove(chance.below(members.len()));
    }
    let turns = chance.below(members.len());
    members.rotate_left(turns);
    set.contents.iter_mut().for_each(|content| content.flush().unwrap());
    (set, members.into_iter().map(DriveId).collect())
}

fn superblock(content: &mut Content) -> Option<Superblock> {
    read_superblock(DRIVE_BYTES, |offset, bytes| content.read(offset, bytes)).ok()
}

/// A copy of a member on another drive, under another UUID.
fn stray(set: &mut Set, spare: usize, chance: &mut Chance) {
    let original = chance.below(spare);
    let Some(place) = superblock(&mut set.contents[original]).map(|it| it.super_offset_bytes()) else { return };
    let mut bytes = [0; SUPERBLOCK_BYTES];
    set.contents[original].read(place, &mut bytes).unwrap();
    bytes[DEVICE_UUID] ^= 0x55;
    let number = [u32::MAX, 0x8000_0000, 1920, 7][chance.below(4)];
    if chance.below(4) > 0 {
        bytes[NUMBER..NUMBER + 4].copy_from_slice(&number.to_le_bytes());
    }
    if chance.below(3) == 0 {
        bytes[EVENTS] = bytes[EVENTS].wrapping_add(1 + chance.below(3) as u8);
    }
    seal(&mut bytes);
    set.contents[spare].write(place, &bytes).unwrap();
}

fn change_superblock(content: &mut Content, chance: &mut Chance) {
    let Some(place) = superblock(content).map(|superblock| superblock.super_offset_bytes()) else { return };
    let mut bytes = [0; SUPERBLOCK_BYTES];
    content.read(place, &mut bytes).unwrap();
    for _ in 0..=chance.below(3) {
        let value = chance.value().to_le_bytes();
        if chance.below(3) == 0 {
            let role = TABLE + 2 * chance.below(8);
            bytes[role..role + 2].copy_from_slice(&value[..2]);
        } else {
            let (offset, length) = FIELDS[chance.below(FIELDS.len())];
            let length = length.min(8);
            bytes[offset..offset + length].copy_from_slice(&value[..length]);
        }
    }
    seal(&mut bytes);
    content.write(place, &bytes).unwrap();
}

/// Makes the checksum right.
pub(crate) fn seal(bytes: &mut [u8; SUPERBLOCK_BYTES]) {
    bytes[CHECKSUM..CHECKSUM + 4].fill(0);
    let roles = u32::from_le_bytes(bytes[MAX_DEV..MAX_DEV + 4].try_into().unwrap()) as usize;
    let end = (TABLE + 2 * roles.min(SUPERBLOCK_BYTES)).min(SUPERBLOCK_BYTES);
    let sum: u64 = bytes[..end].chunks(4).map(word).sum();
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    bytes[CHECKSUM..CHECKSUM + 4].copy_from_slice(&sum.to_le_bytes()[..4]);
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// The bitmap, or the bad-block log: header or not.
fn change_areas(content: &mut Content, chance: &mut Chance) {
    let Some(superblock) = superblock(content) else { return };
    let areas = [superblock.bitmap_area(), superblock.bad_block_log_area()];
    let areas: Vec<_> = areas.into_iter().flatten().collect();
    let Some(area) = areas.get(chance.below(areas.len())) else { return };
    for _ in 0..=chance.below(3) {
        let value = chance.value().to_le_bytes();
        let at = (8 * chance.below(40) as u64).min(area.size_bytes.saturating_sub(8));
        content.write(area.offset_bytes + at, &value).unwrap_or(());
    }
}

/// The partial parity log, with a checksum that is right.
fn change_log(content: &mut Content, chance: &mut Chance) {
    let Some((superblock, area)) = superblock(content).and_then(|own| Some((own.clone(), own.ppl_area()?))) else {
        return;
    };
    let mut bytes = [0; PPL_HEADER_BYTES];
    if content.read(area.offset_bytes, &mut bytes).is_err() {
        return;
    }
    let Ok(mut header) = PplHeader::parse(&bytes, superblock.array_uuid) else { return };
    match (chance.below(3), header.entries.first_mut()) {
        (0, _) | (_, None) => header.generation = chance.value(),
        (1, Some(entry)) => entry.data_sector = chance.value(),
        (_, Some(entry)) => {
            let value = chance.value() as u32;
            match chance.below(4) {
                0 => entry.partial_parity_bytes = value,
                1 => entry.data_bytes = value,
                2 => entry.parity_role = value,
                _ => entry.checksum = value,
            }
        }
    }
    let _ = content.write(area.offset_bytes, header.encode(superblock.array_uuid).as_slice());
}

/// Anything, anywhere before the data.
fn scribble(content: &mut Content, chance: &mut Chance) {
    let offset = 512 * chance.below((1 << 20) / 512) as u64;
    let bytes: Vec<u8> = (0..512).map(|_| chance.0.next_u64() as u8).collect();
    content.write(offset, &bytes).unwrap();
}
