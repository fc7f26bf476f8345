//! Exhaustive checks of small geometries: every level and layout, one to eight members, a few
//! sizes, odd ones too.
//!
//! For each: pieces cover the array without gaps; every array byte has as many places as it should,
//! on different members; every member byte has one home; map and unmap are inverse; the capacity is
//! what the level promises.
use shoal_array::{Geometry, Home, Level, ParityLayout, Raid0Layout, Raid10Layout, Role, Shape, ShapeError};

/// The unit in which homes are looked at. Every map keeps sectors whole.
const SECTOR: u64 = 512;
const CHUNK: u64 = 4096;

fn shape(level: Level, chunk_bytes: u64, member_bytes: Vec<u64>) -> Shape {
    Shape { level, chunk_bytes: chunk_bytes as u32, member_bytes }
}

/// Members of so many chunks and some bytes that are no chunk, each a little different.
fn similar_members(count: usize, chunks: u64, chunk_bytes: u64) -> Vec<u64> {
    (0..count as u64).map(|index| chunks * chunk_bytes + (index * 1536 + 700) % chunk_bytes).collect()
}

/// Every sector's home by walking the array: the map's own account of what is where.
struct Account {
    /// By member and sector.
    homes: Vec<Vec<Home>>,
}

impl Account {
    fn take(geometry: &Geometry, copies: usize) -> Self {
        let mut account = Self { homes: (0..geometry.member_count()).map(|_| Vec::new()).collect() };
        for (role, &bytes) in geometry.shape().member_bytes.iter().enumerate() {
            account.homes[role] = vec![Home::Unused; (bytes / SECTOR) as usize];
        }
        account.take_data(geometry, copies);
        account.take_parity(geometry);
        account
    }

    fn take_data(&mut self, geometry: &Geometry, copies: usize) {
        let mut end = 0;
        for piece in geometry.pieces(0, geometry.capacity_bytes()) {
            assert_eq!(piece.offset, end, "{:?}", geometry.shape());
            assert_eq!(piece.copies.len(), copies, "{:?}", geometry.shape());
            end += piece.length;
            for (copy, &(role, member_offset)) in piece.copies.iter().enumerate() {
                assert!(piece.copies[..copy].iter().all(|&(other, _)| other != role), "two copies on one member");
                for within in (0..piece.length).step_by(SECTOR as usize) {
                    let home = Home::Data { offset: piece.offset + within, copy: copy as u16 };
                    self.enter(geometry, role, member_offset + within, home);
                }
                let extent = geometry.homes(role, member_offset, u64::MAX);
                let home = Home::Data { offset: piece.offset, copy: copy as u16 };
                assert_eq!(extent, (home, piece.length), "{:?}", geometry.shape());
            }
        }
        assert_eq!(end, geometry.capacity_bytes());
    }

    fn take_parity(&mut self, geometry: &Geometry) {
        assert_eq!(geometry.stripe(geometry.rows()), None);
        for row in 0..geometry.rows() {
            let stripe = geometry.stripe(row).unwrap();
            let chunk_bytes = u64::from(geometry.shape().chunk_bytes);
            for (index, &role) in stripe.data.iter().enumerate() {
                let offset = stripe.offset + index as u64 * chunk_bytes;
                assert_eq!(geometry.home(role, stripe.member_offset), Home::Data { offset, copy: 0 });
                let position = geometry.position(offset + 1234).unwrap();
                assert_eq!((position.row, position.index, position.within), (row, index, 1234));
            }
            for within in (0..chunk_bytes).step_by(SECTOR as usize) {
                self.enter(geometry, stripe.p, stripe.member_offset + within, Home::P { row });
                if let Some(q) = stripe.q {
                    self.enter(geometry, q, stripe.member_offset + within, Home::Q { row });
                }
            }
            let mut exponents = stripe.exponents.clone();
            exponents.sort_unstable();
            exponents.dedup();
            assert_eq!(exponents.len(), stripe.data.len(), "exponents repeat: {stripe:?}");
        }
    }

    fn enter(&mut self, geometry: &Geometry, role: Role, member_offset: u64, home: Home) {
        assert!(member_offset < geometry.used_bytes(role), "{home:?} beyond the used part: {:?}", geometry.shape());
        let entry = &mut self.homes[role.index()][(member_offset / SECTOR) as usize];
        assert_eq!(*entry, Home::Unused, "{role:?} {member_offset} is also {home:?}: {:?}", geometry.shape());
        *entry = home;
    }

