//! The arrays that stories are told about: small, so that everything happens often.

use shoal_array::{Geometry, Level, ParityLayout, Raid10Layout, Shape};

use super::model::BLOCK;

pub(crate) const CHUNK: u32 = 4096;

/// One array, or arrays as members of an array.
#[derive(Clone, Debug)]
pub(crate) enum Topology {
    /// Members are drives.
    Flat(Shape),
    /// Members are arrays of drives.
    Nested {
        /// Level of the outer one.
        level: Level,
        /// The inner ones.
        inner: Vec<Shape>,
    },
}

impl Topology {
    /// The shape of the array on top.
    pub(crate) fn outer_shape(&self) -> Shape {
        match self {
            Self::Flat(shape) => shape.clone(),
            Self::Nested { level, inner } => {
                let capacity = |shape: &Shape| Geometry::new(shape.clone()).unwrap().capacity_bytes();
                Shape { level: *level, chunk_bytes: CHUNK, member_bytes: inner.iter().map(capacity).collect() }
            }
        }
    }

    /// The shapes of the members that are arrays.
    pub(crate) fn inner_shapes(&self) -> Vec<Shape> {
        match self {
            Self::Flat(_) => Vec::new(),
            Self::Nested { inner, .. } => inner.clone(),
        }
    }
}

/// Members of the same number of chunks, and a tail that is none.
pub(crate) fn equal(level: Level, members: usize, chunks: u64) -> Topology {
    Topology::Flat(equal_shape(level, members, chunks))
}

pub(crate) fn equal_shape(level: Level, members: usize, chunks: u64) -> Shape {
    Shape { level, chunk_bytes: CHUNK, member_bytes: vec![chunks * u64::from(CHUNK) + BLOCK; members] }
}

/// As [`equal`], with chunks of several scratch buffers.
pub(crate) fn coarse(level: Level, members: usize, chunks: u64) -> Topology {
    let chunk_bytes = 4 * CHUNK;
    Topology::Flat(Shape { level, chunk_bytes, member_bytes: vec![chunks * u64::from(chunk_bytes); members] })
}

/// Members of these numbers of chunks.
pub(crate) fn unequal(level: Level, chunks: &[u64]) -> Topology {
    let member_bytes = chunks.iter().map(|chunks| chunks * u64::from(CHUNK)).collect();
    Topology::Flat(Shape { level, chunk_bytes: CHUNK, member_bytes })
}

pub(crate) fn raid10(near: u8, far: u8, offset: bool, far_sets: bool) -> Level {
    Level::Raid10(Raid10Layout { near, far, offset, far_sets })
}

/// RAID5 has the first six of md's layouts.
pub(crate) fn raid5_layouts() -> impl Iterator<Item = ParityLayout> {
    ParityLayout::ALL.into_iter().take(6)
}
