//! Plain text rules over every tracked file.
//!
//! The banned words are put together from halves so that this file does not find itself.

use super::finding::Finding;
use super::sources::Source;

/// A piece of text that no file may hold.
struct Word {
    text: &'static str,
    why: &'static str,
    mend: &'static str,
}

const LEFTOVER_WHY: &str = "a note to oneself is not seen by whoever could act on it";
const LEFTOVER_MEND: &str = "do it, or say in plain words what is not there";
const ELSEWHERE_WHY: &str = "a fresh clone knows only itself";
const HOST_WHY: &str = "the registry is the reader's choice, made in the reader's own configuration";

const WORDS: &[Word] = &[
    Word { text: concat!("TO", "DO"), why: LEFTOVER_WHY, mend: LEFTOVER_MEND },
    Word { text: concat!("FIX", "ME"), why: LEFTOVER_WHY, mend: LEFTOVER_MEND },
    Word { text: concat!("XX", "X"), why: LEFTOVER_WHY, mend: LEFTOVER_MEND },
    Word { text: concat!("HA", "CK"), why: LEFTOVER_WHY, mend: LEFTOVER_MEND },
    Word {
        text: concat!("See the mod", "ule's documentation"),
        why: "whoever asks what an item is sees its own words alone",
        mend: "say what it is and what it promises; the why may stay where it is",
    },
    Word { text: concat!("/wo", "rk/"), why: ELSEWHERE_WHY, mend: "name a path inside the repository" },
    Word { text: concat!("../sha", "red"), why: ELSEWHERE_WHY, mend: "bring what is needed into the repository" },
    Word { text: concat!("registry.npm", "js.org"), why: HOST_WHY, mend: "npm's omit-lockfile-registry-resolved" },
    Word { text: concat!("static.cra", "tes.io"), why: HOST_WHY, mend: "leave the host out" },
    Word { text: concat!("index.cra", "tes.io"), why: HOST_WHY, mend: "leave the host out" },
];

/// Where a line of a comment ends at the latest.
const COMMENT_COLUMNS_MAX: usize = 100;

/// The comments of a file, line by line: which of them are prose, that can be wrapped.
#[derive(Default)]
struct Comments {
    is_in_code: bool,
}

impl Comments {
    /// Whether the next line is prose of a comment and too long. Tables, diagrams, code, and what
    /// has no white space cannot be wrapped.
    fn is_too_long(&mut self, line: &str) -> bool {
        let Some(text) = line.trim_start().strip_prefix("//") else {
            self.is_in_code = false;
            return false;
        };
        let text = text.trim_start_matches(['/', '!']);
        let is_fence = text.trim_start().starts_with("```");
        self.is_in_code ^= is_fence;
        let is_fixed = self.is_in_code || is_fence || text.starts_with(" |") || text.starts_with("     ");
        let is_prose = !is_fixed && line.is_ascii() && text.trim().contains(' ');
        is_prose && line.len() > COMMENT_COLUMNS_MAX
    }
}

/// Every breach in the file.
pub(super) fn check(file: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut comments = Comments::default();
    for (index, line) in file.content.split('\n').enumerate() {
        check_line(file, index + 1, line, &mut findings);
        if file.is_rust() && comments.is_too_long(line) {
            let what = format!("a comment of {} columns, {COMMENT_COLUMNS_MAX} are allowed", line.chars().count());
            findings.push(finding(file, index + 1, &what, "long lines of prose are hard to read", "wrap it"));
        }
    }
    if !file.content.is_empty() && !file.content.ends_with('\n') {
        let line = file.content.lines().count();
        let why = "tools that join files join the last line to the next";
        findings.push(finding(file, line, "no newline at the end", why, "end the last line"));
    }
    findings
}