    /// What walking the members says must be what walking the array said.
    fn compare(&self, geometry: &Geometry) {
        for (role, homes) in (0..).map(Role).zip(&self.homes) {
            for (sector, &home) in (0..).zip(homes) {
                assert_eq!(geometry.home(role, sector * SECTOR), home, "{role:?} {sector}: {:?}", geometry.shape());
                let last_byte = match home {
                    Home::Data { offset, copy } => Home::Data { offset: offset + SECTOR - 1, copy },
                    other => other,
                };
                assert_eq!(geometry.home(role, sector * SECTOR + SECTOR - 1), last_byte);
            }
            assert_eq!(geometry.home(role, geometry.used_bytes(role)), Home::Unused);
        }
    }
}

fn check(shape: Shape, copies: usize, capacity_bytes: u64) {
    let geometry = Geometry::new(shape).unwrap();
    assert_eq!(geometry.capacity_bytes(), capacity_bytes, "{:?}", geometry.shape());
    Account::take(&geometry, copies).compare(&geometry);
}

/// Rows to try: a few less and a few more than a layout's period.
const ROWS: [u64; 6] = [1, 2, 3, 5, 8, 13];

#[test]
fn linear_maps_are_inverse() {
    for count in 1..=8 {
        for chunks in ROWS {
            let member_bytes = similar_members(count, chunks, CHUNK);
            let by_sector = member_bytes.iter().map(|bytes| bytes / SECTOR * SECTOR).sum();
            check(shape(Level::Linear, 0, member_bytes.clone()), 1, by_sector);
            check(shape(Level::Linear, CHUNK, member_bytes), 1, count as u64 * chunks * CHUNK);
        }
    }
}

#[test]
fn raid0_maps_are_inverse_for_members_of_any_sizes() {
    for layout in [Raid0Layout::Original, Raid0Layout::Alternate] {
        for count in 1..=4_u32 {
            for sizes in 0..5_u64.pow(count) {
                let member_chunks: Vec<u64> = (0..count).map(|index| sizes / 5_u64.pow(index) % 5 + 1).collect();
                check_raid0(layout, CHUNK, &member_chunks);
            }
        }
        for count in 5..=8 {
            for step in 0..7 {
                let member_chunks: Vec<u64> = (0..count).map(|index| 3 + index * step % 7).collect();
                check_raid0(layout, CHUNK, &member_chunks);
                check_raid0(layout, 2 * CHUNK, &member_chunks);
            }
        }
    }
}

fn check_raid0(layout: Raid0Layout, chunk_bytes: u64, member_chunks: &[u64]) {
    let member_bytes = member_chunks.iter().map(|chunks| chunks * chunk_bytes + 513).collect();
    check(shape(Level::Raid0(layout), chunk_bytes, member_bytes), 1, member_chunks.iter().sum::<u64>() * chunk_bytes);
}

/// Five members of 16, 24, 40, 24 and 31 MiB, less what the superblock takes, against a dealer who
/// knows only rows: he gives each row's chunks to the members that still have room.
#[test]
fn raid0_of_unequal_members_is_dealt_as_md_deals_it() {
    const MIB: u64 = 1 << 20;
    for layout in [Raid0Layout::Original, Raid0Layout::Alternate] {
        for (chunk_bytes, superblock_bytes) in [(64 << 10, 0), (64 << 10, MIB), (MIB, MIB)] {
            let member_bytes: Vec<u64> = [16, 24, 40, 24, 31].iter().map(|mib| mib * MIB - superblock_bytes).collect();
            let geometry = Geometry::new(shape(Level::Raid0(layout), chunk_bytes, member_bytes.clone())).unwrap();
            let (mut chunk, mut zone_start, mut zone_members) = (0, 0, 5);
            for row in 0..40 * MIB / chunk_bytes {
                let takers: Vec<usize> = (0..5).filter(|&role| member_bytes[role] > row * chunk_bytes).collect();
                if takers.len() != zone_members {
                    (zone_start, zone_members) = (chunk, takers.len());
                }
                for _ in &takers {
                    let count_from = if layout == Raid0Layout::Original { 0 } else { zone_start };
                    let role = Role(takers[(chunk - count_from) as usize % takers.len()] as u16);
                    let piece = geometry.piece(chunk * chunk_bytes + 5, u64::MAX);
                    assert_eq!(piece.copies[..], [(role, row * chunk_bytes + 5)], "{layout} chunk {chunk}");
                    chunk += 1;
                }
            }
            assert_eq!(geometry.capacity_bytes(), chunk * chunk_bytes);
        }
    }
}

