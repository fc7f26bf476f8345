//! Write-intent bitmaps at rest: written when an array is made, read when it is put together.
//!
//! Every member in sync has a copy. A set bit on any of them counts, as an announcement may have
//! been cut short, and a clearing may have been, too: either way the chunk is in sync already, and
//! a needless resync harms nobody. Copies that cannot be read, or are not believed, are written
//! anew before the array relies on them. One that is believed and lacks bits gets them as it is:
//! were it marked as stale meanwhile, a power cut could take bits with it that it alone has.

use shoal_array::{Array, Config, Fault, Geometry, Instant, MemberIo, MemberState, Regions, Role, Shape, ShapeError};
use shoal_md::{
    Area, Assembly, BITMAP_HEADER_BYTES, Bitmap, BitmapError, BitmapHeader, Features, SECTOR_BYTES, Superblock,
};

use crate::tree::{BitmapCopy, Intent, Target, Tree};
use crate::world::World;
use crate::{OpenError, OpenOptions, VolumeError};

/// What is wrong with all copies of an array's bitmap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BitmapProblem {
    /// There is none, or one that cannot be kept.
    #[error(transparent)]
    Format(#[from] BitmapError),
    /// No member gives it back.
    #[error("its write-intent bitmap cannot be read; `mdadm --assemble --update=no-bitmap` removes it")]
    Unreadable,
}

/// The bitmap that an array's members hold.
pub(crate) struct KeptBitmap {
    bitmap: Bitmap,
    /// Its clear bits mean something.
    is_believed: bool,
    /// The candidates whose own copy is believed: it has no bit that this one lacks.
    believed: Vec<usize>,
    /// The copies of all members in sync are the same.
    is_announced: bool,
}

impl KeptBitmap {
    /// What a candidate's copy is worth.
    pub(crate) fn copy(&self, candidate: usize) -> BitmapCopy {
        if self.believed.contains(&candidate) { BitmapCopy::Whole } else { BitmapCopy::Due }
    }

    /// What is not known to be in sync; none if that is nowhere known.
    pub(crate) fn out_of_sync(&self) -> Option<Regions> {
        self.is_believed.then(|| self.bitmap.regions())
    }

    /// Keeps it from now on. Where not all members in sync have every bit, all are to be announced
    /// again.
    pub(crate) fn into_intent(self, now: Instant) -> Intent {
        Intent::new(now, self.bitmap, self.is_announced)
    }
}

fn in_sync(assembly: &Assembly) -> Vec<usize> {
    let in_sync = assembly.slots.iter().filter(|slot| slot.state == MemberState::InSync);
    in_sync.filter_map(|slot| slot.candidate).collect()
}

/// Makes an array's engine. Members that came back and had not caught up go on by the bitmap, from
/// the start: bits of what they have caught up with are still set, and so are those of writes that
/// were cut short.
pub(crate) fn guided_engine(
    config: Config,
    assembly: &Assembly,
    bitmap: Option<&KeptBitmap>,
    now: Instant,
) -> Result<Array, ShapeError> {
    let only = bitmap.and_then(KeptBitmap::out_of_sync).filter(|_| config.writable);
    let by_bitmap = (0..).map(Role).zip(&assembly.slots).filter(|(_, slot)| slot.by_bitmap && only.is_some());
    let back: Vec<Role> = by_bitmap.map(|(role, _)| role).collect();
    let mut guided = config.clone();
    back.iter().for_each(|role| guided.members[role.index()] = MemberState::Missing);
    let bad_blocks = guided.bad_blocks.clone();
    let mut array = Array::new(guided)?;
    let all_go_on = back.iter().all(|&role| {
        let bad_blocks = bad_blocks.get(role.index()).cloned().unwrap_or_default();
        let seated = array.set_bad_blocks(role, bad_blocks);
        seated.and_then(|()| array.rebuild_member(now, role, 0, only.clone())).is_ok()
    });
    // Where others are missing it waits for them, as it is.
    if all_go_on { Ok(array) } else { Array::new(config) }
}

/// The array's bitmap, if it has one and what it says can be known.
pub(crate) fn kept_bitmap<W: World>(
    tree: &mut Tree<W>,
    members: &[(Target, Superblock)],
    assembly: &Assembly,
    shape: &Shape,
    options: &OpenOptions,
) -> Result<Option<KeptBitmap>, OpenError> {
    let geometry = Geometry::new(shape.clone());
    let geometry = geometry.map_err(|cause| OpenError::Geometry { name: assembly.name(), cause })?;
    if !assembly.superblock.features.any_of(Features::BITMAP) || geometry.redundancy() == 0 {
        return Ok(None);
    }
    match read_bitmap(tree, members, assembly, geometry.sync_bytes())? {
        Ok(kept) => Ok(Some(kept)),
        Err(problem) if options.writable => Err(OpenError::Bitmap { name: assembly.name(), problem }),
        Err(_) => Ok(None),
    }
}

/// Reads the bitmap of an array over `sync_bytes` from its members in sync.
fn read_bitmap<W: World>(
    tree: &mut Tree<W>,
    members: &[(Target, Superblock)],
    assembly: &Assembly,
    sync_bytes: u64,
) -> Result<Result<KeptBitmap, BitmapProblem>, VolumeError> {
    let mut copies = Vec::new();
    let mut problem = BitmapProblem::Unreadable;
    for candidate in in_sync(assembly) {
        let (target, superblock) = &members[candidate];
        match read_copy(tree, *target, superblock, sync_bytes)? {
            Ok(copy) => copies.push((candidate, copy)),
            Err(worse @ BitmapProblem::Format(_)) => problem = worse,
            Err(BitmapProblem::Unreadable) => {}
        }
    }
    Ok(merged(copies, assembly).ok_or(problem))
}

