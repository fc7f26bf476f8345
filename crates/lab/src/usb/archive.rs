//! The guest's root, as the archive that a kernel unpacks into memory: cpio's "new" format, not
//! compressed.

use std::collections::BTreeSet;
use std::io;
use std::path::{Component, Path, PathBuf};

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_777;
const NULL_DEVICE: u32 = 0o020_666;
const CONSOLE_DEVICE: u32 = 0o020_600;

/// An archive that grows by files. Directories come before what is in them, by themselves.
#[derive(Debug, Default)]
pub(super) struct Archive {
    bytes: Vec<u8>,
    entries: u32,
    directories: BTreeSet<PathBuf>,
}

impl Archive {
    /// A program, or anything else that is a file, at `path`, which is absolute.
    pub(super) fn add_bytes(&mut self, path: &Path, content: &[u8]) {
        self.add_parents(path);
        self.add_entry(path, PROGRAM, (0, 0), content);
    }

    /// The host's file, links followed.
    pub(super) fn add_file(&mut self, path: &Path, from: &Path) -> io::Result<()> {
        self.add_bytes(path, &std::fs::read(from)?);
        Ok(())
    }

    /// A symbolic link.
    pub(super) fn add_link(&mut self, path: &Path, target: &str) {
        self.add_parents(path);
        self.add_entry(path, LINK, (0, 0), target.as_bytes());
    }

    /// An empty directory.
    pub(super) fn add_directory(&mut self, path: &Path) {
        self.add_parents(&path.join("inside"));
    }

    /// The whole of it, with the devices that the first process needs before it can mount any.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.add_directory(Path::new("/dev"));
        self.add_entry(Path::new("/dev/console"), CONSOLE_DEVICE, (5, 1), &[]);
        self.add_entry(Path::new("/dev/null"), NULL_DEVICE, (1, 3), &[]);
        self.add_entry(Path::new("/TRAILER!!!"), 0, (0, 0), &[]);
        self.bytes
    }

    fn add_parents(&mut self, path: &Path) {
        let mut directory = PathBuf::from("/");
        let parents = path.parent().into_iter().flat_map(Path::components);
        for name in parents.filter(|part| matches!(part, Component::Normal(_))) {
            directory.push(name);
            if self.directories.insert(directory.clone()) {
                self.add_entry(&directory, DIRECTORY, (0, 0), &[]);
            }
        }
    }

    /// A header of thirteen numbers in hexadecimal, the name with a zero behind it, and the
    /// content, both filled up to four bytes.
    fn add_entry(&mut self, path: &Path, mode: u32, device: (u32, u32), content: &[u8]) {
        self.entries += 1;
        let name = path.to_string_lossy();
        let name = name.trim_start_matches('/');
        let (links, time) = (1, 0);
        let length = u32::try_from(content.len()).expect("files of the lab are small");
        let name_length = u32::try_from(name.len() + 1).expect("names are short");
        let numbers = [
            self.entries,
            mode,
            0,
            0,
            links,
            time,
            length,
            0,
            0,
            device.0,
            device.1,
            name_length,
            0, /* no checksum */
        ];
        self.bytes.extend(b"070701");
        for number in numbers {
            self.bytes.extend(format!("{number:08x}").bytes());
        }
        self.bytes.extend(name.bytes().chain([0]));
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}
