//! Which members an array is shown with, though not all are named and some cannot be opened.
//!
//! | a drive | what is shown |
//! | --- | --- |
//! | is named and is a member | the member |
//! | is named, and cannot be opened or is no member | its problem is told; the array as it is without it |
//! | is not named, is where this host last saw a member, and says that it is the member | the member, among [`Shown::unnamed`] |
//! | is not named, and not where this host last saw it | that it is missing |
//! | is not named, and this host has never seen it | that nobody named it, by [`Shown::is_counted_on`] |

use std::path::PathBuf;

use shoal_md::{Candidate, Uuid};
use shoal_memory::Member;
use shoal_unattended::members::{absent, is_replacing};
use shoal_volume::Role;

use crate::asked::Silence;
use crate::environment::Environment;
use crate::look::{self, Look, Seen};
use crate::present::{PresentError, sight};
use crate::search::{Named, SearchError, member_paths, outer_superblock};
use crate::simulated;

/// The members that an array is shown with.
#[derive(Debug)]
pub struct Shown {
    /// Where they are.
    pub paths: Vec<PathBuf>,
    /// Those of them that were not named, and are where this host last saw them.
    pub unnamed: Vec<PathBuf>,
    /// Of each array, the roles of members that it counts on and that are not among them.
    counted_on: Vec<(Uuid, Vec<Role>)>,
    named_count: usize,
    is_searched: bool,
}

impl Shown {
    /// Whether all drives of an array of `drive_count` were named, or looked for: what is missing
    /// then is missing.
    pub fn is_all(&self, drive_count: usize) -> bool {
        self.is_searched || self.named_count >= drive_count
    }

    /// Whether the array with this UUID counts on a member in a role where none is shown. What is
    /// not known to have failed is counted on.
    pub fn is_counted_on(&self, array: &str, role: Role) -> bool {
        let known = self.counted_on.iter().find(|(uuid, _)| uuid.to_string() == array);
        known.is_none_or(|(_, roles)| roles.contains(&role))
    }
}

/// The members to show an array with. What is wrong with single drives is told.
///
/// # Errors
/// None of them can be shown.
pub fn members_to_show(environment: &Environment, named: &Named) -> Result<Shown, PresentError> {
    let is_searched = named.scan.is_some() || named.uuid.is_some();
    simulated::refuse(&named.drives).map_err(SearchError::from)?;
    shown(environment, &member_paths(environment, named)?, is_searched)
}

/// The same of the members that a search has found: no other is looked for.
///
/// # Errors
/// None of them can be shown.
pub fn found_to_show(environment: &Environment, found: &[PathBuf]) -> Result<Shown, PresentError> {
    shown(environment, found, true)
}

fn shown(environment: &Environment, paths: &[PathBuf], is_searched: bool) -> Result<Shown, PresentError> {
    let (mut members, mut refusals) = (Vec::new(), Vec::new());
    for looked in look::look(environment, paths) {
        match looked {
            Look::Member(seen) => members.push(*seen),
            Look::No(why) => refusals.push(why),
            Look::Silent => {}
        }
    }
    if members.is_empty() && !refusals.is_empty() {
        return Err(SearchError::NoMember(refusals.swap_remove(0)).into());
    }
    if let (true, Some(path)) = (members.is_empty(), paths.first()) {
        return Err(PresentError::AllSilent(Silence { path: path.clone() }));
    }
    refusals.iter().for_each(|why| environment.tell(&format!("{why}: the array is shown without it")));
    let remembered = if is_searched { Remembered::default() } else { remembered(environment, &members) };
    let unnamed = remembered.there.iter().map(|seen| seen.path.clone()).collect();
    members.extend(remembered.there);
    let mut counted_on = counted_on(&members);
    for (array, roles) in &mut counted_on {
        roles.retain(|role| !remembered.gone.contains(&(*array, *role)));
    }
    Ok(Shown {
        unnamed,
        counted_on,
        paths: members.into_iter().map(|seen| seen.path).collect(),
        named_count: paths.len(),
        is_searched,
    })
}

