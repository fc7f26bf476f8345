//! Sparse files that take the place of drives.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use shoal_array::Level;
use shoal_md::{
    BitmapHeader, ConsistencyPolicy, CreateRequest, Creation, MinorVersion, NewMember, Superblock, Timestamp, Uuid,
    plan_creation,
};

use crate::mdadm_examine::CREATED;

/// Sparse files as drives, gone afterwards.
pub(crate) struct Drives {
    folder: tempfile::TempDir,
    pub(crate) sizes: Vec<u64>,
}

impl Drives {
    pub(crate) fn new(sizes: &[u64]) -> Self {
        let drives = Self { folder: tempfile::tempdir().unwrap(), sizes: sizes.to_vec() };
        for (number, size) in sizes.iter().enumerate() {
            File::create(drives.path(number)).unwrap().set_len(*size).unwrap();
        }
        drives
    }

    pub(crate) fn path(&self, number: usize) -> PathBuf {
        self.folder.path().join(format!("drive{number}"))
    }

    fn members(&self, numbers: std::ops::Range<usize>) -> Vec<NewMember> {
        let member = |number: usize| NewMember {
            drive: format!("drive{number}"),
            size_bytes: self.sizes[number],
            uuid: Uuid((0x1122_3344_5566_7788_99aa_bbcc_ddee_0000 + number as u128).to_be_bytes()),
        };
        numbers.map(member).collect()
    }

    pub(crate) fn write(&self, superblocks: &[Superblock]) {
        for superblock in superblocks {
            let file = File::options().write(true).open(self.path(superblock.dev_number as usize)).unwrap();
            file.write_all_at(&superblock.encode()[..], superblock.super_offset_bytes()).unwrap();
        }
    }

    /// Writes the header of a bitmap beside each superblock: without it, mdadm believes in no
    /// bitmap.
    pub(crate) fn write_bitmap_header(&self, superblocks: &[Superblock], header: &BitmapHeader) {
        for superblock in superblocks {
            let file = File::options().write(true).open(self.path(superblock.dev_number as usize)).unwrap();
            file.write_all_at(&header.encode(), superblock.bitmap_area().unwrap().offset_bytes).unwrap();
        }
    }

    /// Creates an array of all drives, the last `spares` of them spares.
    pub(crate) fn create(&self, level: Level, chunk_bytes: Option<u32>, spares: usize, clean: bool) -> Creation {
        let request = self.request(level, chunk_bytes, spares, clean);
        let creation = plan_creation(&request).unwrap();
        self.write(&creation.superblocks);
        creation
    }

    pub(crate) fn request(&self, level: Level, chunk_bytes: Option<u32>, spares: usize, clean: bool) -> CreateRequest {
        let members = self.sizes.len() - spares;
        CreateRequest {
            minor: MinorVersion::Start4K,
            level,
            chunk_bytes,
            members: self.members(0..members),
            spares: self.members(members..self.sizes.len()),
            name: "examined".to_owned(),
            homehost: Some("lab".to_owned()),
            array_uuid: Uuid(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10_u128.to_be_bytes()),
            creation_time: Timestamp::from_seconds(CREATED),
            clean,
            consistency: ConsistencyPolicy::Resync,
        }
    }
}
