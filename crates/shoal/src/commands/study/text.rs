//! A study as text: what each drive does, what the arrays do, their ranking, and what to build.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};
use shoal_bench::Verdict;
use shoal_study::analysis::array_name;
use shoal_study::model::{
    ArraySummary, FaultRecord, Metric, Purpose, Ranking, RankingEntry, Spread, StudyReport, TogetherSummary,
    Verification, WorkloadSummary,
};
use shoal_text::{format_ns, format_rate, format_size};

const COLUMNS: [(&str, Metric); 4] = [
    ("seq read", Metric::SequentialRead),
    ("seq write", Metric::SequentialWrite),
    ("rand read", Metric::RandomRead),
    ("rand write", Metric::RandomWrite),
];

/// Places told of in the ranking.
const PLACES_MAX: usize = 8;

pub(super) fn text(report: &StudyReport) -> String {
    let mut text = String::new();
    write_all(&mut text, report).expect("strings take everything");
    text
}

fn write_all(text: &mut String, report: &StudyReport) -> std::fmt::Result {
    if let Some(drives) = &report.simulated {
        writeln!(
            text,
            "SIMULATED, all of it: computed from the models of {drives}, in virtual time; nothing was measured\n"
        )?;
    }
    if let Some(engine) = &report.engine {
        writeln!(text, "Arrays made by shoal, and run by {engine}\n")?;
    }
    writeln!(text, "Drives, alone and all at once")?;
    writeln!(text, "{}\n", lines(&drives(report)))?;
    if !report.analysis.arrays.is_empty() {
        writeln!(text, "Arrays")?;
        writeln!(text, "{}\n", lines(&arrays(report)))?;
    }
    if let Some(marks) = marks(report) {
        writeln!(text, "{marks}\n")?;
    }
    if let Some(fault) = &report.fault {
        describe_fault(text, report, fault)?;
    }
    if let Some(ranking) = report.analysis.rankings.iter().find(|ranking| ranking.purpose == Purpose::Overall) {
        describe_ranking(text, report, ranking)?;
    }
    for warning in &report.warnings {
        writeln!(text, "Note: {warning}")?;
    }
    for straggler in &report.analysis.stragglers {
        let name = &report.drives[straggler.drive as usize].name;
        let rate = format_rate(straggler.bytes_per_s);
        writeln!(text, "Note: {name} does {rate} where the others do {}", format_rate(straggler.typical_bytes_per_s))?;
    }
    if !report.analysis.recommendation.sentences.is_empty() {
        writeln!(text, "\n{}", report.analysis.recommendation.sentences.join(" "))?;
    }
    Ok(())
}

fn table(first: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let columns = COLUMNS.iter().map(|(name, _)| *name);
    table.set_header(first.iter().copied().chain(columns));
    for column in table.column_iter_mut().skip(first.len()) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// The table without the blanks at the ends of its lines.
fn lines(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn drives(report: &StudyReport) -> Table {
    let mut table = table(&["drive", "size"]);
    for summary in &report.analysis.drives {
        let drive = &report.drives[summary.drive as usize];
        let first = [drive.name.clone(), format_size(drive.size_bytes)];
        table.add_row(first.into_iter().chain(cells(&summary.workloads)));
    }
    let together = &report.analysis.together;
    if !together.is_empty() {
        let cell = |metric| {
            let of_metric = together.iter().find(|summary: &&TogetherSummary| summary.metric == metric);
            of_metric
                .map_or_else(String::new, |summary| figure(metric, &summary.total_bytes_per_s, &summary.total_iops))
        };
        let cells = COLUMNS.iter().map(|&(_, metric)| cell(metric));
        table.add_row(["all at once".to_owned(), String::new()].into_iter().chain(cells));
    }
    table
}

fn arrays(report: &StudyReport) -> Table {
    let mut table = table(&["array", "capacity", "survives", "verified"]);
    for summary in &report.analysis.arrays {
        let array = &report.arrays[summary.array as usize];
        let first = [
            summary.name.clone(),
            format_size(array.configuration.capacity_bytes),
            array.configuration.redundancy.to_string(),
            verified(array.verification.as_ref(), summary),
        ];
        table.add_row(first.into_iter().chain(cells(&summary.workloads)));
    }
    table
}

fn verified(verification: Option<&Verification>, summary: &ArraySummary) -> String {
    match (verification, &summary.excluded) {
        (Some(Verification { wrong_blocks: 0, bytes }), None) => format_size(*bytes),
        (Some(Verification { wrong_blocks: 0, bytes }), Some(why)) => format!("{}; {why}", format_size(*bytes)),
        (Some(Verification { wrong_blocks, .. }), _) => format!("{wrong_blocks} BLOCKS WRONG"),
        (None, _) => "no".to_owned(),
    }
}

fn cells(workloads: &[WorkloadSummary]) -> Vec<String> {
    let cell = |metric| {
        let of_metric = workloads.iter().find(|summary| summary.metric == metric);
        of_metric.map_or_else(String::new, |summary| {
            figure(metric, &summary.bytes_per_s, &summary.iops) + mark(summary.verdict)
        })
    };
    COLUMNS.iter().map(|&(_, metric)| cell(metric)).collect()
}

/// What a figure is worth.
fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "",
        Verdict::Suspect => " ?",
        Verdict::Invalid => " !",
    }
}

