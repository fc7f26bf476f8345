//! Prints the tests' made-up study: `cargo run -p shoal-study --example sample_report -- json` or `-- html`.

#[path = "../tests/sample/mod.rs"]
mod sample;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let report = sample::study();
    match std::env::args().nth(1).as_deref() {
        Some("json") => println!("{}", serde_json::to_string(&report)?),
        _ => return Err("say json or html".into()),
    }
    Ok(())
}
