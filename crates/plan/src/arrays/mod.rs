//! Which arrays of given drives are worth a look, and what each holds: as md would place it, by the
//! code that does.

mod arrangement;
mod capacity;
mod places;
#[cfg(test)]
mod tests;

use shoal_volume::ArrayLevel;

use crate::drives::Inventory;

pub use arrangement::Arrangement;
pub use capacity::{Capacity, capacity};
pub use places::plug_in;

/// Drives that can be sorted into more groups than this are not: nobody runs a RAID50 of many small
/// RAID5.
const GROUPS_MAX: usize = 4;
/// Most drives that a plan is made for: the studies had twelve.
pub const DRIVES_MAX: usize = 64;

/// A level, its layout and its groups, over so many members with so many spares.
struct Variant {
    level: &'static str,
    layout: Option<&'static str>,
    groups: usize,
    members: usize,
    spares: usize,
}

/// All arrays worth a look. Where members have to be equal, larger drives are taken first, and
/// smaller ones are left out if that gives more room.
pub fn sensible_arrangements(inventory: &Inventory) -> Vec<Arrangement> {
    let mut by_size: Vec<usize> = (0..inventory.drives.len()).collect();
    by_size.sort_by_key(|&drive| std::cmp::Reverse(inventory.drives[drive].model.size_bytes));
    let count = by_size.len();
    let mut arrangements: Vec<Arrangement> = Vec::new();
    let mut seen = Vec::new();
    let sizes: Vec<u64> = by_size.iter().map(|&drive| inventory.drives[drive].model.size_bytes).collect();
    for used in useful_counts(&sizes) {
        for variant in variants(used).into_iter().filter(|variant| used == count || needs_equal_members(variant)) {
            let (members, spares) = by_size[..used].split_at(variant.members);
            let level =
                ArrayLevel::parse(variant.level, variant.layout, variant.groups).expect("these are levels and layouts");
            let key = (variant.level, variant.layout, variant.groups, members.to_vec(), spares.len());
            if !seen.contains(&key) {
                seen.push(key);
                arrangements.push(plug_in(inventory, level, members, &spares[..variant.spares]));
            }
        }
    }
    arrangements
}

/// All drives; and, where some are smaller, all but those.
fn useful_counts(sizes: &[u64]) -> Vec<usize> {
    let mut counts = vec![sizes.len()];
    // A tenth is what drives "of one size" differ by.
    let steps = (1..sizes.len()).filter(|&at| sizes[at] < sizes[at - 1] / 10 * 9);
    counts.extend(steps);
    counts
}

fn needs_equal_members(variant: &Variant) -> bool {
    !matches!(variant.level, "linear" | "0")
}

/// What can be made of so many drives.
fn variants(count: usize) -> Vec<Variant> {
    let mut variants = Vec::new();
    let mut add = |level, layout, groups, members, spares| {
        variants.push(Variant { level, layout, groups, members, spares });
    };
    if count >= 2 {
        add("linear", None, 1, count, 0);
        add("0", None, 1, count, 0);
        add("1", None, 1, 2, 0);
    }
    if count >= 3 {
        add("1", None, 1, 3, 0);
        add("5", None, 1, count, 0);
    }
    if count >= 4 {
        add("5", None, 1, count - 1, 1);
        add("6", None, 1, count, 0);
        let even = count / 2 * 2;
        add("10", None, 1, even, count - even);
        add("10", Some("f2"), 1, even, count - even);
    }
    if count >= 5 && count.is_multiple_of(2) {
        add("10", None, 1, count - 2, 1);
    }
    if count >= 6 {
        add("6", None, 1, count - 1, 1);
    }
    for groups in 2..=GROUPS_MAX {
        if count.is_multiple_of(groups) && count / groups >= 3 {
            add("50", None, groups, count, 0);
        }
        if count.is_multiple_of(groups) && count / groups >= 4 {
            add("60", None, groups, count, 0);
        }
    }
    variants
}
