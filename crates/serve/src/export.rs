//! What a client can open: the volume, or a part of it, under a name.

use crate::limits::STRING_BYTES_MAX;
use crate::protocol::{INCARNATION, transmission};

/// A part of a volume under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// What clients call it.
    pub name: String,
    /// What people are told of it.
    pub description: String,
    /// Its first byte in the volume.
    pub offset: u64,
    /// Bytes.
    pub size_bytes: u64,
    /// Whether writes are refused.
    pub read_only: bool,
}

/// Why exports cannot be as they were asked for.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// Nothing to serve.
    #[error("there is no export: name at least one")]
    None,
    /// Two of them could not be told apart.
    #[error("two exports are named `{name}`: give each a name of its own")]
    SameName {
        /// The name.
        name: String,
    },
    /// The protocol has no room for it, or no way to write it.
    #[error(
        "the export name `{name}` is empty, has more than {STRING_BYTES_MAX} bytes, or a zero byte: choose another"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// It does not lie in the volume.
    #[error("export `{name}` ends at byte {end}, the content at byte {size_bytes}: choose a smaller range")]
    Range {
        /// The name.
        name: String,
        /// Where it would end.
        end: u64,
        /// Where the volume ends.
        size_bytes: u64,
    },
    /// It begins or ends within a block.
    #[error("export `{name}` does not begin and end at a multiple of {block_bytes} bytes, the array's logical block")]
    Misaligned {
        /// The name.
        name: String,
        /// The volume's block.
        block_bytes: u32,
    },
    /// It has no content.
    #[error("export `{name}` is empty: give it a size")]
    Empty {
        /// The name.
        name: String,
    },
}

/// All exports of a volume. The first is also the one that clients get who name none.
#[derive(Clone, Debug)]
pub struct Exports {
    exports: Vec<Export>,
    size_bytes: u64,
    block_bytes: u32,
    /// Empty if nobody knows.
    incarnation: String,
}

impl Exports {
    /// Checks exports of a volume of `size_bytes`, with blocks of `block_bytes`.
    pub fn new(exports: Vec<Export>, size_bytes: u64, block_bytes: u32) -> Result<Self, ExportError> {
        if exports.is_empty() {
            return Err(ExportError::None);
        }
        let block = u64::from(block_bytes);
        for (number, export) in exports.iter().enumerate() {
            let name = export.name.clone();
            if name.is_empty() || name.len() > STRING_BYTES_MAX || name.contains('\0') {
                return Err(ExportError::Name { name });
            }
            if exports[..number].iter().any(|other| other.name == name) {
                return Err(ExportError::SameName { name });
            }
            if export.size_bytes == 0 {
                return Err(ExportError::Empty { name });
            }
            if !export.offset.is_multiple_of(block) || !export.size_bytes.is_multiple_of(block) {
                return Err(ExportError::Misaligned { name, block_bytes });
            }
            let end = export.offset.saturating_add(export.size_bytes);
            if end > size_bytes {
                return Err(ExportError::Range { name, end, size_bytes });
            }
        }
        Ok(Self { exports, size_bytes, block_bytes, incarnation: String::new() })
    }

    /// The same with a word for the incarnation of the content, which clients who ask are told; it
    /// is cut to what the protocol has room for.
    pub fn with_incarnation(self, word: &str) -> Self {
        let room = STRING_BYTES_MAX - INCARNATION.len() - 1;
        let end = (0..=room.min(word.len())).rev().find(|&end| word.is_char_boundary(end)).unwrap_or(0);
        Self { incarnation: word[..end].to_owned(), ..self }
    }

    /// The word for the incarnation of the content; empty if nobody knows.
    pub(crate) fn incarnation(&self) -> &str {
        &self.incarnation
    }

