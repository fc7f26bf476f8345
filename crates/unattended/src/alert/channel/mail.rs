//! Mail, handed to the machine's own sendmail, which knows servers and passwords, and keeps what
//! cannot be sent yet.

use std::fmt::Write;
use std::process::Command;

use super::super::configuration::MailConfiguration;
use super::super::kind::{Alert, Message};
use super::SendError;
use super::command::feed;

pub(in crate::alert) struct Mail(pub(in crate::alert) MailConfiguration);

impl Mail {
    pub(super) fn send(&self, message: &Message) -> Result<(), SendError> {
        let mut command = Command::new(&self.0.program);
        // Who gets it stands in the mail; a line with a single dot does not end it.
        command.args(["-i", "-t"]);
        feed(command, self.text(message).as_bytes())
    }

    /// RFC 5322. What sendmail knows better, date and identity, is left to it.
    fn text(&self, message: &Message) -> String {
        let mut text = String::new();
        let mut header = |name: &str, value: &str| text += &format!("{name}: {}\n", in_a_header(value));
        if let Some(from) = &self.0.from {
            header("From", from);
        }
        header("To", &self.0.to.join(", "));
        header("Subject", &format!("[shoal {}] {}", message.host, message.summary));
        header("Auto-Submitted", "auto-generated");
        header("MIME-Version", "1.0");
        header("Content-Type", "text/plain; charset=utf-8");
        header("Content-Transfer-Encoding", "8bit");
        text.push('\n');
        write_body(&mut text, message).expect("strings take everything");
        text
    }
}

fn write_body(text: &mut String, message: &Message) -> std::fmt::Result {
    for alert in &message.alerts {
        let Alert { array, array_uuid, health, text: words, time_unix_s, replaced, .. } = alert;
        writeln!(text, "array {array}: {words}")?;
        writeln!(text, "  {}, health then: {health}, uuid {array_uuid}", utc(*time_unix_s))?;
        if *replaced > 0 {
            writeln!(text, "  and {replaced} earlier changes of the same thing since the last message")?;
        }
    }
    if message.forgotten > 0 {
        writeln!(text, "\n{} more alerts were too many to keep.", message.forgotten)?;
    }
    writeln!(text, "\nOn {}, `shoal status --uuid UUID` shows how the array is now.", message.host)
}

/// A header ends at the end of its line, and takes ASCII.
fn in_a_header(value: &str) -> String {
    value.chars().map(|it| if it.is_ascii_graphic() || it == ' ' { it } else { '?' }).collect()
}

/// `2026-11-21 19:10:05 UTC`, by the days-to-civil algorithm of Howard Hinnant's "chrono-Compatible
/// Low-Level Date Algorithms".
fn utc(unix_s: u64) -> String {
    let (days, second) = (unix_s / 86_400, unix_s % 86_400);
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_dates() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc(1_795_288_205), "2026-11-21 19:10:05 UTC");
    }

    #[test]
    fn a_name_makes_no_headers() {
        assert_eq!(in_a_header("pond\nBcc: everybody"), "pond?Bcc: everybody");
        assert_eq!(in_a_header("Teich-Gr\u{f6}\u{df}e"), "Teich-Gr??e");
    }
}
