//! Layouts against tables written by hand from md(4): every parity layout for four and five
//! members, RAID10's patterns, RAID0's zones; and names.
use shoal_array::{Geometry, Home, Level, ParityLayout, Raid0Layout, Raid10Layout, Role, Shape};

const CHUNK: u64 = 4096;

fn geometry(level: Level, member_chunks: &[u64]) -> Geometry {
    let member_bytes = member_chunks.iter().map(|chunks| chunks * CHUNK).collect();
    Geometry::new(Shape { level, chunk_bytes: CHUNK as u32, member_bytes }).unwrap()
}

/// Rows of a parity layout, one word per role: `P`, `Q`, or the data chunk's index in the row, with
/// `/` and its exponent where there is a Q. Later rows repeat the table.
fn assert_parity(level: Level, table: &[&str]) {
    let member_count = table[0].split(' ').count();
    let geometry = geometry(level, &vec![2 * table.len() as u64; member_count]);
    assert_eq!(geometry.rows(), 2 * table.len() as u64);
    for row in 0..geometry.rows() {
        let stripe = geometry.stripe(row).unwrap();
        let mut words = vec![String::new(); member_count];
        words[stripe.p.index()] = "P".into();
        if let Some(q) = stripe.q {
            words[q.index()] = "Q".into();
        }
        for (index, (role, exponent)) in stripe.data.iter().zip(&stripe.exponents).enumerate() {
            words[role.index()] = if stripe.q.is_some() { format!("{index}/{exponent}") } else { format!("{index}") };
        }
        assert_eq!(words.join(" "), table[row as usize % table.len()], "{level:?}, row {row}");
    }
}

#[test]
fn raid4_and_raid5_put_parity_where_md_does() {
    use ParityLayout as L;
    assert_parity(Level::Raid4, &["0 1 2 P"]);
    let raid5: [(ParityLayout, &[&str], &[&str]); 6] = [
        (
            L::LeftAsymmetric,
            &["0 1 2 P", "0 1 P 2", "0 P 1 2", "P 0 1 2"],
            &["0 1 2 3 P", "0 1 2 P 3", "0 1 P 2 3", "0 P 1 2 3", "P 0 1 2 3"],
        ),
        (
            L::RightAsymmetric,
            &["P 0 1 2", "0 P 1 2", "0 1 P 2", "0 1 2 P"],
            &["P 0 1 2 3", "0 P 1 2 3", "0 1 P 2 3", "0 1 2 P 3", "0 1 2 3 P"],
        ),
        (
            L::LeftSymmetric,
            &["0 1 2 P", "1 2 P 0", "2 P 0 1", "P 0 1 2"],
            &["0 1 2 3 P", "1 2 3 P 0", "2 3 P 0 1", "3 P 0 1 2", "P 0 1 2 3"],
        ),
        (
            L::RightSymmetric,
            &["P 0 1 2", "2 P 0 1", "1 2 P 0", "0 1 2 P"],
            &["P 0 1 2 3", "3 P 0 1 2", "2 3 P 0 1", "1 2 3 P 0", "0 1 2 3 P"],
        ),
        (L::ParityFirst, &["P 0 1 2"], &["P 0 1 2 3"]),
        (L::ParityLast, &["0 1 2 P"], &["0 1 2 3 P"]),
    ];
    for (layout, four, five) in raid5 {
        assert_parity(Level::Raid5(layout), four);
        assert_parity(Level::Raid5(layout), five);
    }
}

#[test]
fn raid6_on_four_members_puts_parity_and_exponents_where_md_does() {
    use ParityLayout as L;
    let tables: [(ParityLayout, &[&str]); 14] = [
        (L::LeftAsymmetric, &["Q 0/0 1/1 P", "0/0 1/1 P Q", "0/1 P Q 1/0", "P Q 0/0 1/1"]),
        (L::RightAsymmetric, &["P Q 0/0 1/1", "0/1 P Q 1/0", "0/0 1/1 P Q", "Q 0/0 1/1 P"]),
        (L::LeftSymmetric, &["Q 0/0 1/1 P", "0/0 1/1 P Q", "1/1 P Q 0/0", "P Q 0/0 1/1"]),
        (L::RightSymmetric, &["P Q 0/0 1/1", "1/1 P Q 0/0", "0/0 1/1 P Q", "Q 0/0 1/1 P"]),
        (L::ParityFirst, &["P Q 0/0 1/1"]),
        (L::ParityLast, &["0/0 1/1 P Q"]),
        (L::DdfZeroRestart, &["P Q 0/2 1/3", "0/0 P Q 1/3", "0/0 1/1 P Q", "Q 0/1 1/2 P"]),
        (L::DdfNRestart, &["0/0 1/1 P Q", "0/0 P Q 1/3", "P Q 0/2 1/3", "Q 0/1 1/2 P"]),
        (L::DdfNContinue, &["0/0 1/1 Q P", "1/0 Q P 0/3", "Q P 0/2 1/3", "P 0/1 1/2 Q"]),
        (L::LeftAsymmetric6, &["0/0 1/1 P Q", "0/0 P 1/1 Q", "P 0/0 1/1 Q"]),
        (L::RightAsymmetric6, &["P 0/0 1/1 Q", "0/0 P 1/1 Q", "0/0 1/1 P Q"]),
        (L::LeftSymmetric6, &["0/0 1/1 P Q", "1/0 P 0/1 Q", "P 0/0 1/1 Q"]),
        (L::RightSymmetric6, &["P 0/0 1/1 Q", "1/0 P 0/1 Q", "0/0 1/1 P Q"]),
        (L::ParityFirst6, &["P 0/0 1/1 Q"]),
    ];
    for (layout, table) in tables {
        assert_parity(Level::Raid6(layout), table);
    }
}

