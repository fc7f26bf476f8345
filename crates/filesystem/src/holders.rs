//! Who uses a mounted file system, so that it cannot be unmounted: asked of procfs and sysfs, as
//! fuser(1) does.
//!
//! Links are read and never followed: to look at a file of a file system that answers no more would
//! hang.

use std::fmt;
use std::path::{Path, PathBuf};

use shoal_drive::mounts;

/// A user of a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A program that runs.
    Process {
        /// Its number.
        process_id: u32,
        /// Its name.
        name: String,
        /// Through what.
        through: Through,
    },
    /// Something is mounted below it.
    Mount {
        /// Where.
        place: PathBuf,
    },
    /// A loop device is backed by a file of it.
    LoopDevice {
        /// Its name.
        name: String,
        /// The file.
        file: PathBuf,
    },
}

/// How a program uses a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Through {
    /// It is there.
    CurrentDirectory,
    /// It sees no other part of the tree.
    Root,
    /// It is a program from there, or has mapped a file.
    Mapping(PathBuf),
    /// It has a file open.
    File(PathBuf),
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process { process_id, name, through } => {
                write!(f, "{name} (process {process_id}, ")?;
                match through {
                    Through::CurrentDirectory => f.write_str("whose directory it is)"),
                    Through::Root => f.write_str("whose root it is)"),
                    Through::Mapping(path) => write!(f, "which runs {})", path.display()),
                    Through::File(path) => write!(f, "which has {} open)", path.display()),
                }
            }
            Self::Mount { place } => write!(f, "what is mounted on {}", place.display()),
            Self::LoopDevice { name, file } => write!(f, "{name}, which is backed by {}", file.display()),
        }
    }
}

/// Who uses the file system that is mounted on `place`, an absolute path without links. Programs of
/// others are seen by root only. Each program is told once.
pub fn holders(place: &Path) -> Vec<Holder> {
    let below = mounts().unwrap_or_default().into_iter().filter(|it| it.place != place && it.place.starts_with(place));
    let below = below.map(|it| Holder::Mount { place: it.place });
    processes(Path::new("/proc"), place).into_iter().chain(below).chain(loop_devices(place)).collect()
}

fn processes(proc: &Path, place: &Path) -> Vec<Holder> {
    let entries = std::fs::read_dir(proc).into_iter().flatten().flatten();
    let number = |entry: &std::fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
    let holder = |entry: std::fs::DirEntry| {
        let process_id = number(&entry)?;
        let through = use_of(&entry.path(), place)?;
        let name = std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        Some(Holder::Process { process_id, name: name.trim().to_owned(), through })
    };
    entries.filter_map(holder).collect()
}

/// The use that is told of a program: its directory first, as that is what people forget.
fn use_of(process: &Path, place: &Path) -> Option<Through> {
    let leads_there = |link: &str| std::fs::read_link(process.join(link)).ok().filter(|it| it.starts_with(place));
    if leads_there("cwd").is_some() {
        return Some(Through::CurrentDirectory);
    }
    let open = std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    let open = open.filter_map(|entry| std::fs::read_link(entry.path()).ok()).find(|it| it.starts_with(place));
    let mapped = || leads_there("exe").or_else(|| mapping(process, place));
    let root = || leads_there("root").map(|_| Through::Root);
    open.map(Through::File).or_else(|| mapped().map(Through::Mapping)).or_else(root)
}

/// Lines of maps end with the path of what is mapped, behind five fields.
fn mapping(process: &Path, place: &Path) -> Option<PathBuf> {
    let maps = std::fs::read_to_string(process.join("maps")).ok()?;
    let path = |line: &str| line.find('/').map(|at| PathBuf::from(&line[at..]));
    maps.lines().filter_map(path).find(|it| it.starts_with(place))
}

fn loop_devices(place: &Path) -> Vec<Holder> {
    let entries = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let holder = |entry: std::fs::DirEntry| {
        let file = std::fs::read_to_string(entry.path().join("loop/backing_file")).ok()?;
        let file = PathBuf::from(file.trim_end());
        let name = entry.file_name().display().to_string();
        file.starts_with(place).then_some(Holder::LoopDevice { name, file })
    };
    entries.filter_map(holder).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_in_a_directory_and_one_with_an_open_file_are_told() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().canonicalize().unwrap();
        let file = std::fs::File::create(place.join("open")).unwrap();
        let mut sleeper =
            std::process::Command::new("sleep").arg("60").current_dir(&place).spawn().expect("sleep is everywhere");
        let found = holders(&place);
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        let of =
            |id: u32| found.iter().find(|it| matches!(it, Holder::Process { process_id, .. } if *process_id == id));
        let told = of(sleeper.id()).map(ToString::to_string).unwrap_or_default();
        assert!(told.contains("whose directory it is"), "{found:?}");
        let told = of(std::process::id()).map(ToString::to_string).unwrap_or_default();
        assert!(told.contains(&format!("has {} open", place.join("open").display())), "{found:?}");
        drop(file);
        // A child that another test forks holds a copy of the file until it starts its program.
        let freed = (0..18_000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            holders(&place).is_empty()
        });
        assert!(freed, "{:?}", holders(&place));
    }
}
