//! Whole numbers as people write them, where only some are allowed.

use std::fmt::Display;
use std::ops::{Bound, RangeBounds};
use std::str::FromStr;

/// A reader of whole numbers within `allowed`, which includes its ends. Whoever writes something
/// else is told which numbers are allowed.
pub fn whole_number<T>(allowed: impl RangeBounds<T> + Clone) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: FromStr + PartialOrd + Display,
{
    move |text| {
        let number = text.parse().ok().filter(|number| allowed.contains(number));
        number.ok_or_else(|| {
            let which = match (allowed.start_bound(), allowed.end_bound()) {
                (Bound::Included(least), Bound::Included(most)) => format!(" from {least} to {most}"),
                (Bound::Included(least), _) => format!(", at least {least}"),
                _ => String::new(),
            };
            format!("`{text}` will not do: write a whole number{which}")
        })
    }
}

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
        let count = whole_number(1_u32..);
        assert_eq!(count("0"), Err("`0` will not do: write a whole number, at least 1".to_owned()));
    }
}