/// Members that were not named, as this host remembers them.
#[derive(Default)]
struct Remembered {
    /// They are where it saw them last.
    there: Vec<Seen>,
    /// They are not: their array, and their roles.
    gone: Vec<(Uuid, Role)>,
}

fn remembered(environment: &Environment, members: &[Seen]) -> Remembered {
    let candidates: Vec<_> = members.iter().map(Seen::candidate).collect();
    let mut remembered = Remembered::default();
    for group in shoal_md::group_by_array(&candidates) {
        let group: Vec<_> = group.into_iter().map(|index| &members[index]).collect();
        remember(environment, &group, &mut remembered);
    }
    remembered
}

/// Those of one array; none if this host has not run it.
fn remember(environment: &Environment, group: &[&Seen], remembered: &mut Remembered) -> Option<()> {
    // What is wrong with a book is told when the array is opened.
    let book = environment.store()?.read(group.first()?.superblock.array_uuid).ok()??;
    let candidates: Vec<_> = group.iter().map(|seen| seen.candidate()).collect();
    // One that failed is no part of the array, though its drive is there. What those say who missed
    // something, or are no members to this host, is nothing to go by.
    let roles = absent(&candidates).ok()?;
    let is_known = |seen: &&Seen| book.members().iter().any(|member| member.uuid == seen.superblock.device_uuid);
    let are_old = group.iter().all(|seen| seen.superblock.events < book.events() || !is_known(seen));
    let is_missed = |member: &&Member| group.iter().all(|seen| seen.superblock.device_uuid != member.uuid);
    let role_of = |member: &Member| member.role.map(Role).filter(|role| are_old || roles.contains(role));
    let missed: Vec<_> = book.members().iter().filter(is_missed).collect();
    // Of those without a role none is looked for but a replacement: a spare may hang.
    let may_replace = is_replacing(&candidates).ok()?;
    let is_shown = |member: &&Member| member.role.map_or(may_replace, |_| role_of(member).is_some());
    let missed: Vec<_> = missed.into_iter().filter(is_shown).collect();
    if missed.is_empty() {
        return None;
    }
    let mut sight = sight(environment, &book, group, &missed);
    for member in missed {
        let role = role_of(member);
        let is_it = |(_, looked): &(PathBuf, Look)| {
            let own = |seen: &Seen| (seen.superblock.array_uuid, seen.superblock.device_uuid);
            matches!(looked, Look::Member(seen) if own(seen) == (book.array(), member.uuid))
        };
        let seen = sight.iter().position(is_it).and_then(|place| sight.swap_remove(place).1.member());
        match (seen, role) {
            (Some(seen), _) => remembered.there.push(seen),
            (None, Some(role)) => remembered.gone.push((book.array(), role)),
            (None, None) => {}
        }
    }
    Some(())
}

/// By array, also of those whose members are arrays: what these say lies in their content.
fn counted_on(members: &[Seen]) -> Vec<(Uuid, Vec<Role>)> {
    let candidates: Vec<_> = members.iter().map(Seen::candidate).collect();
    let groups = shoal_md::group_by_array(&candidates);
    let outer = |group: &Vec<usize>| {
        let paths: Vec<_> = group.iter().map(|&index| members[index].path.clone()).collect();
        let inner = members[*group.first()?].superblock.array_uuid;
        Some(Candidate { drive: inner.to_string(), superblock: outer_superblock(&paths)? })
    };
    let around: Vec<_> = groups.iter().filter_map(outer).collect();
    roles_counted_on(&candidates).into_iter().chain(roles_counted_on(&around)).collect()
}

fn roles_counted_on(candidates: &[Candidate]) -> Vec<(Uuid, Vec<Role>)> {
    let of_group = |group: Vec<usize>| {
        let group: Vec<_> = group.into_iter().map(|index| candidates[index].clone()).collect();
        Some((group.first()?.superblock.array_uuid, absent(&group).ok()?))
    };
    shoal_md::group_by_array(candidates).into_iter().filter_map(of_group).collect()
}