/// What the marks of figures mean, if there are any.
fn marks(report: &StudyReport) -> Option<&'static str> {
    let (drives, arrays) = (&report.analysis.drives, &report.analysis.arrays);
    let workloads = drives.iter().map(|it| &it.workloads).chain(arrays.iter().map(|it| &it.workloads));
    let is_marked = |workload: &WorkloadSummary| workload.verdict != Verdict::Valid;
    workloads
        .flatten()
        .any(is_marked)
        .then_some("?: suspect, may be wrong; !: invalid, not to be used: `shoal show` and the report say why")
}

/// Rates for large requests, requests per second for small ones.
fn figure(metric: Metric, bytes_per_s: &Spread, iops: &Spread) -> String {
    match metric {
        Metric::SequentialRead | Metric::SequentialWrite => format_rate(bytes_per_s.median),
        _ => format!("{} IOPS", iops.median),
    }
}

fn describe_fault(text: &mut String, report: &StudyReport, fault: &FaultRecord) -> std::fmt::Result {
    let failed = &report.drives[fault.failed_drive as usize].name;
    let replacement = &report.drives[fault.replacement_drive as usize].name;
    let array = array_name(&fault.configuration);
    writeln!(
        text,
        "Of {array}, {failed} was made to fail in the middle of writing; {} more were written without it; {replacement} took its place, \
         and was filled in {} at {} under load. {} read back, {} blocks wrong; a scrub found {} of parity or copies that disagree.\n",
        format_size(fault.written_while_degraded_bytes),
        format_ns(fault.rebuild_ns),
        format_rate(fault.rebuild_bytes_per_s),
        format_size(fault.verification.bytes),
        fault.verification.wrong_blocks,
        format_size(fault.scrub_mismatched_bytes),
    )
}

/// What the marks of a ranking mean.
const TIES: &str = "=: the same within the spread as the first of its place; of those of the first place the one is \
                    recommended that survives more failures, then the one that holds more.";

/// Thousandths, as a share of the best.
fn share(score_per_mille: u64) -> String {
    format!("{}.{} %", score_per_mille / 10, score_per_mille % 10)
}

fn describe_ranking(text: &mut String, report: &StudyReport, ranking: &Ranking) -> std::fmt::Result {
    writeln!(text, "Ranking")?;
    let recommended = report.analysis.recommendation.array;
    let is_told = |(index, entry): &(usize, &RankingEntry)| *index < PLACES_MAX || recommended == Some(entry.array);
    let mut place = 0;
    for (index, entry) in ranking.entries.iter().enumerate() {
        if !entry.tied || index == 0 {
            place = index + 1;
        }
        if !is_told(&(index, entry)) {
            continue;
        }
        let name = &report.analysis.arrays[entry.array as usize].name;
        let tie = if entry.tied { '=' } else { '.' };
        let mark = if recommended == Some(entry.array) { ", recommended" } else { "" };
        writeln!(text, "{place:>3}{tie} {name}{mark}: {}, {}", share(entry.score), entry.reasons.join(", "))?;
    }
    match ranking.entries.len() - ranking.entries.iter().enumerate().filter(is_told).count() {
        0 => {}
        more => writeln!(text, "     and {more} more, in the report and with --json")?,
    }
    writeln!(text, "     {} {TIES}\n", ranking.rule)
}
