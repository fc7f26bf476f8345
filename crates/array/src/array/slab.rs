//! A slab: values under small keys that are never mistaken for one another.
//!
//! A key carries the generation of its place, so a key kept beyond its value's life is found out at
//! once. Places are reused, last freed first; after warming up nothing is allocated.

use alloc::vec::Vec;
use core::{fmt, marker::PhantomData};

/// Names a value of a [`Slab`].
pub(super) struct Key<T> {
    index: u32,
    generation: u32,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Key<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Key<T> {}

impl<T> PartialEq for Key<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.index, self.generation) == (other.index, other.generation)
    }
}

impl<T> Eq for Key<T> {}

impl<T> fmt::Debug for Key<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.index, self.generation)
    }
}

impl<T> Key<T> {
    /// The key as a number for the outside.
    pub(super) fn to_number(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// The key that became this number.
    pub(super) fn from_number(number: u64) -> Self {
        Self { index: number as u32, generation: (number >> 32) as u32, of: PhantomData }
    }
}

#[derive(Debug)]
struct Place<T> {
    generation: u32,
    value: Option<T>,
}

/// Values under keys.
#[derive(Debug)]
pub(super) struct Slab<T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(super) fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    pub(super) fn insert(&mut self, value: T) -> Key<T> {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { generation: 0, value: None });
            u32::try_from(self.places.len() - 1).expect("fewer than 2^32 things are in flight")
        });
        let place = &mut self.places[index as usize];
        place.value = Some(value);
        Key { index, generation: place.generation, of: PhantomData }
    }

    /// Takes the value out, if the key is still good.
    pub(super) fn take(&mut self, key: Key<T>) -> Option<T> {
        let place = self.places.get_mut(key.index as usize).filter(|place| place.generation == key.generation)?;
        let value = place.value.take()?;
        place.generation = place.generation.wrapping_add(1);
        self.free.push(key.index);
        Some(value)
    }

    /// Takes out a value that is known to be there.
    pub(super) fn remove(&mut self, key: Key<T>) -> T {
        self.take(key).expect("a key inside the engine outlived its value")
    }

    pub(super) fn find(&self, key: Key<T>) -> Option<&T> {
        self.places
            .get(key.index as usize)
            .filter(|place| place.generation == key.generation)
            .and_then(|place| place.value.as_ref())
    }

    /// All values, to be changed.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.places.iter_mut().filter_map(|place| place.value.as_mut())
    }

    /// All values.
    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|place| place.value.as_ref())
    }
}

impl<T> core::ops::Index<Key<T>> for Slab<T> {
    type Output = T;

    fn index(&self, key: Key<T>) -> &T {
        self.find(key).expect("a key inside the engine outlived its value")
    }
}

impl<T> core::ops::IndexMut<Key<T>> for Slab<T> {
    fn index_mut(&mut self, key: Key<T>) -> &mut T {
        let place = &mut self.places[key.index as usize];
        assert!(place.generation == key.generation, "a key inside the engine outlived its value");
        place.value.as_mut().expect("a key inside the engine outlived its value")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_key_finds_nothing() {
        let mut slab = Slab::new();
        let first = slab.insert('a');
        assert_eq!(slab.take(first), Some('a'));
        let second = slab.insert('b');
        assert_eq!(slab.take(first), None);
        assert_eq!(Key::from_number(second.to_number()), second);
        assert_eq!((slab[second], slab.len()), ('b', 1));
    }
}
