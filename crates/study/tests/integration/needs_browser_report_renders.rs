//! The page draws its charts in a real browser, without an error.

use std::path::Path;

use shoal_study::model::StudyReport;

use crate::browser;
use crate::browser::content;
use crate::sample;

/// What the page of a report has become.
fn rendered(browser: &str, folder: &Path, report: &StudyReport) -> String {
    let page = folder.join("report.html");
    std::fs::write(&page, shoal_study::report::render(report).unwrap()).unwrap();
    browser::rendered(browser, &page)
}

#[test]
fn needs_browser_report_renders() {
    let Some(browser) = browser::find("needs_browser_report_renders") else { return };
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
