//! Plans of file systems as text.

use std::fmt::{self, Write};

use shoal_documents::FormatDocument;
use shoal_text::format_size;

/// The plan: what the array is like, the command, and why it is so.
pub(super) fn plan_text(document: &FormatDocument) -> String {
    let mut text = String::new();
    write_plan(&mut text, document).expect("strings take everything");
    text
}

/// What was made; nothing if nothing was.
pub(super) fn made_text(document: &FormatDocument) -> String {
    let Some(made) = &document.made else { return String::new() };
    let label = made.label.as_ref().map_or(String::new(), |label| format!(", label {label}"));
    let uuid = made.uuid.as_deref().unwrap_or("unknown");
    format!("made: {} on array {}, uuid {uuid}{label}\n", document.kind, document.array)
}

fn write_plan(text: &mut String, document: &FormatDocument) -> fmt::Result {
    let geometry = &document.geometry;
    write!(text, "{} for array {}, {}", document.kind, document.array, format_size(geometry.size_bytes))?;
    if let (Some(chunk), Some(stripe)) = (geometry.chunk_bytes, geometry.stripe_bytes) {
        write!(text, ", chunk {}, stripe {} of data", format_size(chunk), format_size(stripe))?;
    }
    if let Some(unit) = geometry.erase_unit_bytes {
        write!(text, ", erase unit {}", format_size(unit))?;
    }
    let words = document.arguments.iter().flat_map(|argument| &argument.words);
    let words = words.map(|word| format!(" {word}")).collect::<String>();
    writeln!(text, "\n  {}{words}", document.program)?;
    for argument in &document.arguments {
        writeln!(text, "    {}: {} [{}]", argument.words.join(" "), argument.reason, argument.source)?;
    }
    for note in &document.notes {
        writeln!(text, "  note: {note}")?;
    }
    Ok(())
}
