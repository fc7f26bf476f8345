//! Little-endian fields at fixed places.

use crate::{Features, Timestamp, Uuid};

/// A value with one fixed form on disk.
pub(crate) trait Field: Sized {
    /// Bytes on disk.
    const BYTES: usize;

    /// Reads the value from exactly [`Field::BYTES`] bytes.
    fn read(bytes: &[u8]) -> Self;

    /// Writes the value to exactly [`Field::BYTES`] bytes.
    fn write(&self, bytes: &mut [u8]);
}

macro_rules! integer_fields {
    ($($integer:ty),*) => {$(
        impl Field for $integer {
            const BYTES: usize = size_of::<$integer>();

            fn read(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("the caller cuts exactly BYTES"))
            }

            fn write(&self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

integer_fields!(u8, u16, u32, u64, i32);

impl<const N: usize> Field for [u8; N] {
    const BYTES: usize = N;

    fn read(bytes: &[u8]) -> Self {
        bytes.try_into().expect("the caller cuts exactly BYTES")
    }

    fn write(&self, bytes: &mut [u8]) {
        bytes.copy_from_slice(self);
    }
}

macro_rules! newtype_fields {
    ($($newtype:ident($inner:ty)),*) => {$(
        impl Field for $newtype {
            const BYTES: usize = <$inner as Field>::BYTES;

            fn read(bytes: &[u8]) -> Self {
                Self(Field::read(bytes))
            }

            fn write(&self, bytes: &mut [u8]) {
                self.0.write(bytes);
            }
        }
    )*};
}

newtype_fields!(Features(u32), Timestamp(u64), Uuid([u8; 16]));