    /// Bytes of the volume.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// The same when the volume has another size: exports of the whole follow, parts end where it
    /// ends.
    pub(crate) fn resized(&self, size_bytes: u64) -> Self {
        let mut exports = self.exports.clone();
        for export in &mut exports {
            let is_whole = export.offset == 0 && export.size_bytes == self.size_bytes;
            let there_bytes = size_bytes.saturating_sub(export.offset);
            export.size_bytes = if is_whole { size_bytes } else { export.size_bytes.min(there_bytes) };
        }
        Self { exports, size_bytes, block_bytes: self.block_bytes, incarnation: self.incarnation.clone() }
    }

    /// The export with this name; for the empty name, the first.
    pub(crate) fn find(&self, name: &[u8]) -> Option<usize> {
        if name.is_empty() {
            return Some(0);
        }
        self.exports.iter().position(|export| export.name.as_bytes() == name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Export> {
        self.exports.iter()
    }

    pub(crate) fn at(&self, number: usize) -> &Export {
        &self.exports[number]
    }

    /// What requests should be multiples of to be served without reading more than is asked for.
    pub(crate) fn preferred_block_bytes(&self) -> u32 {
        self.block_bytes.max(4096)
    }
}

impl Export {
    /// The whole of a volume.
    pub fn whole(name: &str, description: &str, size_bytes: u64, read_only: bool) -> Self {
        Self { name: name.to_owned(), description: description.to_owned(), offset: 0, size_bytes, read_only }
    }

    /// What it can do, in the protocol's bits. A flush is one of the whole volume, so connections
    /// may be many.
    pub(crate) fn flags(&self, structured: bool) -> u16 {
        use transmission as flag;
        let always = flag::HAS_FLAGS | flag::SEND_FLUSH | flag::SEND_FUA | flag::CAN_MULTI_CONN | flag::SEND_CACHE;
        let by_access = if self.read_only {
            flag::READ_ONLY
        } else {
            flag::SEND_TRIM | flag::SEND_WRITE_ZEROES | flag::SEND_FAST_ZERO
        };
        always | by_access | if structured { flag::SEND_DF } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_that_cannot_be_served_are_refused_by_name() {
        let export = |name: &str, offset, size_bytes| {
            let whole = Export::whole(name, "", size_bytes, false);
            Export { offset, ..whole }
        };
        let check = |exports: &[Export]| Exports::new(exports.to_vec(), 1 << 20, 4096).err();
        let name = || "pond".to_owned();
        assert_eq!(check(&[]), Some(ExportError::None));
        assert_eq!(check(&[export("", 0, 4096)]), Some(ExportError::Name { name: String::new() }));
        assert_eq!(check(&[export("pond", 0, 0)]), Some(ExportError::Empty { name: name() }));
        assert_eq!(
            check(&[export("pond", 512, 4096)]),
            Some(ExportError::Misaligned { name: name(), block_bytes: 4096 })
        );
        assert_eq!(
            check(&[export("pond", 4096, 1 << 20)]),
            Some(ExportError::Range { name: name(), end: (1 << 20) + 4096, size_bytes: 1 << 20 })
        );
        assert!(check(&[export("pond", u64::MAX - 4095, 4096)]).is_some());
        assert_eq!(
            check(&[export("pond", 0, 4096), export("pond", 4096, 4096)]),
            Some(ExportError::SameName { name: name() })
        );
        let two = || vec![export("all", 0, 1 << 20), export("part", 4096, 8192)];
        let sizes = |exports: Exports| exports.iter().map(|it| it.size_bytes).collect::<Vec<_>>();
        let exports = Exports::new(two(), 1 << 20, 4096).unwrap();
        assert_eq!(sizes(exports.resized(2 << 20)), [2 << 20, 8192]);
        assert_eq!(sizes(exports.resized(8192)), [8192, 4096]);
        let good = Exports::new(vec![export("one", 0, 4096), export("two", 4096, 4096)], 1 << 20, 4096).unwrap();
        assert_eq!((good.find(b""), good.find(b"two"), good.find(b"three")), (Some(0), Some(1), None));
    }
}
