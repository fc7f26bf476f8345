//! A write journal is replayed, and power is cut at every place; drives die meanwhile.
//!
//! The log is made here, entry by entry, as Linux writes it; `needs_kernel_journal` has the same
//! from Linux itself.

use shoal_drive::DriveId;
use shoal_md::{Features, JOURNAL_BLOCK_BYTES, Journal, SECTOR_BYTES};
use shoal_volume::transfer::{read_to, write_from};
use shoal_volume::{
    ArrayVolume, BufferPlan, Health, ManageError, OpenError, OpenOptions, Superblock, Volume, read_superblock,
};

use crate::support::create_options;

use crate::mutated::mutate::seal;
use crate::power_cuts::content::Expected;
use crate::power_cuts::cut::{Cursor, Fate};
use crate::power_cuts::media::Media;
use crate::power_cuts::random::Random;
use crate::power_cuts::trace::{Number, Trace};
use crate::power_cuts::world::TracedWorld;

const DRIVE_BYTES: u64 = 2 << 20;
const MEMBERS: usize = 3;
/// The drive behind the members.
const JOURNAL: usize = MEMBERS;
const CHUNK_BYTES: u32 = 16 << 10;
const BLOCK: usize = JOURNAL_BLOCK_BYTES;

/// Members, and a journal that holds what they lack.
struct Killed {
    media: Vec<Media>,
    /// What was acknowledged, from the start of the content.
    content: Vec<u8>,
}

fn world(media: Vec<Media>, trace: Trace) -> (TracedWorld, BufferPlan) {
    let plan = BufferPlan::for_drives(media.len(), 8, 32 << 10);
    let arena = plan.arena().unwrap();
    (TracedWorld::new(media, DRIVE_BYTES, arena, 5, trace), plan)
}

fn all() -> Vec<DriveId> {
    (0..=JOURNAL as u32).map(DriveId).collect()
}

fn superblock(media: &Media) -> Superblock {
    let read = |offset, bytes: &mut [u8]| {
        media.read(offset, bytes);
        Ok::<_, ()>(())
    };
    read_superblock(DRIVE_BYTES, read).unwrap()
}

/// Writes a superblock in whose table the journal has its number.
fn write_superblock(media: &mut Media, superblock: &Superblock) {
    const MAX_DEV: usize = 220;
    const TABLE: usize = 256;
    let mut bytes = superblock.encode();
    bytes[MAX_DEV..MAX_DEV + 4].copy_from_slice(&(JOURNAL as u32 + 1).to_le_bytes());
    bytes[TABLE + 2 * JOURNAL..][..2].copy_from_slice(&0xfffd_u16.to_le_bytes());
    seal(&mut bytes);
    media.write(superblock.super_offset_bytes(), bytes.as_slice());
}

/// A log as it is written.
struct Log {
    journal: Journal,
    origin_bytes: u64,
    media: Media,
    sector: u64,
    sequence: u64,
}

impl Log {
    fn checksum(&self, bytes: &[u8]) -> u32 {
        !crc32c::crc32c_append(crc32c::crc32c(&self.journal.array_uuid.0), bytes)
    }

    /// A meta block with these entries: kind (0 data, 1 parity), sector, the block.
    fn append(&mut self, entries: &[(u16, u64, &[u8])]) {
        const BLOCK_SECTORS: u64 = BLOCK as u64 / SECTOR_BYTES;
        let mut meta = self.journal.empty_block(self.sector, self.sequence);
        let mut size = 32;
        let place = |sector: u64| self.origin_bytes + sector * SECTOR_BYTES;
        let mut at = self.sector + BLOCK_SECTORS;
        for (kind, sector, block) in entries {
            let head = [&kind.to_le_bytes()[..], &[0; 2], &8_u32.to_le_bytes(), &sector.to_le_bytes()].concat();
            meta[size..size + head.len()].copy_from_slice(&head);
            size += head.len();
            meta[size..size + 4].copy_from_slice(&self.checksum(block).to_le_bytes());
            size += 4;
            self.media.write(place(at), block);
            at += BLOCK_SECTORS;
        }
        meta[12..16].copy_from_slice(&(size as u32).to_le_bytes());
        meta[4..8].fill(0);
        let sum = self.checksum(meta.as_slice());
        meta[4..8].copy_from_slice(&sum.to_le_bytes());
        self.media.write(place(self.sector), meta.as_slice());
        (self.sector, self.sequence) = (at, self.sequence + 1);
    }
}

