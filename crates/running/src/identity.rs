//! Which array it is that a process runs, as it says itself.

use shoal_documents::ArrayDocument;
use shoal_md::Uuid;

/// The array that a process runs, and those inside it, also if they are not used.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) name: String,
    pub(crate) uuid: String,
    inner: Vec<String>,
}

impl Identity {
    pub(crate) fn of(array: &ArrayDocument) -> Self {
        let mut inner = Vec::new();
        collect(array, &mut inner);
        Self { name: array.name.clone(), uuid: array.uuid.clone(), inner }
    }

    /// Whether that array is the one, or inside it.
    pub(crate) fn includes(&self, asked: Uuid) -> bool {
        let asked = asked.to_string();
        self.uuid == asked || self.inner.contains(&asked)
    }
}

fn collect(array: &ArrayDocument, inner: &mut Vec<String>) {
    for array in array.inner_arrays().chain(&array.unattached) {
        inner.push(array.uuid.clone());
        collect(array, inner);
    }
}
