//! The page that shows a study, of drives and arrays or of the network: one HTML file with the
//! document inside, which opens from disk and loads nothing.
//!
//! The viewer is built from `web/` and committed; here the document is put into its place. The
//! page's own security policy forbids every network request.

use serde::Serialize;

/// The viewer, without data.
const PAGE: &str = include_str!("../../../web/dist/report.html");

/// Where the data goes.
const PLACE: &str = "<!--data-->";

/// Why a page cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The document does not turn into JSON.
    #[error("the report cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// The whole page for a document. Its `format` says which of the viewer's pages it is for:
/// "shoal-study" or "shoal-network".
pub fn render(report: &impl Serialize) -> Result<String, RenderError> {
    let (before, after) = PAGE.split_once(PLACE).expect("the viewer has a place for the data, a test checks it");
    let data = inlined(&serde_json::to_string(report)?);
    Ok([before, &data, after].concat())
}

/// JSON that cannot end the script element that it stands in: within JSON, `<` occurs in strings
/// only, where an escape says the same.
fn inlined(json: &str) -> String {
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::{PAGE, PLACE, inlined};

    #[test]
    fn the_viewer_has_one_place_for_data() {
        assert_eq!(PAGE.matches(PLACE).count(), 1);
    }

    #[test]
    fn the_viewer_names_no_address_to_load_from() {
        for attribute in ["src=\"", "href=\"http", "@import", "url(http"] {
            assert!(!PAGE.contains(attribute), "{attribute} in the viewer");
        }
    }

    #[test]
    fn data_cannot_leave_its_element() -> Result<(), serde_json::Error> {
        let hostile = "</script><script>alert(1)</script><!-- \u{2028}";
        let json = inlined(&serde_json::to_string(hostile)?);
        assert!(!json.contains('<'));
        assert_eq!(serde_json::from_str::<String>(&json)?, hostile);
        Ok(())
    }
}
