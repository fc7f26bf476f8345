//! Things that come and go, named by small numbers that are used again.

/// Values by number.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    entries: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Pool<T> {
    pub(crate) fn new() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Takes a value in.
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.entries[number as usize] = Some(value);
            return number;
        }
        self.entries.push(Some(value));
        u32::try_from(self.entries.len() - 1).expect("fewer things are under way than memory has room for")
    }

    /// Gives a value back; its number is free.
    pub(crate) fn remove(&mut self, number: u32) -> T {
        self.free.push(number);
        self.entries[number as usize].take().expect("it was there")
    }

    pub(crate) fn at(&self, number: u32) -> &T {
        self.entries[number as usize].as_ref().expect("it is there")
    }

    pub(crate) fn at_mut(&mut self, number: u32) -> &mut T {
        self.entries[number as usize].as_mut().expect("it is there")
    }

    /// The numbers of all values for which `wanted` holds.
    pub(crate) fn numbers_of(&self, wanted: impl Fn(&T) -> bool) -> Vec<u32> {
        let those = (0..).zip(&self.entries).filter(|(_, entry)| entry.as_ref().is_some_and(&wanted));
        those.map(|(number, _)| number).collect()
    }
}
