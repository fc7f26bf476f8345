//! One word per idea: the glossary defines each word once.

use std::collections::BTreeMap;

use super::finding::Finding;
use super::sources::Source;

/// The document.
const GLOSSARY: &str = "GLOSSARY.md";

/// Words that are defined again, if the file is the glossary.
pub(super) fn check(file: &Source) -> Vec<Finding> {
    if file.path != GLOSSARY {
        return Vec::new();
    }
    let mut defined: BTreeMap<&str, usize> = BTreeMap::new();
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(file.content.lines()) {
        // The first two rows of each table are its head.
        let Some(word) = first_cell(line).filter(|word| !matches!(*word, "word" | "---")) else { continue };
        if let Some(first) = defined.get(word) {
            findings.push(Finding {
                path: file.path.clone(),
                line: number,
                what: format!("`{word}` is defined in line {first} already"),
                why: "a reader finds one of the two".to_owned(),
                mend: "make one row of them, with each sense beside where it holds".to_owned(),
            });
        } else {
            defined.insert(word, number);
        }
    }
    findings
}

/// What a row of a table begins with.
fn first_cell(line: &str) -> Option<&str> {
    line.strip_prefix('|')?.split('|').next().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, content: &str) -> Vec<usize> {
        let file = Source { path: path.to_owned(), content: content.to_owned() };
        check(&file).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_word_that_is_defined_twice_is_found_in_the_glossary() {
        let once = "| word | means |\n| --- | --- |\n| drive | a thing |\n\n| word | means |\n| --- | --- |\n| member | a part |\n";
        assert_eq!(lines(GLOSSARY, once), [0; 0]);
        let twice = format!("{once}| drive | another thing |\n");
        assert_eq!(lines(GLOSSARY, &twice), [8]);
        assert_eq!(lines("README.md", &twice), [0; 0]);
    }
}
