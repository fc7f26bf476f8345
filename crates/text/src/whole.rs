//! Whole numbers as people write them, where only some are allowed.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A reader of whole numbers from `allowed`. Whoever writes something else is told which numbers are: the
/// highest one only where it is not simply the highest of its type.
pub fn whole_number<T>(allowed: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: Bounded + FromStr + PartialOrd + Display + Copy,
{
    move |text| {
        let number = text.parse().ok().filter(|number| allowed.contains(number));
        number.ok_or_else(|| match (*allowed.start(), *allowed.end()) {
            (least, most) if most < T::HIGHEST => {
                format!("`{text}` will not do: write a whole number from {least} to {most}")
            }
            (least, _) => format!("`{text}` will not do: write a whole number, at least {least}"),
        })
    }
}

/// A type with a highest number.
pub trait Bounded {
    /// That number.
    const HIGHEST: Self;
}

macro_rules! bounded {
    ($($number:ty)*) => { $(impl Bounded for $number { const HIGHEST: Self = Self::MAX; })* };
}

bounded!(u8 u16 u32 u64 usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_allowed_is_told_what_is() {
        let percent = whole_number(0_u8..=100);
        assert_eq!(percent("70"), Ok(70));
        let told = Err("`70%` will not do: write a whole number from 0 to 100".to_owned());
        assert_eq!(percent("70%"), told);
        for text in ["101", "300", "-1", "0.5", "", "x"] {
            assert!(percent(text).is_err(), "{text}");
        }
        let count = whole_number(1..=u32::MAX);
        assert_eq!(count("0"), Err("`0` will not do: write a whole number, at least 1".to_owned()));
    }
}
