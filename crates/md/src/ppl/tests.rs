use shoal_array::{BufferId, Geometry, Level, ParityLayout, PartialParity, Role, Shape, Span};

use super::*;

const UUID: Uuid = Uuid([7; 16]);
const CHUNK: u32 = 16 << 10;

/// Four members; the first row's parity is on the last.
fn geometry() -> Geometry {
    let level = Level::Raid5(ParityLayout::LeftSymmetric);
    Geometry::new(Shape { level, chunk_bytes: CHUNK, member_bytes: vec![1 << 20; 4] }).unwrap()
}

fn entry(data_sector: u64, partial_parity_bytes: u32, data_bytes: u32) -> PplEntry {
    PplEntry { data_sector, partial_parity_bytes, data_bytes, parity_role: 3, checksum: 0 }
}

fn run(data: &[u16], member_offset: u64, length: u32, partial_parity_offset: Option<u32>) -> PplRun {
    let data = data.iter().copied().map(Role).collect();
    PplRun { parity: Role(3), data, member_offset, length, partial_parity_offset }
}

#[test]
fn a_header_reads_back() {
    let entries: Vec<_> = (0..PPL_ENTRIES_MAX as u64).map(|number| entry(number * 8, 4096, 8192)).collect();
    let header = PplHeader { generation: 0x0123_4567_89ab_cdef, entries };
    assert_eq!(PplHeader::parse(&header.encode(UUID), UUID), Ok(header.clone()));
    assert_eq!(header.write_bytes(), 4096 + 148 * 4096);
}

#[test]
fn what_is_not_ours_or_not_whole_is_not_believed() {
    let bytes = PplHeader { generation: 5, entries: vec![entry(0, 4096, 4096)] }.encode(UUID);
    assert_eq!(PplHeader::parse(&bytes, Uuid([8; 16])), Err(PplError::Foreign));
    assert_eq!(PplHeader::parse(&[0; PPL_HEADER_BYTES], UUID), Err(PplError::Foreign));
    for place in [0, 520, 536, 4095] {
        let mut torn = bytes.clone();
        torn[place] ^= 1;
        assert_eq!(PplHeader::parse(&torn, UUID), Err(PplError::Torn), "{place}");
    }
    let mut many = bytes;
    149_u32.write(&mut many[COUNT_PLACE..COUNT_PLACE + 4]);
    let sum = checksum(&many);
    sum.write(&mut many[CHECKSUM_PLACE..CHECKSUM_PLACE + 4]);
    assert_eq!(PplHeader::parse(&many, UUID), Err(PplError::Entries { count: 149 }));
}

/// As a walk through an area of three sectors' worth of headers would find them.
fn find(area: &[u8], is_chain: bool) -> Result<PplWrite, PplError> {
    let found = newest_ppl(area.len() as u64, is_chain, 512, UUID, |offset, bytes| {
        let start = usize::try_from(offset).unwrap();
        bytes.copy_from_slice(&area[start..start + PPL_HEADER_BYTES]);
        Ok::<_, ()>(())
    });
    found.unwrap()
}

fn put(area: &mut [u8], offset: usize, generation: u64, partial_parity_bytes: u32) {
    let header = PplHeader { generation, entries: vec![entry(0, partial_parity_bytes, partial_parity_bytes)] };
    area[offset..offset + PPL_HEADER_BYTES].copy_from_slice(header.encode(UUID).as_slice());
}

#[test]
fn the_newest_write_is_found_by_walking() {
    let mut area = vec![0; 64 << 10];
    assert_eq!(find(&area, true), Err(PplError::Foreign));
    put(&mut area, 0, 4, 8192);
    put(&mut area, 12288, 5, 512);
    put(&mut area, 12288 + 4608, 6, 4096);
    let found = find(&area, true).unwrap();
    assert_eq!((found.header.generation, found.offset_bytes), (6, 12288 + 4608));
    assert_eq!(find(&area, false).unwrap().header.generation, 4, "without a chain there is one write");
    area[12288 + 600] ^= 1;
    assert_eq!(find(&area, true).unwrap().header.generation, 4, "what lies behind a torn one was never reached");
}

#[test]
fn after_a_turn_the_first_is_the_newest() {
    let mut area = vec![0; 64 << 10];
    put(&mut area, 0, 9, 8192);
    put(&mut area, 12288, 5, 4096);
    assert_eq!(find(&area, true).unwrap().offset_bytes, 0);
    area[700] ^= 1;
    assert_eq!(find(&area, true), Err(PplError::Torn));
}

#[test]
fn a_walk_ends_at_the_end_of_the_area() {
    let mut area = vec![0; 4096 * 3];
    put(&mut area, 0, 1, 0);
    put(&mut area, 4096, 1, 0);
    put(&mut area, 8192, 2, 512);
    assert_eq!(find(&area, true).unwrap().offset_bytes, 8192);
    assert_eq!(find(&area[..4095], true), Err(PplError::Foreign));
}

