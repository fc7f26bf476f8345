//! A level with its layout as two words of a document: "raid5" and "left-symmetric".

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use shoal_volume::{ArrayLevel, Level, layout_name};

/// The two words.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct LevelWords {
    /// In md's words: "raid5".
    level: String,
    /// In md's words: "left-symmetric"; left out where the level has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    layout: Option<String>,
}

pub(crate) fn serialize<S: Serializer>(level: &Level, serializer: S) -> Result<S::Ok, S::Error> {
    LevelWords { level: level.to_string(), layout: layout_name(*level) }.serialize(serializer)
}

pub(crate) fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<Level, D::Error> {
    let words = LevelWords::deserialize(deserializer)?;
    match ArrayLevel::parse(&words.level, words.layout.as_deref(), 1).map_err(de::Error::custom)? {
        ArrayLevel::Plain(level) => Ok(level),
        ArrayLevel::Nested { .. } => Err(de::Error::custom(format!("`{}` is no level of one array", words.level))),
    }
}

#[cfg(test)]
mod tests {
    use shoal_volume::{ParityLayout, Raid0Layout, Raid10Layout};

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Sample {
        #[serde(flatten, with = "super")]
        level: Level,
    }

    fn levels() -> Vec<Level> {
        let mut levels = vec![Level::Linear, Level::Raid1, Level::Raid4];
        levels.extend([Raid0Layout::Original, Raid0Layout::Alternate].map(Level::Raid0));
        levels.extend(ParityLayout::ALL.into_iter().flat_map(|layout| [Level::Raid5(layout), Level::Raid6(layout)]));
        for (near, far, offset, far_sets) in
            [(2, 1, false, false), (3, 1, false, false), (1, 2, false, false), (1, 2, true, false), (1, 2, false, true)]
        {
            levels.push(Level::Raid10(Raid10Layout { near, far, offset, far_sets }));
        }
        levels
    }

    #[test]
    fn every_level_is_read_as_it_is_written() {
        for level in levels() {
            let text = serde_json::to_string(&Sample { level }).expect("words are text");
            let read: Result<Sample, _> = serde_json::from_str(&text);
            assert_eq!(read.map_err(|error| format!("{text}: {error}")), Ok(Sample { level }));
        }
    }

    #[test]
    fn words_that_are_no_level_are_refused() {
        for text in [r#"{"level":"raid7"}"#, r#"{"level":"raid50"}"#, r#"{"level":"raid5","layout":"n2"}"#, "{}"] {
            assert!(serde_json::from_str::<Sample>(text).is_err(), "{text}");
        }
    }
}
