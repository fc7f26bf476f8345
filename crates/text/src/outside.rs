//! Text that comes from outside: names in superblocks, labels of file systems, what drives say of
//! themselves, names of files. It may hold anything, and a terminal obeys much of it.
//!
//! Whatever is shown to people passes here, at the one place where a program writes it; documents
//! for programs hold the text as it is. A line is kept one by the same means, so where a text of
//! several lines is made, what comes from outside goes in as [`Outside`].

use std::fmt::{self, Write};

/// Text from outside as it is shown: nothing in it moves the cursor, changes colours, ends the
/// line, or turns around what follows; the characters that would are written as Rust writes them.
#[derive(Clone, Copy, Debug)]
pub struct Outside<'a>(
    /// As it came.
    pub &'a str,
);

impl fmt::Display for Outside<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.chars().all(is_harmless) {
            // With whatever width is asked for.
            return f.pad(self.0);
        }
        self.0.chars().try_for_each(|letter| match is_harmless(letter) {
            true => f.write_char(letter),
            false => write!(f, "{}", letter.escape_default()),
        })
    }
}

/// Text of several lines, each shown as [`Outside`] is.
pub fn lines(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        write!(shown, "{}{end}", Outside(line)).expect("strings take everything");
    }
    shown
}

/// Controls of all kinds, and the marks by which text changes its direction or its line.
fn is_harmless(letter: char) -> bool {
    let turns = ['\u{200e}', '\u{200f}', '\u{2028}', '\u{2029}'].contains(&letter)
        || ('\u{202a}'..='\u{202e}').contains(&letter)
        || ('\u{2066}'..='\u{2069}').contains(&letter);
    letter == '\t' || !(letter.is_control() || turns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        for (text, shown) in [
            ("pond", "pond"),
            ("Z\u{fc}rich \u{1f41f}\t\\", "Z\u{fc}rich \u{1f41f}\t\\"),
            ("\x1b[31mred", "\\u{1b}[31mred"),
            ("two\nlines\r", "two\\nlines\\r"),
            ("\u{9b}2J\x07\x7f\0", "\\u{9b}2J\\u{7}\\u{7f}\\u{0}"),
            ("\u{202e}dnop", "\\u{202e}dnop"),
        ] {
            assert_eq!(Outside(text).to_string(), shown);
        }
        assert_eq!(lines("one\x1b\n\ntwo\n"), "one\\u{1b}\n\ntwo\n");
        assert_eq!(format!("{:>6}|{:<6}|", Outside("pond"), Outside("ice")), "  pond|ice   |");
    }

    #[test]
    fn every_character_is_shown_or_named() {
        for letter in (0..=0x0010_ffff).filter_map(char::from_u32) {
            let shown = Outside(letter.encode_utf8(&mut [0; 4])).to_string();
            assert!(shown.chars().all(is_harmless), "{letter:?}");
        }
    }
}