impl Killed {
    /// An array whose members hold old blocks where its journal has new ones: rows with their
    /// parity, and data alone.
    fn new() -> Self {
        let (world, plan) = world(vec![Media::default(); MEMBERS + 1], Trace::default());
        let create = create_options("5", None, CHUNK_BYTES);
        let members = &all()[..MEMBERS];
        let mut array = ArrayVolume::create(world, plan, members, &create, &OpenOptions::writable()).unwrap();
        let mut random = Random::new(7);
        let mut content: Vec<u8> = (0..array.size_bytes() / 16).flat_map(|_| random.bytes()).collect();
        write_from(&mut array, 0, &mut &content[..]).unwrap();
        let mut media = array.close().unwrap().media().to_vec();
        let log = Self::journal(&mut media);
        media[JOURNAL] = Self::fill(log, &mut content, &mut random);
        Self { media, content }
    }

    /// Makes the last drive the journal of the array on the others.
    fn journal(media: &mut [Media]) -> Log {
        let mut own = superblock(&media[0]);
        for member in &mut media[..MEMBERS] {
            let mut superblock = superblock(member);
            superblock.features = superblock.features.with(Features::JOURNAL, true);
            write_superblock(member, &superblock);
        }
        own.features = own.features.with(Features::JOURNAL, true);
        own.dev_number = JOURNAL as u32;
        own.device_uuid = shoal_md::Uuid([9; 16]);
        own.recovery_offset_sectors = 0;
        write_superblock(&mut media[JOURNAL], &own);
        let media = media[JOURNAL].clone();
        let origin_bytes = own.data_offset_bytes();
        Log { journal: Journal::new(&own), origin_bytes, media, sector: 0, sequence: 100 }
    }

    fn fill(mut log: Log, content: &mut [u8], random: &mut Random) -> Media {
        let chunk = CHUNK_BYTES as usize;
        let data_count = MEMBERS - 1;
        let mut renew = |place: usize, content: &mut [u8]| {
            let block: Vec<u8> = (0..BLOCK / 16).flat_map(|_| random.bytes()).collect();
            content[place..place + BLOCK].copy_from_slice(&block);
            block
        };
        let sector = |bytes: usize| bytes as u64 / SECTOR_BYTES;
        for (row, within) in [(0, 0), (0, BLOCK), (3, 3 * BLOCK), (5, 0)] {
            let place = row * data_count * chunk + within;
            let (one, two) = (renew(place, content), renew(place + chunk, content));
            let parity: Vec<u8> = one.iter().zip(&two).map(|(one, two)| one ^ two).collect();
            log.append(&[
                (0, sector(place), &one),
                (0, sector(place + chunk), &two),
                (1, sector(row * chunk + within), &parity),
            ]);
        }
        for (row, within) in [(1, 0), (1, chunk), (6, 2 * BLOCK)] {
            let place = row * data_count * chunk + within;
            let block = renew(place, content);
            log.append(&[(0, sector(place), &block)]);
        }
        let last = log.journal.empty_block(log.sector, log.sequence);
        log.media.write(log.origin_bytes + log.sector * SECTOR_BYTES, last.as_slice());
        log.media
    }

    /// The array starts from these drives and has its content; then it is written to, and has that
    /// for good.
    fn check(&self, media: Vec<Media>, drives: &[DriveId]) -> Result<(), OpenError> {
        let media = self.check_start(media, drives, &self.content)?;
        let mut newer = self.content.clone();
        newer[..6 * CHUNK_BYTES as usize].fill(77);
        let (world, plan) = world(media, Trace::default());
        let mut array = ArrayVolume::open(world, plan, drives, &OpenOptions::writable())?;
        write_from(&mut array, 0, &mut &newer[..6 * CHUNK_BYTES as usize]).unwrap();
        let media = array.close().unwrap().media().to_vec();
        self.check_start(media.clone(), drives, &newer)?;
        // Whoever was away comes back, a journal with its old log too.
        self.check_start(media, &all(), &newer)?;
        Ok(())
    }

    fn check_start(&self, media: Vec<Media>, drives: &[DriveId], content: &[u8]) -> Result<Vec<Media>, OpenError> {
        let (world, plan) = world(media, Trace::default());
        // Whoever is degraded and was written to is started by force only, and has lost nothing
        // here.
        let forced = OpenOptions { force: true, ..OpenOptions::writable() };
        let mut array = ArrayVolume::open(world, plan, drives, &forced)?;
        let mut found = Vec::new();
        read_to(&mut array, 0, content.len() as u64, &mut found).unwrap();
        assert!(found == content, "content was lost");
        Ok(array.close().unwrap().media().to_vec())
    }

