//! The same question for files: one is measured, and arrays of such are predicted and measured.

use std::path::Path;
use std::process::Command;

use crate::needs_bus_reality::document;
use crate::needs_bus_reality::figures::{Each, Figures, Kind, error_per_mille};
use crate::needs_bus_reality::guest::{PROGRAM, STICK_BYTES, median, options};
use crate::needs_bus_reality::shapes::Shape;
use crate::needs_bus_reality::simulated;

/// Small requests, one at a time: nothing else of files on one disk is the files' own.
const KINDS: [Kind; 2] = [Kind::SmallRead, Kind::SmallWrite];

/// Measures, predicts and measures; gives the table.
pub(crate) fn table(directory: &Path, shapes: &[Shape]) -> String {
    let most = shapes.iter().map(Shape::count).max().unwrap();
    let files: Vec<_> = (0..most).map(|number| format!("file{number}")).collect();
    let content = vec![b'x'; usize::try_from(STICK_BYTES).unwrap()];
    files.iter().for_each(|name| std::fs::write(directory.join(name), &content).unwrap());
    let one = small(directory, &["--raw"], &files[..1]);
    let drive = simulated::of_commands(&one);
    let mut table =
        "| array | | simulated | shoal on the files | error |\n| --- | --- | --- | --- | --- |\n".to_owned();
    for &kind in &KINDS {
        table += &format!("| one file | {} | | {} | |\n", document::title(kind), document::shown(kind, kind.of(&one)));
    }
    for shape in shapes {
        let members = &files[..shape.count()];
        let chunk = shape.chunk_option("K");
        let create = ["create", "--force", "--assume-clean", "--level", shape.level];
        let create: Vec<_> = create.into_iter().chain(chunk.split_whitespace()).collect();
        run(directory, &create, members);
        let (predicted, measured) = (simulated::predicted(shape, &drive), small(directory, &[], members));
        for &kind in &KINDS {
            let [said, found] = [&predicted, &measured].map(|figures| kind.of(figures));
            table += &format!(
                "| RAID{} of {} | {} | {} | {} | {} |\n",
                shape.level,
                shape.count(),
                document::title(kind),
                document::shown(kind, said),
                document::shown(kind, found),
                document::percent(error_per_mille(said, found))
            );
        }
    }
    table
}

fn small(directory: &Path, how: &[&str], files: &[String]) -> Figures {
    let latency_ns = |kind: Kind| {
        let words: Vec<_> = ["--json", "bench", "--seconds", "2"]
            .into_iter()
            .chain(how.iter().copied())
            .chain(options(kind).split_whitespace())
            .collect();
        median(&run(directory, &words, files), kind)
    };
    let request_ns = Each { read: latency_ns(Kind::SmallRead), write: latency_ns(Kind::SmallWrite) };
    Figures { bytes_per_s: Each { read: 0, write: 0 }, request_ns }
}

fn run(directory: &Path, words: &[&str], files: &[String]) -> String {
    let ran = Command::new(PROGRAM).arg("--quiet").args(words).args(files).current_dir(directory).output().unwrap();
    assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}
