//! Which of an array's members are given, before it is opened: those that do not answer, and those
//! that were left out.
//!
//! | a member that this host has seen in the last update, and that is not given | what starts the array | what only reads it |
//! | --- | --- | --- |
//! | its drive is where it was, and says that it is the member, or does not answer | is refused, unless `--degraded` or `--force` says so | is refused in the same way if the array cannot do without it |
//! | it is not to be found there | goes on as the level allows, and tells it once the array is started | goes on |
//!
//! Whatever is written from then on, such a member misses: it is stale, and is filled anew when it
//! comes back. Who only reads leaves the members as they are, and is told nothing.

use std::path::{Path, PathBuf};

use shoal_documents::{Fault, HasFault};
use shoal_md::{Candidate, MemberUse, Uuid};
use shoal_memory::{Book, Member, judge};
use shoal_unattended::members::{absent, is_replacing};
use shoal_volume::{Features, Health, Role, Superblock};

use crate::asked::Silence;
use crate::copies::{CopyOfMember, refuse_copies};
use crate::drives::same_file;
use crate::environment::Environment;
use crate::inside::{around, arrays_inside, book_around};
use crate::look::{self, Look, Seen};
use crate::places::places;
use crate::search::{Named, SearchError, member_paths};

/// What an array's members are opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// To be read: nothing that they miss is written. If too few are given, others must not be
    /// there.
    Read,
    /// To be read, whoever else is there.
    ReadWithout,
    /// To be written, if all are there that this host has seen in the array's last update.
    Write,
    /// To be written, also without those.
    WriteWithout,
}

impl Intent {
    /// To be written if `writable`; `without` says that members may be left out.
    pub fn of(writable: bool, without: bool) -> Self {
        match (writable, without) {
            (false, false) => Self::Read,
            (false, true) => Self::ReadWithout,
            (true, false) => Self::Write,
            (true, true) => Self::WriteWithout,
        }
    }
}

/// Why an array's members are not opened.
#[derive(Debug, thiserror::Error)]
pub enum PresentError {
    /// They are not found.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// One does not answer.
    #[error("{0}; with --degraded the array is started without it")]
    Silent(Silence),
    /// None of them answers; the first.
    #[error("{0}; no other member that was named answers either")]
    AllSilent(Silence),
    /// Some are there, and were not given.
    #[error(
        "array {array} has members that were not given, and are there or do not answer: add {} to the list, or say --degraded to \
         leave them out, and they miss what is written then",
        drives.join(" and ")
    )]
    NotGiven {
        /// The array's name.
        array: String,
        /// Where they are.
        drives: Vec<String>,
    },
    /// One has been copied, and the copy was given.
    #[error(transparent)]
    Copy(#[from] CopyOfMember),
    /// Those that were given are too few to be the array, and others are there.
    #[error(
        "array {array}: too few of its members were named, and others are there or do not answer: add {} to the list, or say with \
         --scan in which directory they are",
        drives.join(" and ")
    )]
    TooFewGiven {
        /// The array's name.
        array: String,
        /// Where the others are.
        drives: Vec<String>,
    },
}

impl HasFault for PresentError {
    fn fault(&self) -> Fault {
        match self {
            Self::Search(error) => error.fault(),
            Self::Silent(error) | Self::AllSilent(error) => error.fault(),
            Self::Copy(error) => error.fault(),
            Self::NotGiven { .. } | Self::TooFewGiven { .. } => Fault::Refused,
        }
    }
}

/// The members of the array that is named, to be opened for this. `newcomer` is a drive that is to
/// come to it and is no member.
pub fn members_to_open(
    environment: &Environment,
    named: &Named,
    intent: Intent,
    newcomer: Option<&Path>,
) -> Result<ToOpen, PresentError> {
    let mut paths = member_paths(environment, named)?;
    if let Some(newcomer) = newcomer.filter(|_| named.scan.is_some() || named.uuid.is_some()) {
        paths.retain(|path| !same_file(path, newcomer));
    }
    let (mut there, mut members, mut are_members) = (Vec::new(), Vec::new(), true);
    for (path, looked) in paths.iter().zip(look::look(environment, &paths)) {
        match looked {
            Look::Silent if intent == Intent::Write => {
                return Err(PresentError::Silent(Silence { path: path.clone() }));
            }
            // It has been told.
            Look::Silent => continue,
            Look::Member(seen) => members.push(*seen),
            // Who opens it says what is wrong with it.
            Look::No(_) => are_members = false,
        }
        there.push(path.clone());
    }
    if let (true, Some(path)) = (there.is_empty(), paths.first()) {
        return Err(PresentError::AllSilent(Silence { path: path.clone() }));
    }
    let mut remarks = Vec::new();
    if matches!(intent, Intent::Write | Intent::WriteWithout) {
        refuse_copies(environment, &members)?;
    }
    if intent != Intent::ReadWithout && are_members {
        for absent in absent_members(environment, &members, newcomer) {
            remarks.extend(absent.weigh(intent)?);
        }
    }
    Ok(ToOpen { paths: there, remarks })
}

