//! Arrays inside an array, by the members that were given of each.

use shoal_md::{Candidate, Uuid};
use shoal_memory::{Book, Found, Store, hardware_of_array, judge};

use crate::look::Seen;
use crate::search::outer_superblock;

/// They are of several arrays, and not all inside one.
pub(crate) struct MixedUp;

/// The superblocks of the array around all of these, by what their contents say, as members of it;
/// none if they are one array that is inside nothing. Of some too little may be there to tell. The
/// contents are not looked at if they are one array, and this host knows of none around it.
pub(crate) fn around(store: &Store, groups: &[Vec<usize>], members: &[Seen]) -> Result<Vec<Found>, MixedUp> {
    if let [group] = groups
        && !is_inside(store, members[group[0]].superblock.array_uuid)
    {
        return Ok(Vec::new());
    }
    let around = |group: &Vec<usize>| {
        let paths: Vec<_> = group.iter().map(|&index| members[index].path.clone()).collect();
        let inside = &members[group[0]].superblock;
        let candidate = Candidate { drive: inside.name(), superblock: outer_superblock(&paths)? };
        Some(Found { candidate, hardware: Some(hardware_of_array(inside.array_uuid)) })
    };
    let around: Vec<_> = groups.iter().filter_map(around).collect();
    let array = |found: &Found| found.candidate.superblock.array_uuid;
    let is_one = around.iter().all(|found| array(found) == array(&around[0]));
    if is_one && (groups.len() == 1 || !around.is_empty()) { Ok(around) } else { Err(MixedUp) }
}

/// Whether this host knows of an array around this one.
fn is_inside(store: &Store, array: Uuid) -> bool {
    let books = store.arrays().into_iter().filter_map(|other| store.read(other).ok()?);
    books.into_iter().any(|book| arrays_inside(&book).any(|inside| inside == array))
}

/// What is known of the array around these, if nothing speaks against them: that is told when it
/// is opened.
pub(crate) fn book_around(store: &Store, around: &[Found]) -> Option<Book> {
    let book = store.read(around.first()?.candidate.superblock.array_uuid).ok()??;
    judge(Some(&book), around).doubt.is_none().then_some(book)
}

/// The arrays that an array's members are.
pub(crate) fn arrays_inside(book: &Book) -> impl Iterator<Item = Uuid> {
    book.members().iter().filter(|member| member.role.is_some()).filter_map(shoal_memory::Member::array)
}
