//! UUIDs as md prints them.

use std::fmt;
use std::str::FromStr;

/// An array's or a member's UUID. Printed as md does: four groups of eight hex digits, `:` between
/// them, bytes in the order in which they lie on disk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(pub [u8; 16]);

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, byte) in self.0.iter().enumerate() {
            if position > 0 && position % 4 == 0 {
                f.write_str(":")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Uuid({self})")
    }
}

/// The text is no UUID.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no UUID: give 32 hex digits, with or without ':' or '-' between them")]
pub struct ParseUuidError {
    /// What was given.
    pub text: String,
}

impl FromStr for Uuid {
    type Err = ParseUuidError;

    fn from_str(text: &str) -> Result<Self, ParseUuidError> {
        let refused = || ParseUuidError { text: text.to_owned() };
        let mut bytes = [0; 16];
        let mut digits = 0;
        for character in text.chars().filter(|character| !matches!(character, ':' | '-')) {
            let digit = character.to_digit(16).and_then(|digit| u8::try_from(digit).ok()).ok_or_else(refused)?;
            let byte = bytes.get_mut(digits / 2).ok_or_else(refused)?;
            *byte = *byte << 4 | digit;
            digits += 1;
        }
        if digits == 32 { Ok(Self(bytes)) } else { Err(refused()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_and_reads_what_md_prints() {
        let text = "01020304:05060708:090a0b0c:0d0e0f10";
        let uuid: Uuid = text.parse().unwrap();
        assert_eq!(uuid.0, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
        assert_eq!(uuid.to_string(), text);
        assert_eq!("01020304-0506-0708-090a-0b0c0d0e0f10".parse(), Ok(uuid));
    }

    #[test]
    fn refuses_everything_else() {
        for text in ["", "01020304", "01020304:05060708:090a0b0c:0d0e0f1", "01020304:05060708:090a0b0c:0d0e0f1000"] {
            assert!(text.parse::<Uuid>().is_err(), "{text}");
        }
        let refused = "01020304:05060708:090a0b0c:0d0e0fxy".parse::<Uuid>().unwrap_err();
        assert!(refused.to_string().contains("0fxy"), "{refused}");
    }
}
