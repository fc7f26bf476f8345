//! Which command makes a file system that fits an array, and why each of its arguments is what it
//! is.
//!
//! | kind | what it is told of the array |
//! | --- | --- |
//! | ext4 | chunk and stripe, in blocks: bitmaps are spread over members, and the allocator writes whole stripes |
//! | XFS | the same; groups of allocation begin on other members, the log is written in units of at most 32 KiB |
//! | btrfs | nothing: it has no such options |
//! | F2FS | how large a section is, the unit that it cleans: whole segments of 2 MiB, erase units and stripes |
//! | FAT | where clusters begin, through the number of reserved sectors |
//! | exFAT | where its table and clusters begin: a power of two |
//! | NTFS | nothing: it has no such options |

mod btrfs;
mod exfat;
mod ext4;
mod f2fs;
mod ntfs;
mod vfat;
mod xfs;

use std::path::Path;

use shoal_text::format_size;
use thiserror::Error;

use crate::geometry::Geometry;
use crate::kind::{Kind, LabelLimit};

/// A command that makes a file system, and why it is so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MkfsPlan {
    /// What it makes.
    pub kind: Kind,
    /// All but the program and the device, in order.
    pub arguments: Vec<Argument>,
    /// What cannot be done, or would be done otherwise elsewhere; a sentence each.
    pub notes: Vec<String>,
}

/// An option with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// As the program gets them.
    pub words: Vec<String>,
    /// Why.
    pub reason: String,
    /// Where that is written.
    pub source: &'static str,
}

impl MkfsPlan {
    /// The command as it is run: the program, its arguments, the device.
    pub fn command(&self, device: &Path) -> Vec<String> {
        let arguments = self.arguments.iter().flat_map(|argument| argument.words.iter().cloned());
        let device = device.display().to_string();
        std::iter::once(self.kind.mkfs().to_owned()).chain(arguments).chain([device]).collect()
    }

    fn add<const N: usize>(&mut self, words: [&str; N], reason: impl Into<String>, source: &'static str) {
        let words = words.map(str::to_owned).to_vec();
        self.arguments.push(Argument { words, reason: reason.into(), source });
    }

    /// Options without which the program asks questions or says too much.
    fn add_manners<const N: usize>(&mut self, words: [&str; N], source: &'static str) {
        self.add(words, "no questions: what the array held was looked for before", source);
    }

    fn note(&mut self, sentence: String) {
        self.notes.push(sentence);
    }
}

/// Why there is no such file system.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// The array is too small.
    #[error(
        "{kind} needs at least {}, and the array has {}: take a larger array or another file system",
        format_size(*least_bytes),
        format_size(*size_bytes)
    )]
    TooSmall {
        /// The file system.
        kind: Kind,
        /// What it needs.
        least_bytes: u64,
        /// What there is.
        size_bytes: u64,
    },
    /// The array is too large.
    #[error(
        "{kind} ends at {}, as {because}, and the array has {}: take ext4, xfs or exfat",
        format_size(*most_bytes),
        format_size(*size_bytes)
    )]
    TooLarge {
        /// The file system.
        kind: Kind,
        /// What it can have.
        most_bytes: u64,
        /// Why not more.
        because: &'static str,
        /// What there is.
        size_bytes: u64,
    },
    /// The label cannot be stored.
    #[error("{kind} cannot have the label `{label}`: {because}")]
    Label {
        /// The file system.
        kind: Kind,
        /// What was asked for, printable.
        label: String,
        /// What it may be.
        because: String,
    },
    /// The array's blocks are larger than the file system's.
    #[error("{kind} cannot be made on logical blocks of {block_bytes} bytes: it takes powers of two from 512 to 4096")]
    Block {
        /// The file system.
        kind: Kind,
        /// The array's.
        block_bytes: u32,
    },
}

/// The command that makes a file system on an array. Nothing is touched.
///
/// # Errors
/// What the kind cannot do: a size, a block or a label beyond its limits.
pub fn plan(kind: Kind, geometry: &Geometry, label: Option<&str>) -> Result<MkfsPlan, PlanError> {
    check_size(kind, geometry)?;
    check_block(kind, geometry)?;
    if let Some(label) = label {
        check_label(kind, label)?;
    }
    let mut plan = MkfsPlan { kind, arguments: Vec::new(), notes: Vec::new() };
    plan.notes.extend(geometry.misnested());
    plan.notes.extend(geometry.misaligned());
    match kind {
        Kind::Ext4 => ext4::fit(&mut plan, geometry),
        Kind::Xfs => xfs::fit(&mut plan, geometry),
        Kind::Btrfs => btrfs::fit(&mut plan, geometry),
        Kind::F2fs => f2fs::fit(&mut plan, geometry),
        Kind::Vfat => vfat::fit(&mut plan, geometry),
        Kind::Exfat => exfat::fit(&mut plan, geometry),
        Kind::Ntfs => ntfs::fit(&mut plan, geometry),
    }
    if let Some(label) = label {
        plan.add([label_option(kind), label], "the label that was asked for", "its manual page");
    }
    Ok(plan)
}

fn label_option(kind: Kind) -> &'static str {
    match kind {
        Kind::F2fs => "-l",
        Kind::Vfat => "-n",
        Kind::Ext4 | Kind::Xfs | Kind::Btrfs | Kind::Exfat | Kind::Ntfs => "-L",
    }
}

fn check_size(kind: Kind, geometry: &Geometry) -> Result<(), PlanError> {
    let (limits, size_bytes) = (kind.limits(), geometry.size_bytes);
    if size_bytes < limits.least_bytes {
        return Err(PlanError::TooSmall { kind, least_bytes: limits.least_bytes, size_bytes });
    }
    let most_bytes = (limits.most_bytes)(u64::from(geometry.logical_block_bytes));
    if size_bytes > most_bytes {
        return Err(PlanError::TooLarge { kind, most_bytes, because: limits.most_because, size_bytes });
    }
    Ok(())
}

fn check_block(kind: Kind, geometry: &Geometry) -> Result<(), PlanError> {
    let block_bytes = geometry.logical_block_bytes;
    let fits = (512..=4096).contains(&block_bytes) && block_bytes.is_power_of_two();
    if fits { Ok(()) } else { Err(PlanError::Block { kind, block_bytes }) }
}

fn check_label(kind: Kind, label: &str) -> Result<(), PlanError> {
    let because = match kind.limits().label {
        _ if label.is_empty() => Some("it is empty: leave --label out".to_owned()),
        _ if label.starts_with('-') => Some("it would be taken for an option: begin with another character".to_owned()),
        _ if label.chars().any(char::is_control) => Some("control characters cannot be in it".to_owned()),
        LabelLimit::Bytes(most) => {
            (label.len() > most).then(|| format!("it has {} bytes, and {most} is the most", label.len()))
        }
        LabelLimit::Utf16(most) => {
            let units = label.encode_utf16().count();
            (units > most).then(|| format!("it has {units} characters, and {most} is the most"))
        }
        LabelLimit::Fat => vfat::label_problem(label),
    };
    let Some(because) = because else { return Ok(()) };
    let label = label.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    Err(PlanError::Label { kind, label, because })
}

#[cfg(test)]
mod tests;
