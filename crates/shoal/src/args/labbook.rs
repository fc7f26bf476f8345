//! Arguments of the lab book.

use shoal_text::whole_number;
use std::path::PathBuf;

use clap::{ArgGroup, Args};

/// Whether and where commands that measure keep what they measured.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct KeepArgs {
    /// The lab book to keep the run in [default: lab-book.sqlite beside what this user's shoal
    /// remembers].
    #[arg(long, value_name = "FILE", conflicts_with = "no_book")]
    pub(crate) book: Option<PathBuf>,
    /// Do not keep the run in a lab book.
    #[arg(long)]
    pub(crate) no_book: bool,
}

/// Which lab book is read.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct BookArgs {
    /// The lab book [default: lab-book.sqlite beside what this user's shoal remembers].
    #[arg(long, value_name = "FILE")]
    pub(crate) book: Option<PathBuf>,
}

/// `shoal log`
#[derive(Args, Debug)]
#[command(
    group = ArgGroup::new("exchange").args(["export", "import"]),
    after_help = "A run that is listed as unfinished is under way, or was killed."
)]
pub(crate) struct LogArgs {
    /// Only runs in which this drive was measured, alone or in an array: its path, or who it is as
    /// `shoal show` tells.
    #[arg(long, value_name = "DRIVE", conflicts_with = "exchange")]
    pub(crate) drive: Option<String>,
    /// Only the newest so many.
    #[arg(long, value_name = "COUNT", conflicts_with = "exchange", value_parser = whole_number(1_u32..))]
    pub(crate) last: Option<u32>,
    /// Write all runs to a file that is not there yet: everything if it ends in .json, a table of
    /// figures if in .csv.
    #[arg(long, value_name = "FILE")]
    pub(crate) export: Option<PathBuf>,
    /// Take in the runs of such a .json file, or the report of `fio --output-format=json`. What is
    /// there already is not taken in twice.
    #[arg(long, value_name = "FILE.json")]
    pub(crate) import: Option<PathBuf>,
    /// Which lab book.
    #[command(flatten)]
    pub(crate) book: BookArgs,
}

/// `shoal show`
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// The run: its number, as `shoal log` tells, or its UUID.
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// Which lab book.
    #[command(flatten)]
    pub(crate) book: BookArgs,
}

/// `shoal compare`
#[derive(Args, Debug)]
#[command(
    after_help = "Three repeats or more on both sides are needed to tell a difference from noise. One of twenty differences that \
                  are told with 95 % is noise all the same."
)]
pub(crate) struct CompareArgs {
    /// The run before: its number, or its UUID.
    #[arg(value_name = "RUN")]
    pub(crate) before: String,
    /// The run after.
    #[arg(value_name = "RUN")]
    pub(crate) after: String,
    /// Which lab book.
    #[command(flatten)]
    pub(crate) book: BookArgs,
}

/// `shoal trend`
#[derive(Args, Debug)]
#[command(after_help = "Four runs of one workload or more are needed to tell a trend from noise.")]
pub(crate) struct TrendArgs {
    /// The drive: its path, or who it is as `shoal show` tells.
    #[arg(value_name = "DRIVE")]
    pub(crate) drive: String,
    /// Which lab book.
    #[command(flatten)]
    pub(crate) book: BookArgs,
}
