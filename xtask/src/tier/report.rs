//! What tests took, what they skipped, and which passed only when tried again: read from the JUnit
//! files of cargo-nextest.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use roxmltree::Document;

/// All tests of a tier.
#[derive(Debug, Default)]
pub(super) struct Tests {
    /// Seconds and name.
    taken: Vec<(f64, String)>,
    skipped: Vec<String>,
    flaky: Vec<String>,
}

impl Tests {
    /// Adds the tests of one run.
    ///
    /// # Errors
    /// The file cannot be read, or is not what cargo-nextest writes.
    pub(super) fn read(&mut self, junit: &Path) -> Result<()> {
        let text = fs::read_to_string(junit).with_context(|| format!("cannot read {}", junit.display()))?;
        self.add(&text).with_context(|| format!("{} is no report of tests", junit.display()))
    }

    fn add(&mut self, junit: &str) -> Result<()> {
        let document = Document::parse(junit)?;
        for test in document.descendants().filter(|node| node.has_tag_name("testcase")) {
            let attribute = |name| test.attribute(name).with_context(|| format!("a test without {name}"));
            let name = format!("{} {}", attribute("classname")?, attribute("name")?);
            if test.children().any(|node| node.has_tag_name("flakyFailure") || node.has_tag_name("flakyError")) {
                self.flaky.push(name.clone());
            }
            self.taken.push((attribute("time")?.parse()?, name));
            let outputs = test.children().filter(|node| node.has_tag_name("system-out"));
            let lines = outputs.filter_map(|output| output.text()).flat_map(str::lines).map(str::trim);
            self.skipped.extend(lines.filter(|line| line.starts_with("SKIPPED")).map(str::to_owned));
        }
        Ok(())
    }

    /// How many there were.
    pub(super) fn count(&self) -> usize {
        self.taken.len()
    }

    /// Those that took longest, in seconds, the longest first.
    pub(super) fn slowest(&self, most: usize) -> Vec<&(f64, String)> {
        let mut sorted: Vec<_> = self.taken.iter().collect();
        sorted.sort_by(|left, right| right.0.total_cmp(&left.0));
        sorted.truncate(most);
        sorted
    }

    /// The lines in which tests say what they skipped.
    pub(super) fn skipped(&self) -> &[String] {
        &self.skipped
    }

    /// Those that failed once and passed when they were run again.
    pub(super) fn flaky(&self) -> &[String] {
        &self.flaky
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail by panic")]
mod tests {
    use super::*;

    const JUNIT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="4" failures="0" errors="0" time="4.0">
  <testsuite name="shoal::integration" tests="4">
    <testcase name="help::prints" classname="shoal::integration" time="0.250"><system-out>running 1 test</system-out></testcase>
    <testcase name="needs_bus_pulled::waits" classname="shoal::integration" time="2.125">
      <system-out>
SKIPPED: needs_bus_pulled::waits needs qemu-system-x86_64
      </system-out></testcase>
    <testcase name="quick" classname="shoal-md" time="0.001"/>
    <testcase name="needs_kernel_grow::grows" classname="shoal::integration" time="1.5">
      <flakyFailure timestamp="2026-11-24T10:00:00+00:00" time="3.0" type="test failure">panicked</flakyFailure>
    </testcase>
  </testsuite>
</testsuites>"#;

    #[test]
    fn times_skipped_lines_and_second_tries_are_read() {
        let mut tests = Tests::default();
        tests.add(JUNIT).unwrap();
        assert_eq!(tests.count(), 4);
        let slowest: Vec<_> = tests.slowest(2).into_iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(
            slowest,
            ["shoal::integration needs_bus_pulled::waits", "shoal::integration needs_kernel_grow::grows"]
        );
        assert_eq!(tests.flaky(), ["shoal::integration needs_kernel_grow::grows"]);
        assert_eq!(tests.skipped(), ["SKIPPED: needs_bus_pulled::waits needs qemu-system-x86_64"]);
    }

    #[test]
    fn what_is_no_report_is_an_error() {
        assert!(Tests::default().add("<testsuites><testcase name='a'/></testsuites>").is_err());
        assert!(Tests::default().add("not XML").is_err());
    }
}
