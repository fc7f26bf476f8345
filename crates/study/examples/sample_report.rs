//! Prints the tests' made-up study, to look at while working on the viewer:
//! `cargo run --package shoal-study --example sample_report -- html > sample.html`, or `-- json`.

#[path = "../tests/integration/sample/mod.rs"]
mod sample;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let report = sample::study();
    let text = match std::env::args().nth(1).as_deref() {
        Some("html") => shoal_study::report::render(&report)?,
        Some("json") => serde_json::to_string(&report)?,
        _ => return Err("say html or json".into()),
    };
    println!("{text}");
    Ok(())
}