#[test]
fn raid1_maps_are_inverse() {
    for count in 1..=8 {
        for chunks in ROWS {
            let member_bytes = similar_members(count, chunks, CHUNK);
            let smallest_bytes = member_bytes.iter().min().unwrap() / SECTOR * SECTOR;
            check(shape(Level::Raid1, 0, member_bytes), count, smallest_bytes);
        }
    }
}

#[test]
fn raid4_and_raid5_maps_are_inverse() {
    let levels = ParityLayout::ALL.into_iter().take(6).map(Level::Raid5).chain([Level::Raid4]);
    for level in levels {
        for count in 2..=8 {
            for rows in ROWS {
                for chunk_bytes in [CHUNK, 2 * CHUNK] {
                    let capacity_bytes = (count as u64 - 1) * rows * chunk_bytes;
                    check(shape(level, chunk_bytes, similar_members(count, rows, chunk_bytes)), 1, capacity_bytes);
                }
            }
        }
    }
}

#[test]
fn raid6_maps_are_inverse() {
    for layout in ParityLayout::ALL {
        for count in 4..=8 {
            for rows in ROWS {
                let capacity_bytes = (count as u64 - 2) * rows * CHUNK;
                let member_bytes = similar_members(count, rows, CHUNK);
                check(shape(Level::Raid6(layout), CHUNK, member_bytes), 1, capacity_bytes);
            }
        }
    }
}

/// Every RAID10 layout of up to eight members, copies not more than members.
fn raid10_layouts() -> impl Iterator<Item = (usize, Raid10Layout)> {
    let copies = (1..=4).flat_map(|near| (1..=4).map(move |far| (near, far)));
    let forms = [(false, false), (false, true), (true, false), (true, true)];
    let layouts = copies
        .flat_map(move |(near, far)| forms.map(|(offset, far_sets)| Raid10Layout { near, far, offset, far_sets }));
    (2..=8)
        .flat_map(move |count| layouts.clone().map(move |layout| (count, layout)))
        .filter(|(count, layout)| (2..=*count).contains(&layout.copies()))
}

#[test]
fn raid10_maps_are_inverse() {
    for (count, layout) in raid10_layouts() {
        for rows in ROWS {
            let shape = shape(Level::Raid10(layout), CHUNK, similar_members(count, rows, CHUNK));
            let chunks = rows / u64::from(layout.far) * count as u64 / u64::from(layout.near);
            if chunks == 0 {
                assert!(matches!(Geometry::new(shape), Err(ShapeError::Layout | ShapeError::MemberTooSmall { .. })));
            } else if Geometry::new(shape.clone()).is_ok() {
                check(shape, layout.copies(), chunks * CHUNK);
            }
        }
    }
}

/// md's way to a chunk's places, step by step: (role, row) of each copy.
fn raid10_places_of_md(count: u64, section_rows: u64, layout: Raid10Layout, chunk: u64) -> Vec<(u64, u64)> {
    let (near, far) = (u64::from(layout.near), u64::from(layout.far));
    let set_length = if layout.far_sets { near * far } else { count };
    let last_set_start = (count / set_length - 1) * set_length;
    let last_set_length = set_length + count % set_length;
    let stride = if layout.offset { 1 } else { section_rows };
    let mut first = (chunk * near % count, chunk * near / count * if layout.offset { far } else { 1 });
    let mut places = Vec::new();
    for _ in 0..near {
        let (mut role, mut row) = first;
        places.push((role, row));
        for _ in 1..far {
            let set = role / set_length;
            role += near;
            role = if !count.is_multiple_of(set_length) && role > last_set_start {
                (role - last_set_start) % last_set_length + last_set_start
            } else {
                role % set_length + set_length * set
            };
            row += stride;
            places.push((role, row));
        }
        first = if first.0 + 1 == count { (0, first.1 + 1) } else { (first.0 + 1, first.1) };
    }
    places
}

