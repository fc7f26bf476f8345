//! A table that hands out small numbers for what is in flight.

/// Values by token; a token is free again once its value is taken.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    entries: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }

    /// Keeps a value and names it.
    pub(crate) fn insert(&mut self, value: T) -> u64 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            self.entries.len() - 1
        });
        self.entries[index] = Some(value);
        index as u64
    }

    /// The value of a token; none if it was taken.
    pub(crate) fn entry_mut(&mut self, token: u64) -> Option<&mut T> {
        self.entries.get_mut(usize::try_from(token).ok()?)?.as_mut()
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// All values.
    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().flatten()
    }

    /// All values, to be changed.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut().flatten()
    }

    /// Takes the value out.
    ///
    /// # Panics
    /// If there is none: something was answered twice.
    pub(crate) fn take(&mut self, token: u64) -> T {
        let index = usize::try_from(token).expect("tokens are indices");
        let value = self.entries.get_mut(index).and_then(Option::take).expect("every token is answered once");
        self.free.push(index);
        value
    }
}
