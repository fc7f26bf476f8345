//! The part of a test's cases that runs, where all of them take too long for every day.

/// Each so-manieth case, from one on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    first: usize,
    of: usize,
}

impl Share {
    /// All of them.
    pub const WHOLE: Self = Self { first: 0, of: 1 };

    /// What `SHOAL_SHARE=K/N` says: each Nth case, from number K on. All of them without it.
    ///
    /// # Panics
    /// If it says something else.
    pub fn from_environment() -> Self {
        let Ok(text) = std::env::var("SHOAL_SHARE") else { return Self::WHOLE };
        Self::parse(&text).unwrap_or_else(|| panic!("SHOAL_SHARE is K/N with K below N, not {text:?}"))
    }

    fn parse(text: &str) -> Option<Self> {
        let (first, of) = text.split_once('/')?;
        let share = Self { first: first.parse().ok()?, of: of.parse().ok()? };
        (share.first < share.of).then_some(share)
    }

    /// Whether the case of this number is in it.
    pub fn has(self, number: usize) -> bool {
        number % self.of == self.first
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail by panic")]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_a_number_have_each_case_once() {
        let shares: Vec<_> = (0..3).map(|first| Share::parse(&format!("{first}/3")).unwrap()).collect();
        for case in 0..10 {
            assert_eq!(shares.iter().filter(|share| share.has(case)).count(), 1, "case {case}");
        }
        assert!((0..10).all(|case| Share::WHOLE.has(case)));
        for wrong in ["3/3", "1", "1/0", "a/3", "-1/3"] {
            assert_eq!(Share::parse(wrong), None, "{wrong}");
        }
    }
}
