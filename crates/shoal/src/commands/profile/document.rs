//! What `shoal profile` prints.

use std::fmt::Write;

use comfy_table::{Table, presets};
use schemars::JsonSchema;
use serde::Serialize;
use shoal_profile::{Cost, Profile, Residual, Together};
use shoal_text::{format_ns, format_rate};

/// A drive's profile.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProfileDocument {
    /// The drive's description, as text.
    pub(crate) description: String,
    /// The file that it was written to.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The description, parameter by parameter.
    parameters: Vec<ParameterDocument>,
    /// How well a simulated drive of this description does what the measured one did.
    pub(super) residuals: Vec<Residual>,
    /// What several drives did at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) together: Option<Together>,
    /// What else is worth knowing, a sentence each.
    remarks: Vec<String>,
    /// Bytes that were read.
    read_bytes: u64,
    /// Bytes that were written.
    written_bytes: u64,
}

/// One parameter of a description.
#[derive(Debug, Serialize, JsonSchema)]
struct ParameterDocument {
    /// Where it stands in the description, as `flash.read_rate`.
    path: String,
    /// Number and unit, or a word.
    value: String,
    /// "measured", "published", "assumed" or "not-measured".
    status: String,
    /// Half of what lies between the quartiles, in millionths of the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    spread_ppm: Option<u32>,
    /// When and how it was measured, or why not.
    source: String,
}

impl ProfileDocument {
    pub(super) fn new(profile: &Profile, cost: Cost, together: Option<Together>, file: Option<String>) -> Self {
        let parameter = |parameter: shoal_sim::Parameter| ParameterDocument {
            path: parameter.path,
            value: parameter.value,
            status: parameter.origin.status.word().to_owned(),
            spread_ppm: parameter.origin.spread_ppm,
            source: parameter.origin.source,
        };
        Self {
            description: profile.description.to_text(),
            file,
            parameters: profile.description.parameters().into_iter().map(parameter).collect(),
            residuals: profile.residuals.clone(),
            together,
            remarks: profile.remarks.clone(),
            read_bytes: cost.read_bytes,
            written_bytes: cost.written_bytes,
        }
    }
}

/// Tables of what was found, and of how well it fits; the description itself if it went to no file.
pub(super) fn text(document: &ProfileDocument) -> String {
    let mut text = String::new();
    let mut found = table(["parameter", "value", "status", "spread", "from"]);
    for parameter in &document.parameters {
        let spread = parameter.spread_ppm.map(|ppm| format!("{:.2} %", f64::from(ppm) / 10_000.0));
        let ParameterDocument { path, value, status, source, .. } = parameter;
        found.add_row([path, value, status, &spread.unwrap_or_default(), source]);
    }
    let mut fit = table(["mean of", "measured", "model", "error"]);
    for Residual { what, measured_ns, predicted_ns, error } in &document.residuals {
        fit.add_row([what, &format_ns(*measured_ns), &format_ns(*predicted_ns), &format!("{:+.1} %", error * 100.0)]);
    }
    // Strings take everything.
    let _ = writeln!(text, "{}\n\nThe model against what was measured\n{}", lines(&found), lines(&fit));
    if let Some(together) = &document.together {
        let _ = writeln!(
            text,
            "\n{} drives read {} together; the model says {} on one bus, {} if they shared nothing.",
            together.drives,
            format_rate(together.measured_bytes_per_s),
            format_rate(together.predicted_bytes_per_s),
            format_rate(together.unshared_bytes_per_s)
        );
    }
    for remark in &document.remarks {
        let _ = writeln!(text, "\n{remark}");
    }
    let _ = match &document.file {
        Some(file) => writeln!(text, "\nThe description is in {file}: sim:{} is such a drive.", as_path(file)),
        None => writeln!(text, "\n{}", document.description),
    };
    text
}

/// A file's name as the notation takes it: as a path.
fn as_path(file: &str) -> String {
    if file.contains('/') { file.to_owned() } else { format!("./{file}") }
}

fn table<const COLUMNS: usize>(header: [&str; COLUMNS]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header);
    table
}

fn lines(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}
