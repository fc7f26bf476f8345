//! What this host remembers of its arrays: who may see it, who writes it, and how much is believed
//! beyond it.

use std::path::PathBuf;

use shoal_documents::{Fault, HasFault};
use shoal_md::{Superblock, Uuid};
use shoal_memory::{Book, FileKeeper, Found, Hold, Keeper, Member, Reader, Refusal, Sight, Store, Taken};
use shoal_volume::{HostMemory, Role, Trust};

use crate::environment::{Environment, EnvironmentError, STATE_VARIABLE};

/// What an array is opened for, as far as this host's memory is concerned.
#[derive(Clone, Copy, Debug)]
pub enum Purpose {
    /// It is written to, or offered to others: what is in doubt is refused, unless that is trusted.
    /// What is seen is remembered.
    Start(Trust),
    /// The same, found out for somebody else who starts it. Nothing is remembered.
    Choose(Trust),
    /// Doubts are told. Nothing is remembered.
    Look,
}

/// How much is believed beyond what is remembered: `force` overrules all doubts, `degraded` those
/// about members that are missing.
pub fn trust(force: bool, degraded: bool) -> Trust {
    match (force, degraded) {
        (true, _) => Trust::Anything,
        (false, true) => Trust::Degraded,
        (false, false) => Trust::Known,
    }
}

/// What is remembered, for whoever opens an array. None for a user without a home, which is told.
pub fn host_memory(environment: &Environment, purpose: Purpose) -> Option<HostMemory> {
    let store = store(environment)?;
    let (keeper, trust): (Box<dyn Keeper>, _) = match purpose {
        Purpose::Look => (Box::new(Reader::new(store)), Trust::Anything),
        Purpose::Choose(trust) => (Box::new(Reader::new(store)), trust),
        Purpose::Start(trust) => (Box::new(FileKeeper::new(store)), trust),
    };
    Some(HostMemory::new(keeper, trust))
}

/// Who remembers arrays from now on.
pub fn keeper(environment: &Environment) -> Result<Box<dyn Keeper>, EnvironmentError> {
    let store = environment.store().ok_or(EnvironmentError::NoHome { what: "remember arrays" })?;
    Ok(Box::new(FileKeeper::new(store)))
}

/// Arrays that this process holds: no other one of this host runs them, or changes what their
/// members say.
#[derive(Debug)]
pub struct Held {
    #[expect(dead_code, reason = "what it holds it holds until it is dropped")]
    keeper: Option<FileKeeper>,
}

/// Another process of this host has an array.
#[derive(Debug, thiserror::Error)]
#[error(
    "array {array} is busy: {} of this host uses it, perhaps with other members: wait until it ends, or `shoal stop --uuid {array}` first",
    process_id.map_or_else(|| "another process".to_owned(), |id| format!("process {id}"))
)]
pub struct ArrayInUse {
    /// Its UUID.
    pub array: Uuid,
    /// Which process, if it says so.
    pub process_id: Option<u32>,
}

impl HasFault for ArrayInUse {
    fn fault(&self) -> Fault {
        Fault::Busy
    }
}

/// Holds arrays, for who does not open them with what this host remembers. That it cannot be known
/// whether others have them is told.
pub fn hold(environment: &Environment, arrays: &[Uuid]) -> Result<Held, ArrayInUse> {
    let Some(store) = store(environment) else { return Ok(Held { keeper: None }) };
    let mut keeper = FileKeeper::new(store);
    for &array in arrays {
        let held = keeper.hold(array, Hold::Alone);
        held.map_err(|Taken { process_id }| ArrayInUse { array, process_id })?;
    }
    environment.tell_all(&keeper.take_remarks());
    Ok(Held { keeper: Some(keeper) })
}

/// Where books lie. That there is no place for them is told.
pub fn store(environment: &Environment) -> Option<Store> {
    let store = environment.store();
    if store.is_none() {
        environment.tell(&format!(
            "there is no home, so what this host sees of the array is not remembered: {STATE_VARIABLE} says where it is kept"
        ));
    }
    store
}

/// Where the members of an array were seen last, if at least one of them was called so once as one
/// of `once`: others may have taken their places since. None of an array of arrays, whose members
/// are no drives, and of one that this host does not remember.
pub fn last_places(environment: &Environment, array: Uuid, once: &[PathBuf]) -> Option<Vec<PathBuf>> {
    let book = environment.store()?.read(array).ok()??;
    let place = |member: &Member| std::path::absolute(&member.drive).ok();
    let were = book.members().iter().chain(book.left().iter().map(|left| &left.member));
    let is_known = were.filter_map(place).any(|place| once.contains(&place));
    is_known.then(|| book.members().iter().filter_map(place).collect())
}

/// What the drive that had a role in an array was called when it was seen last there.
pub fn last_seen(environment: &Environment, array: Uuid, role: Role) -> Option<String> {
    let book = environment.store()?.read(array).ok()??;
    let has_role = |member: &&Member| member.role == Some(role.0);
    let left = book.left().iter().filter(|left| has_role(&&left.member)).max_by_key(|left| left.events);
    let last = book.members().iter().find(has_role).or(left.map(|left| &left.member))?;
    Some(last.drive.clone())
}

/// Forgets arrays all of whose members, as this host remembers them, are among those whose
/// superblocks were erased: nothing is left of these. Gives those that were forgotten. One that
/// cannot be is told.
pub fn forget_erased(environment: &Environment, erased: &[Superblock]) -> Vec<Uuid> {
    let mut arrays: Vec<_> = erased.iter().map(|superblock| superblock.array_uuid).collect();
    arrays.sort();
    arrays.dedup();
    let Some(store) = environment.store() else { return Vec::new() };
    let is_erased = |array: Uuid, member: Uuid| {
        erased.iter().any(|superblock| (superblock.array_uuid, superblock.device_uuid) == (array, member))
    };
    let forget = |array: &Uuid| {
        let Ok(Some(book)) = store.read(*array) else { return false };
        let is_gone = book.members().iter().all(|member| is_erased(*array, member.uuid));
        let forgotten = if is_gone { store.forget(*array) } else { return false };
        forgotten.map_err(|error| environment.tell(&format!("array {array} is still remembered: {error}"))).is_ok()
    };
    arrays.into_iter().filter(forget).collect()
}

/// Has this host remember an array as its drives say that it is, after somebody else has written to
/// them: the kernel, or who made it another. That it cannot be remembered is told.
pub fn remember(environment: &Environment, found: &[Found]) {
    keep(environment, found, |known, sight| {
        known.map_or_else(|| Book::of(sight.clone()), |it| it.after(sight.clone()))
    });
}

/// The same of an array of which nothing counts that was known, but for members that are not used
/// because they lost content: what their superblocks say is not to be believed later either.
pub fn remember_anew(environment: &Environment, found: &[Found], spoilt: &[Uuid]) {
    keep(environment, found, |_, sight| {
        let refuse = |book: Book, member: &Uuid| book.with_refused_flush(*member, Refusal::LostContent);
        spoilt.iter().fold(Book::of(sight), refuse)
    });
}

fn keep(environment: &Environment, found: &[Found], book: impl FnOnce(Option<&Book>, Sight) -> Book) {
    let sight = Sight::of_found(found);
    let Some((sight, store)) = sight.and_then(|sight| Some((sight, store(environment)?))) else { return };
    let known = store.read(sight.array).ok().flatten();
    let book = book(known.as_ref(), sight);
    if known.as_ref() == Some(&book) {
        return;
    }
    if let Err(error) = store.write(&book) {
        environment.tell(&format!("what this host sees of the array is not remembered: {error}"));
    }
}
