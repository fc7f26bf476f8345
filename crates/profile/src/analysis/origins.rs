//! Where each parameter of a profile comes from.

use std::collections::BTreeMap;

use shoal_sim::{Origin, Status};

/// Origins as they come up.
#[derive(Debug)]
pub(super) struct Origins {
    date: String,
    origins: BTreeMap<String, Origin>,
}

impl Origins {
    pub(super) fn new(date: &str) -> Self {
        Self { date: date.to_owned(), origins: BTreeMap::new() }
    }

    /// Measured by this method, with this spread.
    pub(super) fn measured(&mut self, path: &str, method: &str, spread_ppm: u32) {
        let source = format!("shoal profile, {}: {method}", self.date);
        self.add(path, Status::Measured, source, Some(spread_ppm));
    }

    pub(super) fn published(&mut self, path: &str, who: &str) {
        self.add(path, Status::Published, who.to_owned(), None);
    }

    pub(super) fn assumed(&mut self, path: &str, why: &str) {
        self.add(path, Status::Assumed, why.to_owned(), None);
    }

    /// Would have had to be measured; `stand_in` says what the value is instead.
    pub(super) fn not_measured(&mut self, path: &str, stand_in: &str) {
        self.add(path, Status::NotMeasured, stand_in.to_owned(), None);
    }

    fn add(&mut self, path: &str, status: Status, source: String, spread_ppm: Option<u32>) {
        self.origins.insert(path.to_owned(), Origin { status, source, spread_ppm });
    }

    pub(super) fn finish(self) -> BTreeMap<String, Origin> {
        self.origins
    }
}
