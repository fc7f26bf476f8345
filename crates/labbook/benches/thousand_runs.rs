//! How long a lab book of a thousand runs takes to be written, listed, shown, compared and
//! followed.
//!
//! `cargo bench -p shoal-labbook --bench thousand_runs`
//!
//! Each run is three repeats of random reads and writes on a simulated stick, with histograms and
//! series. Nothing is judged.

use std::time::Instant;

use shoal_labbook::{Filter, LabBook, Rights, compare, export_json, trend};

#[path = "../tests/integration/support.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "it is shared with tests")]
mod support;

const RUNS: u64 = 1000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = tempfile::tempdir()?;
    let path = place.path().join("book");
    let targets: Vec<_> = (0..RUNS).map(|seed| support::simulated_target(seed, 3)).collect();
    let (mut book, begun) = (LabBook::open(&path, Rights::Write)?, Instant::now());
    for (number, target) in (0..).zip(targets) {
        support::keep(&mut book, number, &[target]);
    }
    println!("write {RUNS} runs          {:>10.1?}", begun.elapsed());
    drop(book);
    println!("size of the file         {:>10} KiB", std::fs::metadata(&path)?.len() >> 10);
    let begun = Instant::now();
    let book = LabBook::open(&path, Rights::Read)?;
    println!("open                     {:>10.1?}", begun.elapsed());
    let begun = Instant::now();
    let count = book.list(Filter::default())?.len();
    println!("list {count} runs           {:>10.1?}", begun.elapsed());
    let begun = Instant::now();
    let [one, other] = [book.run(book.find("1")?)?, book.run(book.find("1000")?)?];
    println!("read two runs            {:>10.1?}", begun.elapsed());
    let begun = Instant::now();
    let figures = compare(&one, &other).figures.len();
    println!("compare {figures} figures       {:>10.1?}", begun.elapsed());
    let begun = Instant::now();
    let courses = trend(&book, &book.find_drive("sim:cruzer-titanium#0")?)?.courses.len();
    println!("trend of {courses} figures      {:>10.1?}", begun.elapsed());
    let begun = Instant::now();
    export_json(&book, &place.path().join("export.json"))?;
    println!("export as JSON           {:>10.1?}", begun.elapsed());
    Ok(())
}
