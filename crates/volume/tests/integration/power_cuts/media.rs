//! What lies on a drive: pages that copies share until one of them is written.

use std::collections::BTreeMap;
use std::rc::Rc;

use shoal_volume::{Superblock, read_superblock};

use crate::power_cuts::story::DRIVE_BYTES;

const PAGE_BYTES: usize = 4096;

/// The bytes of a drive; what was never written is zeros.
#[derive(Clone, Debug, Default)]
pub(crate) struct Media {
    pages: BTreeMap<u64, Rc<[u8; PAGE_BYTES]>>,
}

impl Media {
    pub(crate) fn write(&mut self, mut offset: u64, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (page, start, length) = place(offset, bytes.len());
            let page = Rc::make_mut(self.pages.entry(page).or_insert_with(|| Rc::new([0; PAGE_BYTES])));
            page[start..start + length].copy_from_slice(&bytes[..length]);
            (offset, bytes) = (offset + length as u64, &bytes[length..]);
        }
    }

    pub(crate) fn read(&self, mut offset: u64, mut bytes: &mut [u8]) {
        while !bytes.is_empty() {
            let (page, start, length) = place(offset, bytes.len());
            match self.pages.get(&page) {
                Some(page) => bytes[..length].copy_from_slice(&page[start..start + length]),
                None => bytes[..length].fill(0),
            }
            (offset, bytes) = (offset + length as u64, &mut bytes[length..]);
        }
    }
}

/// What a drive says that it is.
pub(crate) fn superblock(media: &Media) -> Option<Superblock> {
    let read = |offset, bytes: &mut [u8]| {
        media.read(offset, bytes);
        Ok::<_, std::convert::Infallible>(())
    };
    read_superblock(DRIVE_BYTES, read).ok()
}

/// Changes what a member says.
pub(crate) fn rewrite(media: &mut Media, change: impl Fn(&mut Superblock)) {
    let mut superblock = superblock(media).expect("it is a member");
    change(&mut superblock);
    media.write(superblock.super_offset_bytes(), superblock.encode().as_slice());
}

/// The page that a byte lies on, where in it, and how much of `length` bytes it holds.
fn place(offset: u64, length: usize) -> (u64, usize, usize) {
    let start = (offset % PAGE_BYTES as u64) as usize;
    (offset / PAGE_BYTES as u64, start, length.min(PAGE_BYTES - start))
}
