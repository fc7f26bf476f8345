//! A replay as text: for each study all figures, what is furthest off first, and why.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};
use shoal_replay::markdown::{error_text, kind_name, number, summary_text, value_text};
use shoal_replay::{Kind, Replayed};

use super::document::{ReplayDocument, StudyDocument};

/// Predictions that are further off are told about in a sentence.
const FAR: f64 = 0.1;

pub(super) fn text(document: &ReplayDocument) -> String {
    let mut text = String::new();
    for study in &document.studies {
        describe(&mut text, study, &document.figures).expect("strings take everything");
    }
    if document.studies.len() > 1 {
        text += &format!("{}\n", summary_text(&document.summary));
    }
    text
}

fn describe(text: &mut String, study: &StudyDocument, figures: &[Replayed]) -> std::fmt::Result {
    let mut figures: Vec<_> = figures.iter().filter(|figure| figure.study == study.study).collect();
    figures.sort_by(|one, other| rank(one).cmp(&rank(other)).then(size(other).total_cmp(&size(one))));
    writeln!(text, "{}: {}", study.study.name(), study.title)?;
    writeln!(text, "{}\n", table(&figures).trim_fmt())?;
    let far = figures.iter().filter(|figure| figure.is_prediction() && size(figure) > FAR);
    reasons(text, "Off by more than a tenth, because", far.copied())?;
    let not_predicted = figures.iter().filter(|figure| figure.kind == Kind::NotPredicted);
    reasons(text, "Not predicted, because", not_predicted.copied())?;
    if let Some(chart) = &study.chart {
        writeln!(text, "Chart: {chart}")?;
    }
    writeln!(text, "{}\n", summary_text(&study.summary))
}

/// Predictions first, inputs last.
fn rank(figure: &Replayed) -> u8 {
    match figure.kind {
        Kind::Predicted | Kind::PredictedAssumed => 0,
        Kind::Fitted => 1,
        Kind::NotPredicted => 2,
        Kind::Input => 3,
    }
}

fn size(figure: &Replayed) -> f64 {
    figure.error.unwrap_or(0.0).abs()
}

fn table(figures: &[&Replayed]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["published", "predicted", "error", "unit", "kind", "figure"]);
    for figure in figures {
        table.add_row([
            value_text(&figure.value),
            figure.predicted.map_or_else(String::new, number),
            figure.error.map_or_else(String::new, error_text),
            figure.unit.clone(),
            kind_name(figure.kind).to_owned(),
            figure.what(),
        ]);
    }
    for column in table.column_iter_mut().take(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Each reason once, with what it is the reason for.
fn reasons<'a>(text: &mut String, heading: &str, figures: impl Iterator<Item = &'a Replayed>) -> std::fmt::Result {
    let mut told: Vec<(&str, Vec<String>)> = Vec::new();
    for figure in figures {
        match told.iter_mut().find(|(why, _)| *why == figure.why) {
            Some((_, of)) => of.push(figure.what()),
            None => told.push((&figure.why, vec![figure.what()])),
        }
    }
    if !told.is_empty() {
        writeln!(text, "{heading}")?;
    }
    for (why, of) in told {
        let others = if of.len() > 1 { format!(" (and {} more)", of.len() - 1) } else { String::new() };
        writeln!(text, "- {}{others}: {why}", of[0])?;
    }
    Ok(())
}
