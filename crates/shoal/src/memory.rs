//! What this host remembers of its arrays, for the commands: where books lie, and how much is believed beyond them.

use shoal_memory::{Book, FileKeeper, Found, Keeper, Reader, Sight, Store};
use shoal_volume::{HostMemory, Trust};

use crate::args::ArrayArgs;
use crate::exit::Failure;
use crate::output;
use crate::state_directory::{STATE_VARIABLE, state_directory};

/// Whether an array is to be started, or looked at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It is written to, or offered to others: what is in doubt is refused, unless somebody has said otherwise.
    Start {
        /// Doubts are overruled.
        force: bool,
    },
    /// Doubts are told.
    Look,
}

/// What is remembered, for whoever opens an array. None for a user without a home, which is told.
pub(crate) fn host_memory(args: &ArrayArgs, purpose: Purpose) -> Option<HostMemory> {
    let store = store()?;
    let (keeper, trust): (Box<dyn Keeper>, _) = match purpose {
        Purpose::Look => (Box::new(Reader::new(store)), Trust::Anything),
        Purpose::Start { force: true } => (Box::new(FileKeeper::new(store)), Trust::Anything),
        Purpose::Start { force: false } if args.degraded => (Box::new(FileKeeper::new(store)), Trust::Degraded),
        Purpose::Start { force: false } => (Box::new(FileKeeper::new(store)), Trust::Known),
    };
    Some(HostMemory::new(keeper, trust))
}

/// The same for whoever only finds out what would be started, and has somebody else start it.
pub(crate) fn memory_of_the_chooser(args: &ArrayArgs, force: bool) -> Option<HostMemory> {
    let trust = match (force, args.degraded) {
        (true, _) => Trust::Anything,
        (false, true) => Trust::Degraded,
        (false, false) => Trust::Known,
    };
    Some(HostMemory::new(Box::new(Reader::new(store()?)), trust))
}

/// Who remembers arrays from now on.
pub(crate) fn keeper() -> Result<Box<dyn Keeper>, Failure> {
    let store = state_directory().map(Store::new);
    let store = store.ok_or_else(|| {
        Failure::Usage(format!("there is no home: say where to remember arrays with {STATE_VARIABLE}"))
    })?;
    Ok(Box::new(FileKeeper::new(store)))
}

/// Where books lie.
pub(crate) fn store() -> Option<Store> {
    let directory = state_directory();
    if directory.is_none() {
        output::warn(&format!(
            "there is no home, so what this host sees of the array is not remembered: {STATE_VARIABLE} says where it is kept"
        ));
    }
    directory.map(Store::new)
}

/// Has this host remember an array as its drives say that it is, after somebody else has written to
/// them: the kernel, or who made it another. With `anew` what was known of it counts for nothing.
/// That it cannot be remembered is told.
pub(crate) fn remember(found: &[Found], anew: bool) {
    let Some((sight, store)) = Sight::of_found(found).and_then(|sight| Some((sight, store()?))) else { return };
    let known = if anew { None } else { store.read(sight.array).ok().flatten() };
    let book = known.as_ref().map_or_else(|| Book::of(sight.clone()), |known| known.after(sight.clone()));
    if known.as_ref() == Some(&book) {
        return;
    }
    if let Err(error) = store.write(&book) {
        output::warn(&format!("what this host sees of the array is not remembered: {error}"));
    }
}

/// Tells people what they should know.
pub(crate) fn tell(remarks: &[String]) {
    remarks.iter().for_each(|remark| output::warn(remark));
}
