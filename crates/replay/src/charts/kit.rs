//! Two kinds of picture in one style: lines with published points on them, and published bars with
//! predictions across them.

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A picture, or a part of one.
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// What the library cannot do, in its words.
pub(super) type Drawn = Result<(), String>;

const FONT: &str = "Helvetica, Arial, sans-serif";
const INK: RGBColor = RGBColor(34, 34, 34);
const GRID: RGBColor = RGBColor(228, 228, 228);
/// Colours that people with any colour vision can tell apart (Okabe and Ito).
pub(super) const COLOURS: [RGBColor; 4] =
    [RGBColor(0, 114, 178), RGBColor(213, 94, 0), RGBColor(0, 158, 115), RGBColor(204, 121, 167)];

fn text(size: u32) -> TextStyle<'static> {
    (FONT, size).into_font().color(&INK)
}

pub(super) fn words<E: std::fmt::Display>(error: E) -> String {
    error.to_string()
}

/// Draws on a white sheet with a heading.
pub(super) fn sheet(
    size: (u32, u32),
    heading: &str,
    note: &str,
    draw: impl FnOnce(&Area<'_>) -> Drawn,
) -> Result<String, String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE).map_err(words)?;
        root.draw(&Text::new(heading.to_owned(), (20, 14), text(20))).map_err(words)?;
        root.draw(&Text::new(note.to_owned(), (20, 42), text(13))).map_err(words)?;
        draw(&root.margin(66, 8, 8, 8))?;
        root.present().map_err(words)?;
    }
    Ok(svg)
}

/// A curve of predictions.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) colour: usize,
    pub(super) points: Vec<(f64, f64)>,
}

/// A published figure: a point, or a range.
pub(super) struct Mark {
    pub(super) colour: usize,
    pub(super) x: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// What a picture of lines shows beside them.
pub(super) struct Frame<'a> {
    pub(super) title: &'a str,
    pub(super) x_title: &'a str,
    pub(super) y_title: &'a str,
    /// Where the horizontal axis is labelled, and with what.
    pub(super) ticks: Vec<(f64, String)>,
    pub(super) y_max: f64,
    /// A range of the horizontal axis to be shaded, and what it is.
    pub(super) shaded: Option<(f64, f64, &'a str)>,
}

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// Axes with ticks where they are asked for; room at the sides is half a tick.
fn axes<'a, 'b>(area: &'a Area<'b>, frame: &Frame<'_>, bottom: u32) -> Result<Chart<'a, 'b>, String> {
    let (first, last) = (frame.ticks.first().map_or(0.0, |tick| tick.0), frame.ticks.last().map_or(1.0, |tick| tick.0));
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .margin_top(26)
        .x_label_area_size(bottom)
        .y_label_area_size(52)
        .build_cartesian_2d(first - 0.5..last + 0.5, 0.0..frame.y_max)
        .map_err(words)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(0)
        .y_labels(7)
        .y_label_formatter(&|y| format!("{y}"))
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(INK)
        .y_desc(frame.y_title)
        .label_style(text(12))
        .axis_desc_style(text(13))
        .draw()
        .map_err(words)?;
    area.draw(&Text::new(frame.title.to_owned(), (14, 4), text(15))).map_err(words)?;
    Ok(chart)
}

/// A text at a place of the axes, moved by so many pixels.
fn label(chart: &Chart<'_, '_>, at: (f64, f64), by: (i32, i32), words_there: &str, size: u32) -> Drawn {
    let style = text(size).pos(Pos::new(HPos::Center, VPos::Top));
    let element = EmptyElement::at(at) + Text::new(words_there.to_owned(), by, style);
    chart.plotting_area().draw(&element).map_err(words)
}

/// Predictions as lines, published figures as rings and bars on them.
pub(super) fn lines(area: &Area<'_>, frame: &Frame<'_>, curves: &[Line], marks: &[Mark]) -> Drawn {
    let mut chart = axes(area, frame, 46)?;
    if let Some((from, to, what)) = frame.shaded {
        let shade = Rectangle::new([(from, 0.0), (to, frame.y_max)], RGBColor(245, 238, 214).filled());
        chart.plotting_area().draw(&shade).map_err(words)?;
        label(&chart, ((from + to) / 2.0, frame.y_max), (0, 4), what, 12)?;
    }
    for (at, words_there) in &frame.ticks {
        label(&chart, (*at, 0.0), (0, 6), words_there, 12)?;
    }
    let middle = f64::midpoint(frame.ticks[0].0, frame.ticks[frame.ticks.len() - 1].0);
    label(&chart, (middle, 0.0), (0, 26), frame.x_title, 13)?;
    for Line { name, colour, points } in curves {
        let colour = COLOURS[*colour];
        let drawn = chart.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)).point_size(3));
        drawn
            .map_err(words)?
            .label(name.clone())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(3)));
    }
    for Mark { colour, x, low, high } in marks {
        let colour = COLOURS[*colour];
        let plot = chart.plotting_area();
        plot.draw(&PathElement::new([(*x, *low), (*x, *high)], colour.stroke_width(6))).map_err(words)?;
        plot.draw(&Circle::new((*x, f64::midpoint(*low, *high)), 7, colour.stroke_width(2))).map_err(words)?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.85))
        .label_font(text(12))
        .draw()
        .map_err(words)
}

/// A published figure as a bar, and the prediction of it.
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) published: f64,
    pub(super) predicted: Option<f64>,
    pub(super) colour: usize,
    /// What is written on the bar.
    pub(super) note: String,
}

/// Bars side by side, groups of them apart; each group has a name.
pub(super) fn bars(area: &Area<'_>, title: &str, y_title: &str, groups: &[(String, Vec<Bar>)]) -> Drawn {
    let count: usize = groups.iter().map(|(_, bars)| bars.len() + 1).sum();
    let every = || groups.iter().flat_map(|(_, bars)| bars);
    let most = every().flat_map(|bar| [bar.published, bar.predicted.unwrap_or(0.0)]).fold(0.0, f64::max);
    let ticks = vec![(0.0, String::new()), (count as f64 - 2.0, String::new())];
    let frame = Frame { title, x_title: "", y_title, ticks, y_max: most * 1.2, shaded: None };
    let chart = axes(area, &frame, 44)?;
    let mut x = 0.0;
    for (name, group) in groups {
        let first = x;
        for bar in group {
            draw_bar(&chart, bar, x)?;
            x += 1.0;
        }
        label(&chart, (f64::midpoint(first, x - 1.0), 0.0), (0, 24), name, 13)?;
        x += 1.0;
    }
    Ok(())
}

fn draw_bar(chart: &Chart<'_, '_>, bar: &Bar, x: f64) -> Drawn {
    let plot = chart.plotting_area();
    let body = Rectangle::new([(x - 0.4, 0.0), (x + 0.4, bar.published)], COLOURS[bar.colour].mix(0.55).filled());
    plot.draw(&body).map_err(words)?;
    let mut top = bar.published;
    if let Some(predicted) = bar.predicted {
        let across = PathElement::new([(x - 0.46, predicted), (x + 0.46, predicted)], INK.stroke_width(3));
        plot.draw(&across).map_err(words)?;
        top = top.max(predicted);
    }
    label(chart, (x, 0.0), (0, 6), &bar.label, 12)?;
    label(chart, (x, top), (0, -18), &bar.note, 11)
}
