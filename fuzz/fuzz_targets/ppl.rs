//! A partial-parity log: the newest write of it, and what its replay would touch, on arrays of
//! several shapes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use shoal_array::{Geometry, Level, ParityLayout, Shape};
use shoal_md::{PPL_ENTRIES_MAX, PPL_HEADER_BYTES, PplEntry, PplHeader, Uuid, newest_ppl};

const ARRAY: Uuid = Uuid([0x5a; 16]);
const SIGNATURE_PLACE: usize = 512;
const CHECKSUM_PLACE: usize = 532;

fuzz_target!(|input: &[u8]| {
    for (is_chain, block_bytes) in [(false, 512), (true, 512), (true, 4096)] {
        let found = newest_ppl(input.len() as u64, is_chain, block_bytes, ARRAY, |offset, bytes| {
            let from = usize::try_from(offset).expect("within the input");
            bytes.copy_from_slice(&input[from..from + PPL_HEADER_BYTES]);
            // What starts as a header does is made right; few inputs would be otherwise.
            if bytes[0] == 0xff {
                sign(bytes);
            }
            Ok::<(), ()>(())
        });
        let Ok(Ok(write)) = found else { continue };
        assert!(write.offset_bytes + PPL_HEADER_BYTES as u64 <= input.len() as u64);
        assert!(write.header.entries.len() <= PPL_ENTRIES_MAX);
        assert_eq!(PplHeader::parse(&write.header.encode(ARRAY), ARRAY).as_ref(), Ok(&write.header));
        for (members, chunk_bytes) in [(3, 64 << 10), (4, 512 << 10), (5, 4 << 10)] {
            let level = Level::Raid5(ParityLayout::LeftSymmetric);
            let shape = Shape { level, chunk_bytes, member_bytes: vec![32 << 20; members] };
            let geometry = Geometry::new(shape).expect("an ordinary array");
            write.header.entries.iter().for_each(|entry| check(entry, &geometry));
        }
    }
});

/// A replay touches one stripe of the array's members, and reads no more partial parity than there
/// is.
fn check(entry: &PplEntry, geometry: &Geometry) {
    let Ok(runs) = entry.runs(geometry) else { return };
    let chunk_bytes = u64::from(geometry.shape().chunk_bytes);
    for run in runs {
        let end = run.member_offset + u64::from(run.length);
        assert!(end <= geometry.shape().member_bytes[0], "{run:?}");
        assert_eq!(run.member_offset / chunk_bytes, (end - 1) / chunk_bytes, "{run:?}");
        assert!(!run.data.contains(&run.parity), "{run:?}");
        let parity_end = run.partial_parity_offset.map_or(0, |offset| offset + run.length);
        assert!(parity_end <= entry.partial_parity_bytes, "{run:?}");
    }
}

fn sign(bytes: &mut [u8; PPL_HEADER_BYTES]) {
    bytes[SIGNATURE_PLACE..SIGNATURE_PLACE + 4].copy_from_slice(&crc32c::crc32c(&ARRAY.0).to_le_bytes());
    bytes[CHECKSUM_PLACE..CHECKSUM_PLACE + 4].fill(0);
    let sum = crc32c::crc32c(bytes);
    bytes[CHECKSUM_PLACE..CHECKSUM_PLACE + 4].copy_from_slice(&sum.to_le_bytes());
}
