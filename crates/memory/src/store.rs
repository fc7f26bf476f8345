//! Where books lie: a directory with a file for each array, which is there as a whole or not at
//! all.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use shoal_md::Uuid;

use crate::book::{Book, BookError};
use crate::limits::BOOK_BYTES_MAX;

/// A directory of books.
#[derive(Clone, Debug)]
pub struct Store {
    directory: PathBuf,
}

/// Why a book cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system says no.
    #[error("{}: {error}", path.display())]
    System {
        /// What it was about.
        path: PathBuf,
        /// What it says.
        error: io::Error,
    },
    /// What is there is no book of this array.
    #[error("{}: {error}", path.display())]
    Book {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: BookError,
    },
    /// Somebody else could have written it.
    #[error("{}: it is not this user's alone", path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
    },
}

impl Store {
    /// Books in this directory, which is made when the first is written.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// The file of an array.
    pub fn path(&self, array: Uuid) -> PathBuf {
        self.directory.join(format!("array-{array}.json"))
    }

    /// What is remembered of an array; none if nothing is.
    pub fn read(&self, array: Uuid) -> Result<Option<Book>, StoreError> {
        let path = self.path(array);
        let system = |error: io::Error| StoreError::System { path: path.clone(), error };
        // A link would lead elsewhere, and a pipe would have its reader wait.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::open(&path, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(errno) => return Err(system(errno.into())),
        };
        let stat = rustix::fs::fstat(&file).map_err(|errno| system(errno.into()))?;
        let is_ours = stat.st_uid == rustix::process::geteuid().as_raw() && stat.st_mode & 0o022 == 0;
        if !is_ours || !file.metadata().map_err(system)?.is_file() {
            return Err(StoreError::NotOurs { path });
        }
        let mut bytes = Vec::new();
        file.take(BOOK_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(system)?;
        let wrong = |error| StoreError::Book { path: path.clone(), error };
        let book = Book::decode(&bytes).map_err(wrong)?;
        if book.array() != array {
            return Err(wrong(BookError::Damaged(format!("it is of array {}", book.array()))));
        }
        Ok(Some(book.with_drives(from_here)))
    }

    /// The arrays that something is remembered of, in the order of their UUIDs; none if the
    /// directory cannot be read.
    pub fn arrays(&self) -> Vec<Uuid> {
        let Ok(entries) = std::fs::read_dir(&self.directory) else { return Vec::new() };
        let array = |name: &str| name.strip_prefix("array-")?.strip_suffix(".json")?.parse().ok();
        let mut arrays: Vec<_> = entries.filter_map(|entry| array(entry.ok()?.file_name().to_str()?)).collect();
        arrays.sort();
        arrays
    }

    pub(crate) fn make_directory(&self) -> Result<(), StoreError> {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory);
        made.map_err(|error| StoreError::System { path: self.directory.clone(), error })
    }

    /// Has nothing remembered of an array that is no more.
    pub fn forget(&self, array: Uuid) -> Result<(), StoreError> {
        let path = self.path(array);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::System { path, error }),
            _ => Ok(()),
        }
    }

    /// Puts a book in the place of the one before. When this is done it is durable; if it fails, or
    /// power is cut, the one before is there.
    pub fn write(&self, book: &Book) -> Result<(), StoreError> {
        let book = &book.clone().with_drives(from_anywhere);
        let path = self.path(book.array());
        let new = path.with_extension("json.new");
        let system = |path: &Path| {
            let path = path.to_owned();
            move |error: io::Error| StoreError::System { path, error }
        };
        let is_new = !self.directory.is_dir();
        self.make_directory()?;
        // What a crash left there may be anything.
        match std::fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(system(&new)(error)),
            _ => {}
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::open(&new, flags, Mode::RUSR | Mode::WUSR);
        let mut file = file.map(File::from).map_err(|errno| system(&new)(errno.into()))?;
        file.write_all(&book.encode()).and_then(|()| file.sync_all()).map_err(system(&new))?;
        std::fs::rename(&new, &path).map_err(system(&path))?;
        sync_directory(&self.directory).map_err(system(&self.directory))?;
        match self.directory.parent() {
            Some(parent) if is_new => sync_directory(parent).map_err(system(parent)),
            _ => Ok(()),
        }
    }
}

fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// The absolute path of a drive that was named relative to the current directory.
fn from_anywhere(drive: &Path) -> Option<PathBuf> {
    let leads_to_it = drive.is_relative() && drive.symlink_metadata().is_ok();
    leads_to_it.then(|| std::path::absolute(drive).ok()).flatten()
}

/// The plain file name of a drive that lies in the current directory.
fn from_here(drive: &Path) -> Option<PathBuf> {
    let name = PathBuf::from(drive.file_name()?);
    let is_here = drive.is_absolute() && std::path::absolute(&name).is_ok_and(|path| path == drive);
    is_here.then_some(name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::book::{Member, Sight};

    const ARRAY: Uuid = Uuid([9; 16]);

    fn book(events: u64) -> Book {
        Book::of(Sight { array: ARRAY, events, members: Vec::new(), others: Vec::new() })
    }

    #[test]
    fn a_book_takes_the_place_of_the_one_before() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::new(directory.path().join("not/there/yet"));
        assert_eq!(store.read(ARRAY).unwrap(), None);
        store.write(&book(1)).unwrap();
        std::fs::write(store.path(ARRAY).with_extension("json.new"), "left by a crash").unwrap();
        store.write(&book(2)).unwrap();
        assert_eq!((store.read(ARRAY).unwrap(), store.arrays()), (Some(book(2)), vec![ARRAY]));
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&store.path(ARRAY)), 0o600);
        assert_eq!(mode(store.path(ARRAY).parent().unwrap()), 0o700);
        assert_eq!(std::fs::read_dir(directory.path().join("not/there/yet")).unwrap().count(), 1);
        store.forget(ARRAY).unwrap();
        store.forget(ARRAY).unwrap();
        assert_eq!(store.read(ARRAY).unwrap(), None);
    }

    /// `shoal create d0 d1` is typed in some directory, and the array is looked for from another.
    #[test]
    fn drives_are_remembered_by_paths_that_lead_to_them_from_anywhere() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::new(directory.path().to_owned());
        let names = ["Cargo.toml", "the inner array tail", "/dev/null"];
        let member = |(number, name): (u8, &str)| Member {
            uuid: Uuid([number; 16]),
            hardware: None,
            drive: name.to_owned(),
            role: Some(u16::from(number)),
            refusal: None,
        };
        let members = (0..).zip(names).map(member).collect();
        store.write(&Book::of(Sight { array: ARRAY, events: 1, members, others: Vec::new() })).unwrap();
        let written = std::fs::read_to_string(store.path(ARRAY)).unwrap();
        let here = std::env::current_dir().unwrap().join("Cargo.toml");
        assert!(written.contains(here.to_str().unwrap()), "{written}");
        let book = store.read(ARRAY).unwrap().unwrap();
        assert_eq!(book.members().iter().map(|it| it.drive.as_str()).collect::<Vec<_>>(), names);
    }

    #[test]
    fn what_others_could_have_put_there_is_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::new(directory.path().to_owned());
        let path = store.path(ARRAY);
        let refused = |word: &str| {
            let error = store.read(ARRAY).unwrap_err().to_string();
            assert!(error.contains(word) && error.contains("array-"), "{word}: {error}");
        };
        std::fs::write(&path, "nonsense").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        refused("damaged");
        let other = Book::of(Sight { array: Uuid([8; 16]), events: 1, members: Vec::new(), others: Vec::new() });
        std::fs::write(&path, other.encode()).unwrap();
        refused("08080808");
        store.write(&book(1)).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
        refused("alone");
        std::fs::rename(&path, directory.path().join("elsewhere")).unwrap();
        symlink("elsewhere", &path).unwrap();
        refused("link");
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        refused("alone");
        assert!(store.write(&book(2)).is_err(), "nothing is taken away that is not ours");
    }
}
