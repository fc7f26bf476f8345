//! The External Data Representation (RFC 4506): words of four bytes, and bytes padded to them.

/// A message that grows.
#[derive(Debug, Default)]
pub(super) struct Writer {
    pub(super) bytes: Vec<u8>,
}

impl Writer {
    pub(super) fn word(&mut self, value: u32) -> &mut Self {
        self.bytes.extend_from_slice(&value.to_be_bytes());
        self
    }

    pub(super) fn double(&mut self, value: u64) -> &mut Self {
        self.bytes.extend_from_slice(&value.to_be_bytes());
        self
    }

    /// Bytes whose number both sides know; a multiple of four.
    pub(super) fn fixed(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Bytes with their number before and padding behind.
    pub(super) fn opaque(&mut self, bytes: &[u8]) -> &mut Self {
        self.word(u32::try_from(bytes.len()).expect("what this client sends is far below 4 GiB"));
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }
}

/// What is left of a message; `None` from any method says that it ends too early.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn word(&mut self) -> Option<u32> {
        let (first, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(u32::from_be_bytes(*first))
    }

    pub(super) fn double(&mut self) -> Option<u64> {
        let (first, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(u64::from_be_bytes(*first))
    }

    pub(super) fn fixed<const COUNT: usize>(&mut self) -> Option<[u8; COUNT]> {
        let (first, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(*first)
    }

    pub(super) fn opaque(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.word()?).ok()?;
        let padded = length.checked_next_multiple_of(4)?;
        let (first, rest) = self.bytes.split_at_checked(padded)?;
        self.bytes = rest;
        Some(&first[..length])
    }

    /// Skips a bitmap: words with their number before.
    pub(super) fn bitmap(&mut self) -> Option<()> {
        let words = self.word()?;
        let bytes = usize::try_from(words).ok()?.checked_mul(4)?;
        self.bytes = self.bytes.split_at_checked(bytes)?.1;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Reader, Writer};

    #[test]
    fn what_is_written_is_read() {
        let mut writer = Writer::default();
        writer.word(7).opaque(b"hello").double(1 << 40).fixed(&[1, 2, 3, 4]).word(1).word(9);
        let mut reader = Reader { bytes: &writer.bytes };
        assert_eq!(reader.word(), Some(7));
        assert_eq!(reader.opaque(), Some(&b"hello"[..]));
        assert_eq!(reader.double(), Some(1 << 40));
        assert_eq!(reader.fixed(), Some([1, 2, 3, 4]));
        assert_eq!(reader.bitmap(), Some(()));
        assert_eq!(reader.word(), None);
    }

    #[test]
    fn a_length_that_is_a_lie_is_an_early_end() {
        for lie in [[0xff; 8], [0, 0, 0, 5, 1, 2, 3, 4]] {
            assert_eq!(Reader { bytes: &lie }.opaque(), None);
            assert_eq!(Reader { bytes: &lie }.bitmap(), None);
        }
    }
}