/// What is taken lies where md puts it; what is refused would have had two chunks in one place.
#[test]
fn raid10_agrees_with_md_or_refuses_what_md_mixes_up() {
    const ROWS: u64 = 24;
    let mut refused = 0;
    for (count, layout) in raid10_layouts() {
        let (near, far) = (u64::from(layout.near), u64::from(layout.far));
        let chunks = ROWS / far * count as u64 / near;
        let md = |chunk| raid10_places_of_md(count as u64, ROWS / far, layout, chunk);
        match Geometry::new(shape(Level::Raid10(layout), CHUNK, vec![ROWS * CHUNK; count])) {
            Ok(geometry) => {
                for chunk in 0..chunks {
                    let piece = geometry.piece(chunk * CHUNK, CHUNK);
                    let places: Vec<(u64, u64)> =
                        piece.copies.iter().map(|&(role, offset)| (u64::from(role.0), offset / CHUNK)).collect();
                    assert_eq!(places, md(chunk), "{count} members, {layout:?}, chunk {chunk}");
                }
            }
            Err(error) => {
                assert_eq!(error, ShapeError::Layout);
                let mut places: Vec<(u64, u64)> = (0..chunks).flat_map(md).collect();
                let count_with_repeats = places.len();
                places.sort_unstable();
                places.dedup();
                assert!(places.len() < count_with_repeats, "{count} members, {layout:?} is refused without a cause");
                refused += 1;
            }
        }
    }
    assert!(refused > 0);
}

#[test]
fn what_is_no_array_is_refused() {
    let member = 64 * CHUNK;
    let members = |count| vec![member; count];
    let left = ParityLayout::LeftSymmetric;
    let near = |near| Level::Raid10(Raid10Layout { near, far: 1, offset: false, far_sets: false });
    let refusals = [
        (Level::Linear, CHUNK, members(0), ShapeError::TooFewMembers { needed: 1, given: 0 }),
        (Level::Raid5(left), CHUNK, members(1), ShapeError::TooFewMembers { needed: 2, given: 1 }),
        (Level::Raid6(left), CHUNK, members(3), ShapeError::TooFewMembers { needed: 4, given: 3 }),
        (near(3), CHUNK, members(2), ShapeError::TooFewMembers { needed: 3, given: 2 }),
        (near(0), CHUNK, members(2), ShapeError::Layout),
        (near(1), CHUNK, members(2), ShapeError::Layout),
        (Level::Raid6(left), CHUNK, members(256), ShapeError::TooManyMembers { limit: 255, given: 256 }),
        (Level::Raid1, CHUNK, members(1921), ShapeError::TooManyMembers { limit: 1920, given: 1921 }),
        (Level::Raid4, 2048, members(3), ShapeError::Chunk { chunk_bytes: 2048 }),
        (Level::Raid4, 12_288, members(3), ShapeError::Chunk { chunk_bytes: 12_288 }),
        (Level::Raid4, 0, members(3), ShapeError::Chunk { chunk_bytes: 0 }),
        (Level::Raid5(ParityLayout::LeftSymmetric6), CHUNK, members(4), ShapeError::Layout),
        (Level::Raid5(ParityLayout::DdfNContinue), CHUNK, members(4), ShapeError::Layout),
        (
            Level::Raid5(left),
            CHUNK,
            vec![member, 4095, member],
            ShapeError::MemberTooSmall { role: Role(1), member_bytes: 4095 },
        ),
        (
            Level::Linear,
            0,
            vec![member, u64::MAX],
            ShapeError::MemberTooLarge { role: Role(1), member_bytes: u64::MAX },
        ),
    ];
    for (level, chunk_bytes, member_bytes, expected) in refusals {
        let error = Geometry::new(shape(level, chunk_bytes, member_bytes)).unwrap_err();
        assert_eq!(error, expected, "{level:?}");
        assert!(!error.to_string().contains('\n'));
    }
}

#[test]
fn the_largest_arrays_do_not_overflow() {
    let member_bytes = vec![1 << 53; 1920];
    let levels = [
        Level::Linear,
        Level::Raid0(Raid0Layout::Original),
        Level::Raid1,
        Level::Raid5(ParityLayout::LeftSymmetric),
        Level::Raid10(Raid10Layout { near: 2, far: 1, offset: false, far_sets: false }),
    ];
    for level in levels {
        let geometry = Geometry::new(shape(level, 512 << 10, member_bytes.clone())).unwrap();
        let last = geometry.capacity_bytes() - 1;
        for (copy, &(role, member_offset)) in geometry.piece(last, 1).copies.iter().enumerate() {
            let home = Home::Data { offset: last, copy: copy as u16 };
            assert_eq!(geometry.homes(role, member_offset, 1), (home, 1), "{level}");
        }
    }
}
