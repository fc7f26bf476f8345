//! Arrays that are given by their names.

use std::io;
use std::path::{Path, PathBuf};

use shoal_inventory::{Absentee, Named, SearchError, arrays_named, is_called, is_simulated, member_paths, remembered};
use shoal_md::Uuid;
use shoal_running::running_arrays;

use crate::args::{ArrayArgs, Command};
use crate::exit::Failure;
use crate::setup::environment;

/// Finds the array whose name was typed: the first word leads nowhere as a path. Commands about an
/// array get its UUID, others the drives that carry it.
pub(crate) fn find_by_name(command: &mut Command) -> Result<(), Failure> {
    let words_behind = command.words_behind_array();
    if let Some(array) = command.array_mut() {
        return find_array(array, words_behind);
    }
    let takes_damaged = matches!(command, Command::Recover(_));
    let Some(paths) = command.paths_mut() else { return Ok(()) };
    let Some(array) = uuid_of_first(paths, None)? else { return Ok(()) };
    let mut members = member_paths(environment(), &Named { uuid: Some(array), ..Named::default() })?;
    if takes_damaged {
        // One without a superblock is at its last place, if anywhere.
        let last = remembered(environment()).into_iter().filter(|it| it.array == array).flat_map(|it| it.drives);
        let others = last.map(PathBuf::from).filter(|path| path.exists() && !members.contains(path));
        members.extend(others.collect::<Vec<_>>());
    }
    paths.splice(0..1, members);
    Ok(())
}

fn find_array(array: &mut ArrayArgs, words_behind: usize) -> Result<(), Failure> {
    if array.uuid.is_some() || array.socket.is_some() {
        return Ok(());
    }
    let words = &array.drives[..array.drives.len().saturating_sub(words_behind)];
    match uuid_of_first(words, array.scan.as_deref())? {
        Some(uuid) => {
            array.uuid = Some(uuid);
            array.drives.remove(0);
            Ok(())
        }
        None => refuse_unknown(words, array.scan.as_deref()),
    }
}

/// Refuses a word alone that is neither a path nor a name. The last place of a drive that has gone
/// still leads to the array that runs without it.
fn refuse_unknown(words: &[PathBuf], scan: Option<&Path>) -> Result<(), Failure> {
    let [word] = words else { return Ok(()) };
    let last = std::path::absolute(word).ok().and_then(|path| path.to_str().map(str::to_owned));
    let is_last_place = |it: &Absentee| last.as_ref().is_some_and(|last| it.drives.contains(last));
    if !is_name(word) || remembered(environment()).iter().any(is_last_place) {
        return Ok(());
    }
    let word = word.display();
    Err(Failure::usage(match scan {
        Some(directory) => format!("{word}: not found, and no array in {} has that name", directory.display()),
        None => format!(
            "{word}: not found, and no array that this host knows has that name: check the path, or see `shoal list`"
        ),
    }))
}

/// Whether a word leads to nothing, and could be a name.
fn is_name(word: &Path) -> bool {
    let is_there = || word.symlink_metadata().map_or_else(|error| error.kind() != io::ErrorKind::NotFound, |_| true);
    word.components().count() == 1 && !is_simulated(word) && !is_there()
}

/// The array whose name the first word is, if it is one and no path.
fn uuid_of_first(words: &[PathBuf], scan: Option<&Path>) -> Result<Option<Uuid>, Failure> {
    let first = words.first().filter(|word| is_name(word));
    let Some(name) = first.and_then(|word| word.to_str()) else { return Ok(None) };
    match &arrays_of(name, scan)?[..] {
        [] => Ok(None),
        [array] => Ok(Some(*array)),
        arrays => Err(SearchError::SeveralNamed { name: name.to_owned(), arrays: arrays.to_vec() }.into()),
    }
}

/// The arrays of this name: in a directory; or those that run, whether their drives are there or
/// not, and those that drives carry.
pub(crate) fn arrays_of(name: &str, scan: Option<&Path>) -> Result<Vec<Uuid>, Failure> {
    let mut arrays = arrays_named(environment(), name, scan)?;
    if scan.is_none() {
        let running = running_arrays(environment()).into_iter().filter_map(Result::ok).map(|state| state.array);
        let called = running.filter(|array| is_called(&array.name, name));
        arrays.extend(called.filter_map(|array| array.uuid.parse::<Uuid>().ok()));
    }
    arrays.sort();
    arrays.dedup();
    Ok(arrays)
}
