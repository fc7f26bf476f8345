//! The schema in the repository describes the document that is written.

use std::path::Path;

const UPDATE: &str = "SHOAL_UPDATE_SCHEMAS";

#[test]
fn the_schema_in_the_repository_is_current() -> Result<(), Box<dyn std::error::Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/study.json");
    let current = format!("{}\n", serde_json::to_string_pretty(&shoal_study::model::schema())?);
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &current)?;
    }
    let stored = std::fs::read_to_string(&path)?;
    assert!(
        stored == current,
        "schemas/study.json is not what the types say; run this test with {UPDATE}=1, then `npm run api` in web/"
    );
    Ok(())
}
