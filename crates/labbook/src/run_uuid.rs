//! By what a run is known in every lab book.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A run's UUID, of random bits (version 4), so that a run is the same run in whatever lab book it
/// is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct RunUuid([u8; 16]);

/// The text is no UUID.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no UUID, as 1b4e28ba-2fa1-41d2-883f-0016d3cca427")]
pub struct RunUuidError(String);

/// Where hyphens stand among the 32 digits.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

impl RunUuid {
    /// Out of random bytes.
    pub fn from_random(mut bytes: [u8; 16]) -> Self {
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Self(bytes)
    }
}

impl fmt::Display for RunUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            let hyphen = if [4, 6, 8, 10].contains(&index) { "-" } else { "" };
            write!(f, "{hyphen}{byte:02x}")?;
        }
        Ok(())
    }
}

impl FromStr for RunUuid {
    type Err = RunUuidError;

    fn from_str(text: &str) -> Result<Self, RunUuidError> {
        let wrong = || RunUuidError(text.chars().take(80).collect());
        let is_formed = text.len() == 36
            && text.bytes().enumerate().all(|(place, byte)| match HYPHENS.contains(&place) {
                true => byte == b'-',
                false => byte.is_ascii_hexdigit(),
            });
        if !is_formed {
            return Err(wrong());
        }
        let number = u128::from_str_radix(&text.replace('-', ""), 16).map_err(|_| wrong())?;
        Ok(Self(number.to_be_bytes()))
    }
}

impl TryFrom<String> for RunUuid {
    type Error = RunUuidError;

    fn try_from(text: String) -> Result<Self, RunUuidError> {
        text.parse()
    }
}

impl From<RunUuid> for String {
    fn from(uuid: RunUuid) -> Self {
        uuid.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_reads_back_and_says_its_version() {
        let uuid = RunUuid::from_random([0xff; 16]);
        assert_eq!(uuid.to_string(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(uuid.to_string().parse(), Ok(uuid));
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in ["", "1", "ffffffff-ffff-4fff-bfff-fffffffffff", "ffffffff+ffff-4fff-bfff-ffffffffffff", "\u{e9}"] {
            assert!(text.parse::<RunUuid>().is_err(), "{text}");
        }
        let signed = "+fffffff-ffff-4fff-bfff-ffffffffffff";
        assert!(signed.parse::<RunUuid>().is_err());
    }
}
