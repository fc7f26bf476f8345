//! `--json` prints one document, and the schema in the repository describes it.

use std::path::Path;

use crate::support;
use crate::support::{Bay, Ran, pattern};
use serde_json::Value;

const MEND: &str = "run `cargo run -p shoal -- schemas schemas`, then `npm run api` in web/";

fn repository_schemas() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas")
}

/// Checks the one document on standard output against a schema of the repository, and returns it.
fn checked(schema: &str, line: &str, ran: &Ran) -> Value {
    let text = std::fs::read_to_string(repository_schemas().join(format!("{schema}.json"))).unwrap();
    let validator = jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap();
    let document = ran.json();
    let errors: Vec<_> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "shoal {line}: {errors:?} in {document}");
    document
}

#[test]
fn the_schemas_in_the_repository_are_current() {
    let bay = Bay::new(0);
    let listed = bay.done("schemas fresh").stdout;
    let listed = String::from_utf8(listed).unwrap();
    for path in listed.lines() {
        let name = Path::new(path).file_name().unwrap();
        let fresh = std::fs::read_to_string(bay.path(path)).unwrap();
        let stored = std::fs::read_to_string(repository_schemas().join(name)).unwrap_or_default();
        assert!(fresh == stored, "schemas/{} is not what the types say: {MEND}", name.display());
    }
    let stored = std::fs::read_dir(repository_schemas()).unwrap().count();
    assert_eq!(stored, listed.lines().count(), "schemas/ holds what nobody writes: {MEND}");
}

/// A document's schema, and a command that prints it; one after the other, on the same drives.
const LINES: &[(&str, &str)] = &[
    ("array", "create --level 5 --spares 1 d0 d1 d2 d3"),
    ("transfer", "write d0 d1 d2 --offset 4K"),
    ("array", "status d0 d1 d2"),
    ("array", "fail --member d0 d0 d1 d2"),
    ("array", "add --drive new d1 d2"),
    ("array", "rebuild d1 d2 new"),
    ("scrub", "scrub d1 d2 new"),
    ("replay", "replay rally2 --charts charts"),
    ("examine", "examine d0 new"),
    ("array", "create --force --level 10 --layout o2 d0 d1 d2"),
    ("array", "status d0"),
    ("array", "create --force --level 51 d0 d1 d2 d3 new d4"),
    ("array", "status d0 d1 d4"),
    ("array", "create --force --level 0 d0 d1"),
    ("array", "status d0"),
    ("bench", "bench d4 --raw --seconds 1 --warm-up 0"),
    ("plan", "plan sim:cruzer-titanium*2@usb2 --top 1"),
    ("profile", "profile sim:cruzer-titanium*2 -o stick.toml"),
    ("plan", "plan ./stick.toml*2@usb2 --top 1"),
    ("study-plan", "study --dry-run --force d2 d3 d4"),
    ("study", "study --force --levels 0 --chunks 64K --repeat 1 --seconds 1 --no-fault d2 d3"),
    ("array", "create sim:cruzer-titanium:size=64M*3 --level 5"),
    ("bench", "bench sim:cruzer-titanium*2 --bytes 1M --warm-up 0"),
    ("bench", "bench sim:cruzer-titanium*3 --level 5 --bytes 1M --warm-up 0 --write"),
    ("study-plan", "study --dry-run sim:cruzer-titanium*3@usb2"),
    ("study", "study --levels 5 --chunks 64K --repeat 1 --seconds 1 --size 32M sim:cruzer-titanium:size=64M*4@usb2"),
    ("log", "log"),
    ("show", "show 1"),
    ("compare", "compare 3 3"),
    ("trend", "trend sim:cruzer-titanium#0"),
    ("files", "log --export runs.json"),
    ("log-import", "log --import runs.json"),
    ("completions", "completions zsh"),
    ("files", "man pages"),
    ("files", "schemas schemas"),
];

#[test]
fn every_command_prints_one_document() {
    let bay = Bay::new(5);
    bay.add("new", support::DRIVE_BYTES);
    for (schema, line) in LINES {
        let ran = bay.run_with(&format!("--json {line}"), &pattern(100_000, 1));
        assert_eq!(ran.code, 0, "shoal {line}: {}", ran.stderr);
        checked(schema, line, &ran);
    }
}

#[test]
fn failures_are_documents_too() {
    let bay = Bay::new(4);
    bay.done("create --level 5 d0 d1 d2");
    for (line, code, kind) in [
        ("create --level 9 d0", 2, "usage"),
        ("create --level 5 d0 d1 d2", 3, "refused"),
        ("status d3", 2, "usage"),
        ("read missing", 2, "usage"),
        ("read d0 --offset 512K", 1, "failed"),
        ("write d0 d1 d2 --offset 1T", 2, "usage"),
        ("scrub d3", 2, "usage"),
        ("no-such-command", 2, "usage"),
        ("status", 2, "usage"),
        ("status --no-such-option d0", 2, "usage"),
        ("create --level 5 --chunk 1Q d0 d1 d2", 2, "usage"),
        ("profile d3", 2, "usage"),
        ("profile --write d0", 3, "refused"),
        ("profile sim:cruzer-titanium -o d0", 3, "refused"),
        ("profile sim:cruzer-titanium --bus usb9", 2, "usage"),
        ("profile sim:cruzer-titanum", 2, "usage"),
    ] {
        let ran = bay.run(&format!("--json {line}"));
        assert_eq!(ran.code, code, "shoal {line}: {}", ran.stderr);
        let error = &checked("failure", line, &ran)["error"];
        assert_eq!((&error["kind"], &error["exit_status"]), (&kind.into(), &code.into()), "shoal {line}");
        let message = error["message"].as_str().unwrap();
        assert!(!message.is_empty() && ran.stderr.contains(message.lines().next().unwrap()), "{message}");
    }
}

#[test]
fn a_finding_is_one_document_and_an_exit_status() {
    let bay = Bay::new(3);
    bay.done("create --level 5 --chunk 64K d0 d1 d2");
    bay.poke("d1", 2 << 20, &pattern(4096, 2));
    let ran = bay.run("--json scrub d0 d1 d2");
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let found = checked("scrub", "scrub", &ran);
    assert_eq!(found["mismatched_bytes"], 4096);
    assert_eq!(found["mismatches"][0]["repaired"], false);
    bay.done("scrub --repair --keep-data d0 d1 d2");
    assert_eq!(bay.json("scrub d0 d1 d2")["mismatched_bytes"], 0);
    let examined = bay.run("--json examine d0 missing");
    assert_eq!(examined.code, 1);
    let drives = checked("examine", "examine", &examined)["drives"].clone();
    assert!(drives[0]["superblock"].is_object() && drives[1]["problem"].is_string(), "{drives}");
}

#[test]
fn content_has_standard_output_and_its_document_standard_error() {
    let bay = Bay::new(2);
    bay.done("create --level 0 d0 d1");
    bay.write("write d0 d1", &pattern(5000, 3));
    let mut ran = bay.done("--json read d0 d1 --length 5000");
    assert!(ran.stdout == pattern(5000, 3));
    ran.stdout = ran.stderr.clone().into_bytes();
    assert_eq!(checked("transfer", "read", &ran)["bytes"], 5000);
}
