//! The words of a text that stand for one of several things.

use super::Status;
use crate::BusKind;

const BUSES: &[(&str, BusKind)] = &[
    ("usb2", BusKind::Usb2),
    ("usb3", BusKind::Usb3),
    ("pci", BusKind::Pci),
    ("ata133", BusKind::Ata133),
    ("sata3", BusKind::Sata3),
    ("sata6", BusKind::Sata6),
    ("gigabit", BusKind::GigabitNetwork),
    ("fast-ethernet", BusKind::FastNetwork),
    ("direct", BusKind::Direct),
];

impl BusKind {
    /// The kind that a word stands for, in descriptions and in the notation.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        BUSES.iter().find(|(name, _)| *name == word).map(|(_, kind)| *kind)
    }

    /// The word that stands for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        BUSES.iter().find(|(_, kind)| *kind == self).map_or("direct", |(name, _)| name)
    }

    /// All words, for a message.
    pub(crate) fn words() -> String {
        BUSES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }
}

impl Status {
    /// The word that stands for it in a text.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Published => "published",
            Self::Solved => "solved",
            Self::Fitted => "fitted",
            Self::Assumed => "assumed",
            Self::NotMeasured => "not-measured",
        }
    }
}
