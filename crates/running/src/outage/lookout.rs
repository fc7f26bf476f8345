//! A thread that looks for drives and opens them, for an owner who cannot wait: a drive that has
//! just come, or one that hangs, takes as long as it likes.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use shoal_drive::{Access, Drive};
use shoal_inventory::{DrivesError, Look, Seen, files_in, look_within, open_drives};
use shoal_volume::DriveId;

/// How long a drive may take to say what it is. It is asked again as soon as it has answered.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the thread is asked for.
#[derive(Debug)]
pub(super) enum Errand {
    /// To look at what these places lead to, and at what lies in these directories.
    Look { places: Vec<PathBuf>, directories: Vec<PathBuf> },
    /// To open drives, beside those that are open already.
    Open { kept: Vec<DriveId>, fresh: Vec<PathBuf>, access: Access },
}

/// What came of it.
#[derive(Debug)]
pub(super) enum Report {
    /// The members that are there, and the places that have not answered yet.
    Looked { seen: Vec<Seen>, silent: Vec<PathBuf> },
    /// All of them, or why not.
    Opened { kept: Vec<DriveId>, fresh: Result<Vec<Drive>, DrivesError> },
}

/// A thread that looks for drives and opens them on request. Dropping it lets the thread end by
/// itself.
#[derive(Debug)]
pub(super) struct Lookout {
    errands: Sender<Errand>,
    reports: Receiver<Report>,
    /// Errands that have not been reported on.
    outstanding: usize,
}

impl Lookout {
    /// Starts the thread, which ends with this.
    pub(super) fn start() -> io::Result<Self> {
        let (errands, asked) = channel();
        let (reporter, reports) = channel();
        let work = move || {
            while let Ok(errand) = asked.recv() {
                if reporter.send(run(errand)).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("shoal-lookout".to_owned()).spawn(work)?;
        Ok(Self { errands, reports, outstanding: 0 })
    }

    /// Whether it has nothing to do.
    pub(super) fn is_idle(&self) -> bool {
        self.outstanding == 0
    }

    /// Sends it on an errand.
    pub(super) fn send(&mut self, errand: Errand) {
        self.outstanding += usize::from(self.errands.send(errand).is_ok());
    }

    /// What it has to report, if anything.
    pub(super) fn report(&mut self) -> Option<Report> {
        let report = self.reports.try_recv().ok()?;
        self.outstanding -= 1;
        Some(report)
    }
}

fn run(errand: Errand) -> Report {
    match errand {
        Errand::Look { mut places, directories } => {
            places.extend(directories.iter().filter_map(|directory| files_in(directory).ok()).flatten());
            places.sort();
            places.dedup();
            let mut looks = look_within(&places, PATIENCE);
            let is_silent = |look: &Look| matches!(look, Look::Silent);
            let silent = places.into_iter().zip(&looks).filter(|(_, look)| is_silent(look)).map(|(place, _)| place);
            let silent = silent.collect();
            Report::Looked { seen: looks.drain(..).filter_map(Look::member).collect(), silent }
        }
        Errand::Open { kept, fresh, access } => Report::Opened { kept, fresh: open(&fresh, access) },
    }
}

/// As whoever starts an array opens its drives.
fn open(paths: &[PathBuf], access: Access) -> Result<Vec<Drive>, DrivesError> {
    let mut drives = open_drives(paths, access)?;
    for drive in &mut drives {
        drive.keep_writers_out()?;
    }
    Ok(drives)
}
