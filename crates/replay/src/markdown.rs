//! The document of all figures, `docs/replay.md`.

use std::fmt::Write;

use crate::{Kind, Replay, Replayed, Study, Summary, Value};

const HEAD: &str = "\
# The published studies, replayed

Every figure that five studies of inexpensive drives print, beside what shoal makes of it: the engine that ships, over simulated drives,
measured by the method that the study used. `shoal replay` prints this table, `shoal replay --charts DIR` draws it. This page is
made by `SHOAL_UPDATE_REPLAY=1 cargo test -p shoal-replay --test replay`, and a test holds it against a replay.

| kind | means |
| --- | --- |
| input | describes one drive, the host, the setup or the world; a number beside it is a check of the drive that was made from it |
| fitted | fixes a free parameter of the model: one for the bus, one for the host |
| predicted | follows from inputs and fitted parameters |
| predicted, assumed | the same, with an assumption that is named |
| not predicted | the model has nothing to say, for the reason that is given |

";

/// The name of a kind in text.
pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Input => "input",
        Kind::Fitted => "fitted",
        Kind::Predicted => "predicted",
        Kind::PredictedAssumed => "predicted, assumed",
        Kind::NotPredicted => "not predicted",
    }
}

/// A number with four digits that count; whole ones of more keep all before the point.
pub fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let before_point = value.abs().log10().floor() as i32 + 1;
    let decimals = usize::try_from(4 - before_point).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A figure's value in text.
pub fn value_text(value: &Value) -> String {
    match value {
        Value::Number(number) => format!("{number}"),
        Value::Text(text) => text.clone(),
    }
}

/// An error in text: signed, in percent.
pub fn error_text(error: f64) -> String {
    let percent = error * 100.0;
    // What rounds to nothing has no sign that means anything.
    format!("{:+.1} %", if percent.abs() < 0.05 { 0.0 } else { percent })
}

/// One line that sums figures up.
pub fn summary_text(summary: &Summary) -> String {
    let Summary { figures, inputs, fitted, predicted, predicted_assumed, not_predicted, .. } = summary;
    let kinds = format!(
        "{figures} figures: {predicted} predicted, {predicted_assumed} predicted with an assumption, {fitted} fitted, {inputs} inputs, \
         {not_predicted} not predicted"
    );
    let predictions = predicted + predicted_assumed;
    if predictions == 0 {
        return kinds;
    }
    format!(
        "{kinds}. Error of the {predictions} predictions: median {:.1} %, worst {:.1} %, {} above 10 %; of the {} that were simulated: median {:.1} %",
        summary.median_error * 100.0,
        summary.worst_error * 100.0,
        summary.off_by_more_than_a_tenth,
        summary.simulated,
        summary.median_error_simulated * 100.0,
    )
}

/// All of it.
pub fn markdown(replay: &Replay) -> String {
    let mut page = HEAD.to_owned();
    let _ = writeln!(page, "{}.", summary_text(&Summary::of(replay.figures.iter())));
    for (study, _) in &replay.outcomes {
        section(&mut page, *study, replay);
    }
    page
}

fn section(page: &mut String, study: Study, replay: &Replay) {
    let figures = replay.figures.iter().filter(|figure| figure.study == study);
    let _ = writeln!(
        page,
        "\n## {}: {}\n\n{}.\n",
        study.name(),
        study.title(),
        summary_text(&Summary::of(figures.clone()))
    );
    let _ = writeln!(page, "![{}](replay/{}.svg)\n", study.title(), study.name());
    let _ = writeln!(
        page,
        "| figure | unit | published | predicted | error | kind | why |\n| --- | --- | --- | --- | --- | --- | --- |"
    );
    for figure in figures {
        let _ = writeln!(page, "{}", row(figure));
    }
}

fn row(figure: &Replayed) -> String {
    let cells = [
        figure.what(),
        figure.unit.clone(),
        value_text(&figure.value),
        figure.predicted.map_or_else(String::new, number),
        figure.error.map_or_else(String::new, error_text),
        kind_name(figure.kind).to_owned(),
        figure.why.clone(),
    ];
    format!("| {} |", cells.map(|cell| cell.replace('|', "\\|")).join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_four_digits() {
        let texts = [45.0, 37.381, 0.5, 4_001_422.0, 1850.0, 0.012_345_6, 0.0].map(number);
        assert_eq!(texts, ["45", "37.38", "0.5", "4001422", "1850", "0.01235", "0"]);
    }
}