fn check_line(file: &Source, number: usize, line: &str, findings: &mut Vec<Finding>) {
    for word in WORDS.iter().filter(|word| contains_word(line, word.text)) {
        findings.push(finding(file, number, &format!("`{}`", word.text), word.why, word.mend));
    }
    if line.ends_with([' ', '\t', '\r']) && !file.is_generated() {
        findings.push(finding(file, number, "white space at the end of the line", "noise in every diff", "remove it"));
    }
    if let Some(letter) = line.chars().find(|letter| file.is_rust() && !is_plain(*letter)) {
        let what = format!("`{letter}` is not ASCII");
        let mend = format!("in a string write {}, in a comment use words", letter.escape_unicode());
        findings.push(finding(file, number, &what, "letters that look alike hide mistakes in code", &mend));
    }
}

/// ASCII, and the lines and arrowheads that diagrams in comments are drawn with.
fn is_plain(letter: char) -> bool {
    letter.is_ascii() || ('\u{2500}'..='\u{25ff}').contains(&letter)
}

fn finding(file: &Source, line: usize, what: &str, why: &str, mend: &str) -> Finding {
    Finding { path: file.path.clone(), line, what: what.to_owned(), why: why.to_owned(), mend: mend.to_owned() }
}

/// Whether `text` stands in `line` with no letter directly before or after it.
fn contains_word(line: &str, text: &str) -> bool {
    line.match_indices(text).any(|(start, found)| {
        let before = line[..start].chars().next_back();
        let after = line[start + found.len()..].chars().next();
        let cut_before = found.starts_with(char::is_alphabetic) && before.is_some_and(char::is_alphabetic);
        let cut_after = found.ends_with(char::is_alphabetic) && after.is_some_and(char::is_alphabetic);
        !cut_before && !cut_after
    })
}

#[cfg(test)]
mod tests {
    use super::super::sources::sample;
    use super::{WORDS, check};

    fn found(path: &str, content: &str) -> Vec<(usize, String)> {
        check(&sample(path, content)).into_iter().map(|finding| (finding.line, finding.what)).collect()
    }

    #[test]
    fn every_banned_word_is_found_in_any_file() {
        for word in WORDS {
            let content = format!("first\nsee {} here\n", word.text);
            assert_eq!(found("README.md", &content), [(2, format!("`{}`", word.text))]);
        }
    }

    #[test]
    fn a_banned_word_inside_a_longer_one_is_fine() {
        assert!(found("a.md", concat!("HA", "CKING the ME", "THOD\n")).is_empty());
    }

    #[test]
    fn white_space_and_the_last_newline() {
        for line in ["text \n", "text\t\n", "text\r\n"] {
            assert_eq!(found("a.md", line), [(1, "white space at the end of the line".to_owned())]);
        }
        assert_eq!(found("a.md", "one\ntwo"), [(2, "no newline at the end".to_owned())]);
        assert!(found("a.md", "").is_empty());
    }

    #[test]
    fn comments_of_rust_end_at_a_column_unless_they_cannot_be_wrapped() {
        let long = "word ".repeat(20);
        let too_long = vec![(1, "a comment of 103 columns, 100 are allowed".to_owned())];
        assert_eq!(found("a.rs", &format!("// {}\n", long.trim_end())), [(1, too_long[0].1.replace("103", "102"))]);
        assert_eq!(found("a.rs", &format!("/// {}\n", long.trim_end())), too_long);
        for fixed in ["/// | {} |\n", "/// ```\n/// {}.\n/// ```\n", "let text = \"{}.\";\n", "//     {}.\n"] {
            assert!(found("a.rs", &fixed.replace("{}", &long)).is_empty(), "{fixed}");
        }
        assert!(found("a.rs", &format!("// {}\n", "x".repeat(120))).is_empty());
        assert!(found("a.md", &format!("// {}\n", long.trim_end())).is_empty());
    }

    #[test]
    fn rust_is_ascii_apart_from_diagrams() {
        assert_eq!(found("a.rs", "// \u{b5}s\n"), [(1, "`\u{b5}` is not ASCII".to_owned())]);
        assert!(found("a.rs", "//! read \u{2500}\u{25ba} write\n").is_empty());
        assert!(found("a.md", "\u{b5}s\n").is_empty());
    }
}
