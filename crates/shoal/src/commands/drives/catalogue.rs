//! `shoal drives --catalogue`: the drives that can be simulated.

use comfy_table::{Table, presets};
use schemars::JsonSchema;
use serde::Serialize;
use shoal_sim::Description;
use shoal_text::Outside;

use super::text::size;

/// `drives --catalogue`: the drives that commands take as `sim:NAME`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CatalogueDocument {
    /// In the order of their names.
    pub(crate) drives: Vec<KnownDriveDocument>,
}

/// A drive that is described.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KnownDriveDocument {
    /// As in `sim:NAME`.
    pub(crate) name: String,
    /// What people call it.
    pub(crate) title: String,
    /// Capacity in bytes.
    pub(crate) size_bytes: u64,
    /// The bus that it is plugged into unless told otherwise.
    pub(crate) bus: String,
}

impl From<&Description> for KnownDriveDocument {
    fn from(description: &Description) -> Self {
        let model = &description.model;
        Self {
            name: model.name.clone(),
            title: model.title.clone(),
            size_bytes: model.size_bytes,
            bus: model.bus.word().to_owned(),
        }
    }
}

/// All of them.
pub(super) fn catalogue() -> CatalogueDocument {
    CatalogueDocument { drives: shoal_sim::catalogue().iter().map(KnownDriveDocument::from).collect() }
}

pub(super) fn text(document: &CatalogueDocument) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["name", "size", "bus", "what it is"]);
    for KnownDriveDocument { name, title, size_bytes, bus } in &document.drives {
        table.add_row([name, &size(*size_bytes), bus, &Outside(title).to_string()]);
    }
    let lines: String = table.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    format!("{lines}\n`sim:NAME*6` is six of one; `shoal profile` describes a drive that you have\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_can_be_simulated() {
        let known = catalogue();
        let text = text(&known);
        assert!(!known.drives.is_empty());
        for drive in &known.drives {
            assert!(shoal_sim::find(&drive.name).is_ok() && text.contains(&drive.name), "{}", drive.name);
        }
    }
}
