//! Asks drives and file systems in threads, and waits for none of them for ever.
//!
//! Who has not answered within [`PATIENCE`] is *silent*: the thread is left behind, and it is not
//! asked again before it has answered. What the kernel has begun nobody can end: a process with a
//! thread left behind does its work, and is gone when the drive has answered, or is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use shoal_documents::{Fault, HasFault};

/// How long a drive may take. Disks that sleep take ten seconds to spin up, and a busy machine some
/// more.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A drive that does not answer, for whoever needs it.
#[derive(Debug, thiserror::Error)]
#[error("{} has not answered for {} s: look at the drive, or plug it in anew", path.display(), PATIENCE.as_secs())]
pub struct Silence {
    /// The drive.
    pub path: PathBuf,
}

impl HasFault for Silence {
    fn fault(&self) -> Fault {
        Fault::Failed
    }
}

/// What is being asked, since when.
static UNDER_WAY: Mutex<BTreeMap<PathBuf, Instant>> = Mutex::new(BTreeMap::new());

pub(crate) fn under_way() -> MutexGuard<'static, BTreeMap<PathBuf, Instant>> {
    // Nothing is left half done in there.
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `ask` learns of a place, whose file system may hang as a drive does: asked in a thread of
/// its own, which is left behind if there is no answer within [`PATIENCE`]. A place that is silent
/// already is not asked.
///
/// # Errors
/// It does not answer, or no thread is to be had to ask it.
pub fn asked<T: Send + 'static>(place: &Path, ask: impl FnOnce(&Path) -> T + Send + 'static) -> Result<T, Silence> {
    let silence = || Silence { path: place.to_owned() };
    if is_silent(place, PATIENCE) {
        return Err(silence());
    }
    under_way().entry(place.to_owned()).or_insert_with(Instant::now);
    let (sender, receiver) = sync_channel(1);
    let own = place.to_owned();
    let work = move || {
        let answer = ask(&own);
        under_way().remove(&own);
        // Whoever asked may not wait any more.
        let _ = sender.send(answer);
    };
    if std::thread::Builder::new().name("shoal-ask".to_owned()).spawn(work).is_err() {
        under_way().remove(place);
        return Err(silence());
    }
    receiver.recv_timeout(PATIENCE).map_err(|_| silence())
}

/// Whether something is at a path, as far as that can be said: what does not answer is.
pub fn is_there(path: &Path) -> bool {
    asked(path, |path| path.symlink_metadata().is_ok()).unwrap_or(true)
}

/// Whether it was asked before and has not answered yet.
pub(crate) fn is_silent(path: &Path, patience: Duration) -> bool {
    under_way().get(path).is_some_and(|since| since.elapsed() >= patience)
}
