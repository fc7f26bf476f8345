//! Arrays inside an array, by the members that were given of each.

use shoal_md::Uuid;
use shoal_memory::Book;
use shoal_volume::Superblock;

use crate::look::Seen;
use crate::search::outer_superblock;

/// They are of several arrays, and not all inside one.
pub(crate) struct MixedUp;

/// The array around all of these, by what their contents say; none if they are one that is inside
/// nothing. Of some too little may be there to tell.
pub(crate) fn around(groups: &[Vec<usize>], members: &[Seen]) -> Result<Option<Superblock>, MixedUp> {
    let around = |group: &Vec<usize>| {
        let paths: Vec<_> = group.iter().map(|&index| members[index].path.clone()).collect();
        outer_superblock(&paths)
    };
    let mut around = groups.iter().filter_map(around);
    match around.next() {
        None if groups.len() > 1 => Err(MixedUp),
        first => {
            let is_same = |other: Superblock| first.as_ref().is_some_and(|first| first.array_uuid == other.array_uuid);
            if around.all(is_same) { Ok(first) } else { Err(MixedUp) }
        }
    }
}

/// The arrays that an array's members are.
pub(crate) fn arrays_inside(book: &Book) -> impl Iterator<Item = Uuid> {
    book.members().iter().filter(|member| member.role.is_some()).filter_map(shoal_memory::Member::array)
}