#[test]
fn entries_as_linux_writes_them() {
    let geometry = geometry();
    // One chunk, two columns of 4 KiB; two chunks; all chunks.
    assert_eq!(entry(8, 8192, 8192).runs(&geometry), Ok(vec![run(&[0], 4096, 8192, Some(0))]));
    assert_eq!(entry(40, 4096, 8192).runs(&geometry), Ok(vec![run(&[1, 2], 4096, 4096, Some(0))]));
    assert_eq!(entry(8, 0, 3 * 8192).runs(&geometry), Ok(vec![run(&[0, 1, 2], 4096, 8192, None)]));
    assert_eq!(entry(0, 0, 3 * CHUNK).runs(&geometry), Ok(vec![run(&[0, 1, 2], 0, CHUNK, None)]));
    // Whole chunks.
    assert_eq!(entry(32, CHUNK, 2 * CHUNK).runs(&geometry), Ok(vec![run(&[1, 2], 0, CHUNK, Some(0))]));
    // The second row: its parity is on role 2, its first chunk on role 3.
    let second = PplEntry { parity_role: 2, ..entry(96, 4096, 4096) };
    let expected = PplRun { parity: Role(2), ..run(&[3], u64::from(CHUNK), 4096, Some(0)) };
    assert_eq!(second.runs(&geometry), Ok(vec![expected]));
}

#[test]
fn entries_that_only_others_write() {
    let geometry = geometry();
    // An array range of 24 KiB from 12 KiB on: the end of chunk 0, chunk 1, the start of chunk 2.
    let runs = entry(24, CHUNK, 24 << 10).runs(&geometry).unwrap();
    let expected =
        [run(&[0, 1], 12288, 4096, Some(0)), run(&[1, 2], 0, 4096, Some(4096)), run(&[1], 4096, 8192, Some(8192))];
    assert_eq!(runs, expected);
    // The end of chunk 0 and the start of chunk 1, with nothing between.
    let runs = entry(24, CHUNK, 8192).runs(&geometry).unwrap();
    assert_eq!(runs, [run(&[0], 12288, 4096, Some(0)), run(&[1], 0, 4096, Some(4096))]);
}

#[test]
fn entries_that_mean_nothing_are_refused() {
    let geometry = geometry();
    let capacity_sectors = geometry.capacity_bytes() / 512;
    for (refused, error) in [
        (entry(capacity_sectors, 512, 512), PplEntryError::Place),
        (entry(u64::MAX, 512, 512), PplEntryError::Place),
        (entry(0, 0, 0), PplEntryError::Sizes),
        (entry(0, 100, 100), PplEntryError::Sizes),
        (entry(0, CHUNK + 512, CHUNK + 512), PplEntryError::Sizes),
        (entry(0, 4096, 4096 * 4), PplEntryError::Sizes),
        (entry(0, 4096, 512), PplEntryError::Sizes),
        (entry(0, 4096, 4096 + 512), PplEntryError::Sizes),
        (entry(0, 0, 4 * CHUNK), PplEntryError::Sizes),
        (entry(0, 0, 512), PplEntryError::Sizes),
        (entry(0, 512, u32::MAX - 511), PplEntryError::Sizes),
        (entry(64, 4096, 8192), PplEntryError::Place),
        (entry(32, 0, 3 * 4096), PplEntryError::Place),
        (entry(32, CHUNK, 3 * CHUNK), PplEntryError::Place),
        (PplEntry { parity_role: 2, ..entry(0, 512, 512) }, PplEntryError::Parity),
    ] {
        assert_eq!(refused.runs(&geometry), Err(error), "{refused:?}");
    }
}

#[test]
fn what_the_engine_logs_is_what_is_replayed() {
    let geometry = geometry();
    for (offset, chunks, length) in [(4096, 1, 512), (0, 2, CHUNK), (16896, 2, 1024), (512, 3, 4096), (0, 3, CHUNK)] {
        let span = Span { buffer: BufferId(0), offset: 0, length };
        let write = PartialParity { offset, chunks, length, parity: (chunks < 3).then_some(span) };
        let runs = PplEntry::new(&write, Role(3), 0).unwrap().runs(&geometry).unwrap();
        let first = u16::try_from(offset / u64::from(CHUNK)).unwrap();
        let data: Vec<u16> = (first..first + u16::try_from(chunks).unwrap()).collect();
        let pp = (chunks < 3).then_some(0);
        assert_eq!(runs, [run(&data, offset % u64::from(CHUNK), length, pp)], "{write:?}");
    }
}