/// The bits of all copies that are believed; all bits if none is.
fn merged(copies: Vec<(usize, Bitmap)>, assembly: &Assembly) -> Option<KeptBitmap> {
    let array = &assembly.superblock;
    let is_believed = |bitmap: &Bitmap| bitmap.header.distrust(array.array_uuid, array.events).is_none();
    let (believed, others): (Vec<_>, Vec<_>) = copies.into_iter().partition(|(_, copy)| is_believed(copy));
    let Some((_, freshest)) = believed.iter().max_by_key(|(_, copy)| copy.header.events) else {
        // Of another array, or older than the superblocks: nothing is known but how the bitmap is
        // laid out.
        let (_, mut bitmap) = others.into_iter().next()?;
        bitmap.set_all();
        bitmap.header.array_uuid = array.array_uuid;
        bitmap.header.events_cleared = array.events;
        bitmap.header.set_stale(false);
        return Some(KeptBitmap { bitmap, is_believed: false, believed: Vec::new(), is_announced: false });
    };
    let mut bitmap = freshest.clone();
    let alike = |copy: &Bitmap| copy.header.chunk_bytes == freshest.header.chunk_bytes;
    for (_, copy) in believed.iter().filter(|(_, copy)| alike(copy)) {
        bitmap.set_regions(&copy.regions());
        bitmap.header.events_cleared = bitmap.header.events_cleared.max(copy.header.events_cleared);
    }
    let believed: Vec<_> = believed.iter().filter(|(_, copy)| alike(copy)).collect();
    let has_all =
        |candidate: &usize| believed.iter().any(|(other, copy)| other == candidate && copy.count() == bitmap.count());
    let is_announced = in_sync(assembly).iter().all(has_all);
    let believed = believed.iter().map(|(candidate, _)| *candidate).collect();
    Some(KeptBitmap { bitmap, is_believed: true, believed, is_announced })
}

/// A member's copy of the bitmap of an array over `sync_bytes`.
pub(crate) fn read_copy<W: World>(
    tree: &mut Tree<W>,
    target: Target,
    superblock: &Superblock,
    sync_bytes: u64,
) -> Result<Result<Bitmap, BitmapProblem>, VolumeError> {
    let Some(Area { offset_bytes, size_bytes }) = superblock.bitmap_area() else {
        return Ok(Err(BitmapError::NoMagic.into()));
    };
    let block_bytes = u64::from(tree.logical_block_bytes(target));
    let mut first = [0; shoal_md::BITMAP_PAGE_BYTES];
    let first_bytes = block_bytes.max(SECTOR_BYTES).min(first.len() as u64) as usize;
    if tree.read_small(target, offset_bytes, &mut first[..first_bytes])?.is_err() {
        return Ok(Err(BitmapProblem::Unreadable));
    }
    let header = first.first_chunk::<BITMAP_HEADER_BYTES>().expect("a page is longer than the header");
    let bitmap =
        BitmapHeader::parse(header).and_then(|header| Bitmap::all_set(header, sync_bytes / SECTOR_BYTES, size_bytes));
    let mut bitmap = match bitmap {
        Ok(bitmap) => bitmap,
        Err(error) => return Ok(Err(error.into())),
    };
    let needed_bytes = bitmap.page_range(bitmap.pages() - 1, block_bytes).end;
    if needed_bytes > size_bytes {
        return Ok(Err(BitmapError::NoRoom { needed_bytes, room_bytes: size_bytes }.into()));
    }
    for page in 0..bitmap.pages() {
        let range = bitmap.page_range(page, block_bytes);
        let mut bytes = [0; shoal_md::BITMAP_PAGE_BYTES];
        let length = usize::try_from(range.end - range.start).expect("no longer than a page");
        if tree.read_small(target, offset_bytes + range.start, &mut bytes[..length])?.is_err() {
            return Ok(Err(BitmapProblem::Unreadable));
        }
        bitmap.decode_page(page, &bytes[..length]);
    }
    Ok(Ok(bitmap))
}

/// Writes the bitmap of a new array beside a member's superblock, all bits set, as mdadm does, and
/// makes it durable.
pub(crate) fn write_new_bitmap<W: World>(
    tree: &mut Tree<W>,
    target: Target,
    superblock: &Superblock,
    header: &BitmapHeader,
) -> Result<Result<(), Fault>, VolumeError> {
    let Area { offset_bytes, size_bytes } = superblock.bitmap_area().expect("the array was planned with a bitmap");
    let bitmap = Bitmap::all_set(header.clone(), header.sync_sectors, size_bytes);
    let bitmap = bitmap.expect("the room was planned for the bitmap");
    let block_bytes = u64::from(tree.logical_block_bytes(target));
    for page in 0..bitmap.pages() {
        let range = bitmap.page_range(page, block_bytes);
        let length = usize::try_from(range.end - range.start).expect("no longer than a page");
        let Some(span) = tree.small_span(length) else { return Ok(Err(Fault::Gone)) };
        tree.world.arena().write(tree.homes.memory(span), &bitmap.encode_page(page)[..length]);
        if let Err(fault) = tree.call(target, MemberIo::Write { offset: offset_bytes + range.start, span })? {
            return Ok(Err(fault));
        }
    }
    tree.call(target, MemberIo::Flush)
}
