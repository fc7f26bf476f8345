//! Things by number, and numbers that tell when the thing that they named is gone.

/// Names a thing in a [`Slab`]; never names another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    index: u32,
    generation: u32,
}

impl Key {
    /// As one number.
    pub(crate) fn number(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// The key with this number. Generations come round, but only after more than a thousand
    /// million uses of one place.
    pub(crate) fn of_number(number: u64) -> Self {
        Self { index: number as u32, generation: (number >> 32) as u32 }
    }
}

/// Generations stay below this, so that a key's number leaves its two topmost bits to whoever hands
/// it on.
const GENERATIONS: u32 = 1 << 30;

/// Values by key. A key of a value that was removed finds nothing, even if its place has another
/// value.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    places: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    pub(crate) fn insert(&mut self, it: T) -> Key {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push((0, None));
            u32::try_from(self.places.len() - 1).expect("what is under way at a time is bounded")
        });
        let (generation, place) = &mut self.places[index as usize];
        *place = Some(it);
        Key { index, generation: *generation }
    }

    pub(crate) fn get(&self, key: Key) -> Option<&T> {
        let (generation, place) = self.places.get(key.index as usize)?;
        place.as_ref().filter(|_| *generation == key.generation)
    }

    pub(crate) fn at_mut(&mut self, key: Key) -> Option<&mut T> {
        let (generation, place) = self.places.get_mut(key.index as usize)?;
        place.as_mut().filter(|_| *generation == key.generation)
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        let (generation, place) = self.places.get_mut(key.index as usize)?;
        if *generation != key.generation {
            return None;
        }
        let it = place.take()?;
        *generation = (*generation + 1) % GENERATIONS;
        self.free.push(key.index);
        Some(it)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        self.places.iter().enumerate().filter_map(|(index, (generation, place))| {
            let key = Key { index: index as u32, generation: *generation };
            place.as_ref().map(|it| (key, it))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_outlives_its_thing_without_harm() {
        let mut slab = Slab::new();
        let one = slab.insert(1);
        assert_eq!(slab.remove(one), Some(1));
        let two = slab.insert(2);
        assert_ne!(one, two);
        assert!(slab.get(one).is_none() && slab.at_mut(one).is_none() && slab.remove(one).is_none());
        assert_eq!((slab.get(two), slab.len()), (Some(&2), 1));
        assert_eq!(Key::of_number(two.number()), two);
        assert_eq!(slab.iter().collect::<Vec<_>>(), [(two, &2)]);
    }
}
