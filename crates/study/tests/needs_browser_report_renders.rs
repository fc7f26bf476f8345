//! The page draws its charts in a real browser, without an error.
#![expect(clippy::unwrap_used, reason = "tests")]

mod sample;

use std::path::Path;
use std::process::{Command, Stdio};

use shoal_study::model::StudyReport;

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

fn browser() -> Option<&'static str> {
    let runs = |name: &&str| {
        let status = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    BROWSERS.into_iter().find(runs)
}

/// What the page has become after its script has run.
fn rendered(browser: &str, folder: &Path, report: &StudyReport) -> String {
    let page = folder.join("report.html");
    std::fs::write(&page, shoal_study::report::render(report).unwrap()).unwrap();
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"])
        .args(["--virtual-time-budget=5000", "--window-size=1200,2000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", page.display()))
        .stderr(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{browser} ended with {}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// The page's own part, without the script and the data.
fn content(document: &str) -> &str {
    let start = document.find("<main").unwrap();
    let end = document.find("</main>").unwrap();
    &document[start..end]
}

#[test]
fn needs_browser_report_renders() {
    let Some(browser) = browser() else {
        println!("SKIPPED: needs_browser_report_renders needs one of {}", BROWSERS.join(", "));
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut report = sample::study();
    report.warnings.push("</script><b id=\"escaped\">hostile</b>".to_owned());

    let document = rendered(browser, folder.path(), &report);
    let page = content(&document);
    assert!(!page.contains("class=\"error\""), "the page reports an error");
    let charts = page.matches("role=\"img\"").count();
    assert_eq!(charts, 11, "drives 2, chunks 2, members 2, requests 2, latency, time, fault");
    assert!(page.matches("<svg").count() > charts, "charts and legends are drawn");
    for sentence in &report.analysis.recommendation.sentences {
        assert!(page.contains(sentence), "the page lacks: {sentence}");
    }
    assert!(!page.contains("<b id"), "text from the document became markup");
    assert!(!page.contains("imulated"), "measured drives are said to be simulated");

    let simulated = StudyReport { simulated: Some("sim:cruzer-titanium*6@usb2*2".to_owned()), ..report.clone() };
    let document = rendered(browser, folder.path(), &simulated);
    let page = content(&document);
    assert!(document.contains("<body class=\"simulated\">"), "marks of validity do not say that figures are simulated");
    assert!(page.contains("none was measured: <code>sim:cruzer-titanium*6@usb2*2</code>"), "no notice");
    assert!(page.contains("simulated alone and as arrays"), "the title speaks of measurements");

    let stopped = StudyReport { arrays: Vec::new(), fault: None, complete: false, ..report };
    let stopped = StudyReport { analysis: shoal_study::analysis::analyse(&stopped), ..stopped };
    let document = rendered(browser, folder.path(), &stopped);
    let page = content(&document);
    assert!(!page.contains("class=\"error\""), "a study stopped early cannot be shown");
    assert!(page.contains("stopped before its plan was done"));
}