#[test]
#[rustfmt::skip] // tables read best as tables
fn raid6_on_five_members_puts_parity_and_exponents_where_md_does() {
    use ParityLayout as L;
    let tables: [(ParityLayout, &[&str]); 14] = [
        (L::LeftAsymmetric,
         &["Q 0/0 1/1 2/2 P", "0/0 1/1 2/2 P Q", "0/1 1/2 P Q 2/0", "0/2 P Q 1/0 2/1", "P Q 0/0 1/1 2/2"]),
        (L::RightAsymmetric,
         &["P Q 0/0 1/1 2/2", "0/2 P Q 1/0 2/1", "0/1 1/2 P Q 2/0", "0/0 1/1 2/2 P Q", "Q 0/0 1/1 2/2 P"]),
        (L::LeftSymmetric,
         &["Q 0/0 1/1 2/2 P", "0/0 1/1 2/2 P Q", "1/1 2/2 P Q 0/0", "2/2 P Q 0/0 1/1", "P Q 0/0 1/1 2/2"]),
        (L::RightSymmetric,
         &["P Q 0/0 1/1 2/2", "2/2 P Q 0/0 1/1", "1/1 2/2 P Q 0/0", "0/0 1/1 2/2 P Q", "Q 0/0 1/1 2/2 P"]),
        (L::ParityFirst, &["P Q 0/0 1/1 2/2"]),
        (L::ParityLast, &["0/0 1/1 2/2 P Q"]),
        (L::DdfZeroRestart,
         &["P Q 0/2 1/3 2/4", "0/0 P Q 1/3 2/4", "0/0 1/1 P Q 2/4", "0/0 1/1 2/2 P Q", "Q 0/1 1/2 2/3 P"]),
        (L::DdfNRestart,
         &["0/0 1/1 2/2 P Q", "0/0 1/1 P Q 2/4", "0/0 P Q 1/3 2/4", "P Q 0/2 1/3 2/4", "Q 0/1 1/2 2/3 P"]),
        (L::DdfNContinue,
         &["0/0 1/1 2/2 Q P", "1/0 2/1 Q P 0/4", "2/0 Q P 0/3 1/4", "Q P 0/2 1/3 2/4", "P 0/1 1/2 2/3 Q"]),
        (L::LeftAsymmetric6, &["0/0 1/1 2/2 P Q", "0/0 1/1 P 2/2 Q", "0/0 P 1/1 2/2 Q", "P 0/0 1/1 2/2 Q"]),
        (L::RightAsymmetric6, &["P 0/0 1/1 2/2 Q", "0/0 P 1/1 2/2 Q", "0/0 1/1 P 2/2 Q", "0/0 1/1 2/2 P Q"]),
        (L::LeftSymmetric6, &["0/0 1/1 2/2 P Q", "1/0 2/1 P 0/2 Q", "2/0 P 0/1 1/2 Q", "P 0/0 1/1 2/2 Q"]),
        (L::RightSymmetric6, &["P 0/0 1/1 2/2 Q", "2/0 P 0/1 1/2 Q", "1/0 2/1 P 0/2 Q", "0/0 1/1 2/2 P Q"]),
        (L::ParityFirst6, &["P 0/0 1/1 2/2 Q"]),
    ];
    for (layout, table) in tables {
        assert_parity(Level::Raid6(layout), table);
    }
}

/// Rows of members, one word per role: the chunk that lies there, `-` where nothing does.
fn assert_chunks(geometry: &Geometry, table: &[&str]) {
    let rows = (0..geometry.member_count()).map(|index| geometry.used_bytes(Role(index as u16)) / CHUNK).max();
    assert_eq!(rows, Some(table.len() as u64), "{:?}", geometry.shape());
    for (row, expected) in (0..).zip(table) {
        let word = |index| match geometry.home(Role(index as u16), row * CHUNK) {
            Home::Data { offset, .. } => (offset / CHUNK).to_string(),
            Home::Unused => "-".into(),
            parity => panic!("{parity:?} without parity"),
        };
        let words: Vec<String> = (0..geometry.member_count()).map(word).collect();
        assert_eq!(words.join(" "), *expected, "{:?}, row {row}", geometry.shape());
    }
}