    /// Opens the array for writing, and a drive dies once so many writes and flushes were asked
    /// for.
    fn open_while_one_dies(&self, doomed: usize, number: Number) -> (Result<Health, OpenError>, Vec<Media>) {
        let trace = Trace::default();
        let (mut world, plan) = world(self.media.clone(), trace.clone());
        world.doom(doomed, number);
        let opened = ArrayVolume::open(world, plan, &all(), &OpenOptions::writable());
        let health = opened.as_ref().map(|array| array.status().health).map_err(|_| ());
        let mut cursor = Cursor::new(self.media.clone(), Expected::new(0));
        let facts = trace.take();
        facts.iter().for_each(|fact| cursor.step(fact));
        let media = cursor.cut(Fate::Lost, &mut Random::new(1));
        (opened.map(|_| health.expect("it is open")), media)
    }

    /// Writes and flushes of an opening that nothing disturbs.
    fn numbers(&self) -> Number {
        let (world, plan) = world(self.media.clone(), Trace::default());
        let mut array = ArrayVolume::open(world, plan, &all(), &OpenOptions::writable()).unwrap();
        array.world_mut().numbers()
    }
}

#[test]
fn a_journal_is_replayed_whenever_power_is_cut() {
    let killed = Killed::new();
    killed.check(killed.media.clone(), &all()).unwrap();
    let trace = Trace::default();
    let (world, plan) = world(killed.media.clone(), trace.clone());
    drop(ArrayVolume::open(world, plan, &all(), &OpenOptions::writable()).unwrap());
    let mut cursor = Cursor::new(killed.media.clone(), Expected::new(0));
    let mut random = Random::new(13);
    let mut cuts = 0;
    for fact in trace.take() {
        cursor.step(&fact);
        for fate in if cursor.is_settled() { &Fate::ALL[..1] } else { &Fate::ALL[..] } {
            cuts += 1;
            killed.check(cursor.cut(*fate, &mut random), &all()).unwrap();
        }
    }
    assert!(cuts > 100, "{cuts} cuts");
}

/// Nothing that the journal holds is lost with it: either the members have it all, and the array
/// goes on without it, or the array does not start until it is back.
#[test]
fn a_journal_that_dies_while_it_is_replayed_takes_nothing_with_it() {
    let killed = Killed::new();
    let (mut opened, mut refused) = (0, 0);
    for number in 0..killed.numbers() {
        let (health, media) = killed.open_while_one_dies(JOURNAL, number);
        match health {
            Ok(health) => {
                opened += 1;
                assert_eq!(health, Health::Optimal);
                killed.check(media, &all()[..MEMBERS]).unwrap();
            }
            Err(OpenError::JournalIo { .. } | OpenError::NotRecorded { .. }) => {
                refused += 1;
                assert!(killed.check(media.clone(), &all()[..MEMBERS]).is_err(), "it lacks what the journal has");
                killed.check(media, &all()).unwrap();
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(opened > 2 && refused > 10, "{opened} opened, {refused} refused");
}

#[test]
fn a_member_that_dies_while_a_journal_is_replayed_has_failed() {
    let killed = Killed::new();
    for doomed in 0..MEMBERS {
        for number in 0..killed.numbers() {
            let (health, media) = killed.open_while_one_dies(doomed, number);
            let health = health.unwrap_or_else(|error| panic!("drive {doomed} dies at {number}: {error}"));
            assert_ne!(health, Health::Failed);
            let mut others = all();
            others.remove(doomed);
            killed.check(media.clone(), &others).unwrap();
            killed.check(media, &all()).unwrap();
        }
    }
}

/// Whenever it fails in an array that runs, or is said to, it can be taken away, and the members
/// ask for it no more.
#[test]
fn a_journal_that_failed_can_be_removed() {
    let killed = Killed::new();
    for dies_after in (0..12).map(Some).chain([None]) {
        let (world, plan) = world(killed.media.clone(), Trace::default());
        let mut array = ArrayVolume::open(world, plan, &all(), &OpenOptions::writable()).unwrap();
        let journal = DriveId(JOURNAL as u32);
        if let Some(number) = dies_after {
            let now = array.world_mut().numbers();
            array.world_mut().doom(JOURNAL, now + number);
        }
        let row = killed.content[..2 * CHUNK_BYTES as usize].to_vec();
        write_from(&mut array, 0, &mut &row[..]).unwrap();
        assert!(
            matches!(array.remove_drive(journal), Err(ManageError::InUse { .. })),
            "nobody knows yet that it failed"
        );
        array.fail_drive(journal).unwrap();
        array.remove_drive(journal).unwrap();
        write_from(&mut array, 0, &mut &row[..]).unwrap();
        let media = array.close().unwrap().media().to_vec();
        killed.check(media, &all()[..MEMBERS]).unwrap_or_else(|error| panic!("{dies_after:?}: {error}"));
    }
}