/// What an array is opened with.
#[derive(Debug)]
pub struct ToOpen {
    /// Where its members are.
    pub paths: Vec<PathBuf>,
    /// Without whom it is started: to be told once it is, a sentence each.
    pub remarks: Vec<String>,
}

/// Refuses drives of which one does not answer, for who needs them all.
pub fn refuse_silent(environment: &Environment, paths: &[PathBuf]) -> Result<(), Silence> {
    let looks = look::look(environment, paths);
    let silent = paths.iter().zip(looks).find(|(_, looked)| matches!(looked, Look::Silent));
    silent.map_or(Ok(()), |(path, _)| Err(Silence { path: path.clone() }))
}

/// Whether an array is one without its absent members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// Its level survives that.
    Spared,
    /// It lacks more than its level survives.
    Needed,
}

/// Members of an array that this host has seen in its last update, and that were not given.
struct Absent {
    array: String,
    need: Need,
    /// Whose drives are where they were.
    present: Vec<String>,
    /// Whose are not, as they were called.
    gone: Vec<String>,
}

impl Absent {
    /// What is to be told once the array is started without them; nothing of one that will not be.
    fn weigh(self, intent: Intent) -> Result<Option<String>, PresentError> {
        let Self { array, need, present, gone } = self;
        let are_there = !present.is_empty();
        match (need, intent) {
            (Need::Spared, Intent::Write) if are_there => Err(PresentError::NotGiven { array, drives: present }),
            (Need::Needed, Intent::Read | Intent::Write) if are_there => {
                Err(PresentError::TooFewGiven { array, drives: present })
            }
            (Need::Spared, Intent::Write | Intent::WriteWithout) => {
                let drives = [present, gone].concat().join(" and ");
                let told = "what is written from now on is missing there";
                Ok(Some(format!("array {array} is started without {drives}: {told}")))
            }
            (Need::Needed, _) | (Need::Spared, Intent::Read | Intent::ReadWithout) => Ok(None),
        }
    }

    /// Looks where the wanted members of an array are, beside those of the group too.
    fn look(
        &mut self,
        environment: &Environment,
        (book, wanted): (&Book, &[&Member]),
        group: &[&Seen],
        newcomer: Option<&Path>,
    ) {
        let sight = sight(environment, book, group, wanted);
        for member in wanted {
            match stand_of(member, &sight, book, group, newcomer) {
                Stand::Present(place) => self.present.push(place),
                Stand::Gone => self.gone.push(member.drive.clone()),
                Stand::Unasked => {}
            }
        }
    }
}

/// By array, of those that this host knows.
fn absent_members(environment: &Environment, members: &[Seen], newcomer: Option<&Path>) -> Vec<Absent> {
    let Some(store) = environment.store() else { return Vec::new() };
    let candidates: Vec<_> = members.iter().map(Seen::candidate).collect();
    let groups = shoal_md::group_by_array(&candidates);
    let Ok(around) = around(&store, &groups, members) else {
        // Arrays were mixed up, which is told when they are opened.
        return Vec::new();
    };
    let of_group = |group: Vec<usize>| {
        let group: Vec<_> = group.into_iter().map(|index| &members[index]).collect();
        // What is wrong with a book is told when the array is opened.
        let book = store.read(group.first()?.superblock.array_uuid).ok()??;
        of_array(environment, &book, &group, newcomer)
    };
    let inside: Vec<_> = groups.iter().map(|group| members[group[0]].superblock.array_uuid).collect();
    let mut absent: Vec<_> = groups.into_iter().filter_map(of_group).collect();
    if let Some(book) = book_around(&store, &around) {
        let left_out = arrays_inside(&book).filter(|array| !inside.contains(array));
        let books = left_out.filter_map(|array| store.read(array).ok()?);
        absent.extend(books.filter_map(|book| of_array_inside(environment, &book, members, newcomer)));
    }
    absent
}

