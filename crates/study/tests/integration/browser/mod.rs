//! A real browser, and what it makes of a page. Other crates' tests include this file.

use std::path::Path;
use std::process::{Command, Stdio};

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A browser, or a line that says why `what` is skipped.
pub(crate) fn find(what: &str) -> Option<&'static str> {
    let runs = |name: &&str| {
        let status = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    let found = BROWSERS.into_iter().find(runs);
    if found.is_none() {
        println!("SKIPPED: {what} needs one of {}", BROWSERS.join(", "));
    }
    found
}

/// What a page has become after its script has run. The browser's own files go beside it.
pub(crate) fn rendered(browser: &str, page: &Path) -> String {
    let profile = page.with_extension("profile");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"])
        .args(["--virtual-time-budget=5000", "--window-size=1200,2000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()))
        .stderr(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{browser} ended with {}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// The page's own part, without the script and the data.
pub(crate) fn content(document: &str) -> &str {
    let start = document.find("<main").unwrap();
    let end = document.find("</main>").unwrap();
    &document[start..end]
}
