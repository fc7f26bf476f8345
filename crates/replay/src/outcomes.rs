//! What the experiments came to: numbers by name.

use std::collections::BTreeMap;

/// A claim asks for an outcome that no experiment has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no experiment has the outcome `{0}`")]
pub struct Missing(pub(crate) String);

/// Numbers by name, such as `one bus, 3 drives, read` in MB/s.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcomes(BTreeMap<String, f64>);

impl Outcomes {
    pub(crate) fn put(&mut self, name: impl Into<String>, value: f64) {
        let name = name.into();
        let before = self.0.insert(name.clone(), value);
        assert!(before.is_none(), "two experiments have the outcome `{name}`");
    }

    /// The number of that name.
    pub(crate) fn of(&self, name: &str) -> Result<f64, Missing> {
        self.0.get(name).copied().ok_or_else(|| Missing(name.to_owned()))
    }

    pub(crate) fn join(&mut self, other: Self) {
        other.0.into_iter().for_each(|(name, value)| self.put(name, value));
    }
}