fn of_array(environment: &Environment, book: &Book, group: &[&Seen], newcomer: Option<&Path>) -> Option<Absent> {
    let found: Vec<_> = group.iter().map(|seen| seen.found()).collect();
    let judgement = judge(Some(book), &found);
    let is_in = |index: &usize| judgement.left_out.iter().all(|(out, _)| out != index);
    let candidates: Vec<_> = (0..found.len()).filter(is_in).map(|index| found[index].candidate.clone()).collect();
    if judgement.doubt.is_some() {
        // What speaks against it says more.
        return None;
    }
    let need =
        if shoal_md::assemble(&candidates).ok()?.health() == Health::Failed { Need::Needed } else { Need::Spared };
    // Only those that the array itself counts on, if it is one: elsewhere others may have taken
    // their roles.
    let roles = absent(&candidates).ok()?;
    let is_counted_on =
        |role| need == Need::Needed || roles.contains(&Role(role)) || candidates.iter().any(is_replacement_of(role));
    let is_absent = |uuid: Uuid| group.iter().all(|seen| seen.superblock.device_uuid != uuid);
    // Of those without a role none is looked for but a replacement: a spare may hang.
    let may_replace = is_replacing(&candidates).ok()?;
    let is_wanted = |member: &&Member| member.role.map_or(may_replace, is_counted_on) && is_absent(member.uuid);
    let wanted: Vec<&Member> = book.members().iter().filter(is_wanted).collect();
    let mut found = Absent { array: name(group), need, present: Vec::new(), gone: Vec::new() };
    if wanted.is_empty() {
        return None;
    }
    found.look(environment, (book, &wanted), group, newcomer);
    (!found.present.is_empty() || !found.gone.is_empty()).then_some(found)
}

/// An array inside the one of these members, of which none was given. The array around it can do
/// without, or says so when it is opened.
fn of_array_inside(
    environment: &Environment,
    book: &Book,
    members: &[Seen],
    newcomer: Option<&Path>,
) -> Option<Absent> {
    let group: Vec<&Seen> = members.iter().collect();
    let wanted: Vec<&Member> = book.members().iter().filter(|member| member.role.is_some()).collect();
    let array = format!("around {}", name(&group));
    let mut found = Absent { array, need: Need::Spared, present: Vec::new(), gone: Vec::new() };
    found.look(environment, (book, &wanted), &group, newcomer);
    (!found.present.is_empty() || !found.gone.is_empty()).then_some(found)
}

/// What has become of a member that was not given.
enum Stand {
    /// It is there, or does not answer.
    Present(String),
    /// It is not to be found.
    Gone,
    /// It is the newcomer, a spare, or one that is out.
    Unasked,
}

fn stand_of(
    member: &Member,
    sight: &[(PathBuf, Look)],
    book: &Book,
    group: &[&Seen],
    newcomer: Option<&Path>,
) -> Stand {
    let path = Path::new(&member.drive);
    let is_newcomer = |place: &Path| newcomer.is_some_and(|newcomer| same_file(newcomer, place));
    let is_it = |looked: &Look| matches!(looked, Look::Member(seen) if is_in_use(&seen.superblock, member, book));
    let is_silent =
        |(place, looked): &(PathBuf, Look)| matches!(looked, Look::Silent) && places(path, group).contains(place);
    match sight.iter().find(|(place, looked)| is_it(looked) && !is_newcomer(place)) {
        Some((place, _)) if same_file(place, path) => Stand::Present(member.drive.clone()),
        Some((place, _)) => Stand::Present(place.display().to_string()),
        None if is_newcomer(path) || member.role.is_none() => Stand::Unasked,
        None if sight.iter().any(is_silent) => Stand::Present(member.drive.clone()),
        None => Stand::Gone,
    }
}

/// Whether a candidate is to replace the member with this role, which holds all of its data until
/// then.
fn is_replacement_of(role: u16) -> impl Fn(&Candidate) -> bool {
    move |candidate| {
        let superblock = &candidate.superblock;
        superblock.features.any_of(Features::REPLACEMENT) && superblock.own_use() == MemberUse::Active(Role(role))
    }
}

/// Whether this is the superblock of a member in use. Of those without a role of their own that is
/// a replacement that is being filled: without it the copy is at an end.
fn is_in_use(superblock: &Superblock, member: &Member, book: &Book) -> bool {
    let is_it = (superblock.array_uuid, superblock.device_uuid) == (book.array(), member.uuid);
    let is_replacement = || superblock.features.any_of(Features::REPLACEMENT) && superblock.events >= book.events();
    is_it && (member.role.is_some() || is_replacement())
}

/// What is where the members of an array were last seen that have a role, or are among `wanted`:
/// names may have moved from one to another. Those that are given are not looked at.
pub(crate) fn sight(
    environment: &Environment,
    book: &Book,
    group: &[&Seen],
    wanted: &[&Member],
) -> Vec<(PathBuf, Look)> {
    let is_looked_for = |member: &&Member| member.role.is_some() || wanted.contains(member);
    let members = book.members().iter().filter(is_looked_for);
    let mut all: Vec<PathBuf> = Vec::new();
    for place in members.flat_map(|member| places(Path::new(&member.drive), group)) {
        if !all.contains(&place) && group.iter().all(|seen| seen.path != place) {
            all.push(place);
        }
    }
    let looks = look::look(environment, &all);
    all.into_iter().zip(looks).collect()
}

fn name(group: &[&Seen]) -> String {
    let superblock = &group[0].superblock;
    match superblock.name() {
        name if name.is_empty() => superblock.array_uuid.to_string(),
        name => name,
    }
}
