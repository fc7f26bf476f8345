//! `shoal trend`

use shoal_labbook::{Course, Rights, Tendency, Trend, trend};
use shoal_text::{Outside, format_count, format_day};

use crate::args::{Cli, TrendArgs};
use crate::exit::Failure;
use crate::figure::{bounds, figure, indented, percent, plain_table, words};
use crate::labbook::{failure, find_drive, open};
use crate::output;

const NS_PER_S: u64 = 1_000_000_000;

/// Says what the figures of a drive do over time.
pub(crate) fn run(cli: &Cli, args: &TrendArgs) -> Result<(), Failure> {
    let book = open(&args.book, Rights::Read)?;
    let drive = find_drive(&book, &args.drive)?;
    let trend = trend(&book, &drive).map_err(failure)?;
    if trend.courses.is_empty() {
        return Err(Failure::Failed(format!(
            "{0}: no run of it alone has a figure that is valid: `shoal log --drive {0}` lists its runs, and `shoal show` says why",
            args.drive
        )));
    }
    output::document(cli, &trend, text)
}

fn text(trend: &Trend) -> String {
    let mut text = format!("{}: {}\n", Outside(&trend.drive.name), Outside(&trend.drive.identity));
    let mut told = "";
    let mut table = plain_table();
    for course in &trend.courses {
        if told != course.workload {
            text += &indented(&table, 1);
            table = plain_table();
            told = &course.workload;
            text += &format!("\n{}: {}\n", Outside(told), span(course));
        }
        table.add_row(row(course));
    }
    text += &indented(&table, 1);
    text + "\n" + &conclusion(trend)
}

fn span(course: &Course) -> String {
    let day = |point: Option<&shoal_labbook::Point>| {
        point.map_or(String::new(), |point| format_day(point.begun_unix_ns / NS_PER_S))
    };
    let runs = format_count(course.points.len(), "run");
    match (day(course.points.first()), day(course.points.last())) {
        (first, last) if first == last => format!("{runs}, {first}"),
        (first, last) => format!("{runs}, {first} to {last}"),
    }
}

fn row(course: &Course) -> [String; 5] {
    let name = course.figure.as_str();
    let tendency = match course.tendency {
        Tendency::Slower => "slower",
        Tendency::Faster => "faster",
        Tendency::Steady => "no trend",
        Tendency::TooFew => "too few runs to say",
    };
    let last = course.points.last().map(|point| figure(name, point.median));
    [
        Outside(&words(name)).to_string(),
        last.unwrap_or_default(),
        course.change_per_mille.map(percent).unwrap_or_default(),
        course.interval.map(|interval| bounds(name, interval)).unwrap_or_default(),
        tendency.to_owned(),
    ]
}

/// Whether it gets slower, in a sentence.
fn conclusion(trend: &Trend) -> String {
    let of = |tendency| trend.courses.iter().filter(move |course| course.tendency == tendency);
    let names = |tendency| {
        let names =
            of(tendency).map(|course| format!("{} ({})", Outside(&words(&course.figure)), Outside(&course.workload)));
        names.collect::<Vec<_>>().join(", ")
    };
    let counts = [Tendency::Slower, Tendency::Faster, Tendency::Steady].map(|tendency| of(tendency).count());
    match counts {
        [0, 0, 0] => "Too few runs to say whether it gets slower: four of one workload are needed.\n".to_owned(),
        [0, 0, _] => "It does not get slower, as far as these runs can tell.\n".to_owned(),
        [0, ..] => format!("It gets faster: {}.\n", names(Tendency::Faster)),
        [_, 0, _] => format!("It gets slower: {}.\n", names(Tendency::Slower)),
        _ => format!("It gets slower: {}. It gets faster: {}.\n", names(Tendency::Slower), names(Tendency::Faster)),
    }
}
