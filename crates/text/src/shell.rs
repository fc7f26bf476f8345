//! Lines for people to type into a shell.

/// A text as any shell takes it for one word.
pub fn shell_word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/:._-".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_each_for_one_word() {
        for (text, word) in [
            ("/dev/sdb", "/dev/sdb"),
            ("", "''"),
            ("sim:a*6", "'sim:a*6'"),
            ("it's $HOME", "'it'\\''s $HOME'"),
            ("two words", "'two words'"),
        ] {
            assert_eq!(shell_word(text), word);
        }
    }
}
