//! Dates in the Gregorian calendar, in UTC.

/// The day of a time in seconds since 1970, as 2024-01-31.
pub fn format_day(unix_time_s: u64) -> String {
    // Days since March 1st of the year 0, so that the leap day is the last of its year, in eras of
    // 400 years.
    let days = unix_time_s / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let months = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * months + 2) / 5 + 1;
    let month = if months < 10 { months + 3 } else { months - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The minute of a time in seconds since 1970, as 2024-01-31 23:59.
pub fn format_minute(unix_time_s: u64) -> String {
    let minutes = unix_time_s / 60;
    format!("{} {:02}:{:02}", format_day(unix_time_s), minutes / 60 % 24, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(format_day(0), "1970-01-01");
        assert_eq!(format_day(951_782_400), "2000-02-29");
        assert_eq!(format_day(1_704_067_199), "2023-12-31");
        assert_eq!(format_day(4_107_542_400), "2100-03-01");
        assert_eq!(format_minute(1_704_067_199), "2023-12-31 23:59");
        assert!(!format_minute(u64::MAX).is_empty());
    }
}