#[test]
fn raid10_lays_copies_out_as_md_does() {
    let layout = |near, far, offset, far_sets| Level::Raid10(Raid10Layout { near, far, offset, far_sets });
    let check = |level, member_count, member_chunks, table: &[&str]| {
        assert_chunks(&geometry(level, &vec![member_chunks; member_count]), table);
    };
    check(layout(2, 1, false, false), 4, 2, &["0 0 1 1", "2 2 3 3"]);
    check(layout(2, 1, false, false), 3, 3, &["0 0 1", "1 2 2", "3 3 -"]);
    check(layout(3, 1, false, false), 4, 3, &["0 0 0 1", "1 1 2 2", "2 3 3 3"]);
    check(layout(1, 2, false, false), 4, 4, &["0 1 2 3", "4 5 6 7", "3 0 1 2", "7 4 5 6"]);
    check(layout(1, 2, false, false), 3, 5, &["0 1 2", "3 4 5", "2 0 1", "5 3 4"]);
    check(layout(1, 2, false, true), 4, 2, &["0 1 2 3", "1 0 3 2"]);
    check(layout(1, 2, false, true), 5, 2, &["0 1 2 3 4", "1 0 4 2 3"]);
    check(layout(1, 2, true, false), 4, 4, &["0 1 2 3", "3 0 1 2", "4 5 6 7", "7 4 5 6"]);
    check(layout(1, 3, true, false), 4, 3, &["0 1 2 3", "3 0 1 2", "2 3 0 1"]);
    check(layout(2, 2, false, false), 4, 2, &["0 0 1 1", "1 1 0 0"]);
    check(layout(2, 2, false, false), 5, 4, &["0 0 1 1 2", "2 3 3 4 4", "1 2 0 0 1", "4 4 2 3 3"]);
}

#[test]
fn raid0_counts_later_zones_as_its_layout_says() {
    let chunks = [1, 2, 4, 2, 3];
    let original = geometry(Level::Raid0(Raid0Layout::Original), &chunks);
    let alternate = geometry(Level::Raid0(Raid0Layout::Alternate), &chunks);
    assert_chunks(&original, &["0 1 2 3 4", "- 8 5 6 7", "- - 10 - 9", "- - 11 - -"]);
    assert_chunks(&alternate, &["0 1 2 3 4", "- 5 6 7 8", "- - 9 - 10", "- - 11 - -"]);
}

#[test]
fn linear_ends_members_where_the_rounding_says() {
    let linear = |chunk_bytes| {
        let member_bytes = vec![10_000, 4_096, 20_481];
        Geometry::new(Shape { level: Level::Linear, chunk_bytes, member_bytes }).unwrap()
    };
    assert_eq!(linear(4096).capacity_bytes(), 8_192 + 4_096 + 20_480);
    assert_eq!(linear(0).capacity_bytes(), 9_728 + 4_096 + 20_480);
    assert_eq!(linear(0).piece(9_728 + 4_096, 100_000).copies[..], [(Role(2), 0)]);
    assert_eq!(linear(0).piece(9_000, 100_000).length, 728);
}

#[test]
fn layouts_are_named_as_mdadm_names_them_and_read_back() {
    assert_eq!(Level::Raid6(ParityLayout::LeftSymmetric).to_string(), "raid6");
    assert_eq!(ParityLayout::DdfNRestart.to_string(), "ddf-N-restart");
    for layout in ParityLayout::ALL {
        assert_eq!(layout.to_string().parse(), Ok(layout));
    }
    for layout in [Raid0Layout::Original, Raid0Layout::Alternate] {
        assert_eq!(layout.to_string().parse(), Ok(layout));
    }
    let layout = |near, far, offset, far_sets| Raid10Layout { near, far, offset, far_sets };
    let names = [
        ("n2", "near=2", layout(2, 1, false, false)),
        ("f2", "far=2", layout(1, 2, false, false)),
        ("o3", "offset=3", layout(1, 3, true, false)),
        ("n2,f2", "near=2, far=2", layout(2, 2, false, false)),
        ("f2,far-sets", "far=2, far-sets", layout(1, 2, false, true)),
    ];
    for (short, long, layout) in names {
        assert_eq!(short.parse(), Ok(layout));
        assert_eq!(long.parse(), Ok(layout));
        assert_eq!(layout.to_string(), long);
    }
    for wrong in ["", "n", "n1", "x2", "near2", "n999", "n2,"] {
        assert!(wrong.parse::<Raid10Layout>().is_err(), "{wrong:?}");
    }
    assert!("left".parse::<ParityLayout>().is_err());
}
