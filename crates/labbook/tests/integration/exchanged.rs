//! Runs that leave a lab book, and come to another.

use std::path::Path;

use shoal_labbook::{Ending, Export, Filter, Imported, LabBookError, Origin, export_csv, export_json, import_json};

use crate::support::{ending, heading, keep, open, repeats, simulated_target, stick, target};

/// A lab book with two finished runs, one that failed and one that did not end.
fn full(path: &Path) -> shoal_labbook::LabBook {
    let mut book = open(path);
    keep(&mut book, 1, &[simulated_target(1, 2)]);
    let mut measured = target(&stick("sda"));
    measured.measurements = repeats("read_bytes_per_s", &[1, 2, 3]);
    measured.measurements[0].workload = "a \"quoted\",\nname \u{1b}[31m".to_owned();
    keep(&mut book, 2, &[measured]);
    let failed = book.begin(&heading(3)).unwrap();
    book.end(failed, &Ending { failure: Some("pulled out".to_owned()), ..ending(3) }).unwrap();
    book.begin(&heading(4)).unwrap();
    book
}

#[test]
fn what_is_exported_is_imported_once() {
    let place = tempfile::tempdir().unwrap();
    let book = full(&place.path().join("book"));
    let file = place.path().join("export.json");
    export_json(&book, &file).unwrap();
    let mut other = open(&place.path().join("other"));
    assert_eq!(import_json(&mut other, &file).unwrap(), Imported { imported_count: 4, known_count: 0 });
    assert_eq!(import_json(&mut other, &file).unwrap(), Imported { imported_count: 0, known_count: 4 });
    let entries = book.list(Filter::default()).unwrap();
    assert_eq!(other.list(Filter::default()).unwrap(), entries);
    for entry in entries {
        let mut imported = other.run(other.find(&entry.uuid).unwrap()).unwrap();
        assert_eq!(imported.heading.origin, Origin::Imported);
        imported.heading.origin = Origin::Measured;
        assert_eq!(imported, book.run(book.find(&entry.uuid).unwrap()).unwrap());
    }
    let again = export_json(&book, &file).unwrap_err().to_string();
    assert!(again.contains("export.json") && again.contains("another name"), "{again}");
}

#[test]
fn an_empty_lab_book_is_exported_too() {
    let place = tempfile::tempdir().unwrap();
    let mut book = open(&place.path().join("book"));
    let file = place.path().join("export.json");
    export_json(&book, &file).unwrap();
    assert_eq!(import_json(&mut book, &file).unwrap(), Imported::default());
}

#[test]
fn a_table_has_a_line_for_each_figure() {
    let place = tempfile::tempdir().unwrap();
    let book = full(&place.path().join("book"));
    let file = place.path().join("export.csv");
    export_csv(&book, &file).unwrap();
    let mut table = csv::Reader::from_path(&file).unwrap();
    let lines: Vec<_> = table.records().map(Result::unwrap).collect();
    let figures: usize = book
        .list(Filter::default())
        .unwrap()
        .iter()
        .flat_map(|entry| book.run(book.find(&entry.uuid).unwrap()).unwrap().targets)
        .flat_map(|target| target.measurements)
        .map(|measured| measured.figures.len())
        .sum();
    assert_eq!(lines.len(), figures);
    assert!(lines.iter().any(|line| &line[13] == "a \"quoted\",\nname \u{1b}[31m" && &line[16] == "read_bytes_per_s"));
}

#[test]
fn what_is_no_export_is_told_and_nothing_is_taken_in() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    export_json(&full(&place.path().join("full")), &file).unwrap();
    let good: Export = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let wrong = |change: &dyn Fn(&mut Export)| {
        let mut export = good.clone();
        change(&mut export);
        serde_json::to_string(&export).unwrap()
    };
    let mut book = open(&place.path().join("book"));
    for text in [
        String::new(),
        "[]".to_owned(),
        "{".to_owned(),
        "[".repeat(100_000),
        wrong(&|export| export.format = "fio".to_owned()),
        wrong(&|export| export.format_version = 2),
        wrong(&|export| export.runs[1].heading.host = "x".repeat(100_000)),
        wrong(&|export| export.runs[0].targets[0].measurements[0].read_histogram.reverse()),
        wrong(&|export| export.runs[0].targets[0].measurements[1].series.reverse()),
        wrong(&|_| ()).replace("0000-4000", "zzzz-4000"),
    ] {
        std::fs::write(&file, &text).unwrap();
        let error = import_json(&mut book, &file).unwrap_err();
        assert!(matches!(error, LabBookError::NoExport { .. }), "{error}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
    assert!(
        import_json(&mut book, place.path()).is_err() && import_json(&mut book, &place.path().join("none")).is_err()
    );
    assert_eq!(book.list(Filter::default()).unwrap(), []);
}
