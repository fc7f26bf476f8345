//! The five pictures.

use super::kit::{Area, Bar, Drawn, Frame, Line, Mark, bars, lines, sheet, words};
use crate::outcomes::{Missing, Outcomes};
use crate::replay::Replayed;
use crate::studies::cruzer::{CHUNKS_KIB, DRIVES};
use crate::studies::rally2::READ_AHEAD_SECTORS;
use crate::studies::sticks_os_fs::{STICKS, SYSTEMS};

const LINES: &str = "Lines: predicted. Rings: published.";
const BARS: &str = "Bars: published. Black lines across them: predicted, or simulated from it where it is an input.";

type Picture = Result<String, String>;

/// The published number of a figure.
fn published(figures: &[&Replayed], experiment: &str, configuration: &str, metric: &str) -> Result<f64, String> {
    let found = figures.iter().find(|figure| {
        (figure.experiment.as_str(), figure.configuration.as_str(), figure.metric.as_str())
            == (experiment, configuration, metric)
    });
    let number = found.and_then(|figure| figure.value.number());
    number.ok_or_else(|| format!("no figure is {experiment}, {configuration}, {metric}"))
}

fn curve(name: &str, colour: usize, points: impl Iterator<Item = (f64, Result<f64, Missing>)>) -> Result<Line, String> {
    let points: Result<Vec<_>, _> = points.map(|(x, y)| y.map(|y| (x, y))).collect();
    Ok(Line { name: name.to_owned(), colour, points: points.map_err(words)? })
}

/// What was published of one stick, as ranges, and of six.
fn cruzer_marks(figures: &[&Replayed]) -> Result<Vec<Mark>, String> {
    let single = |metric| published(figures, "single drive", "1 drive, dd on raw device", metric);
    let reads = (single("sequential read, low end of range")?, single("sequential read, high end of range")?);
    let writes = (single("sequential write, low end of range")?, single("sequential write, high end of range")?);
    let one = |metric| published(figures, "RAID0, one USB bus", "up to 6 drives", metric);
    let two = |metric| published(figures, "RAID0, two USB buses", "6 drives, 3 per bus (dd raw)", metric);
    let mark = |colour, x, (low, high)| Mark { colour, x, low, high };
    let point = |colour, value: f64| mark(colour, DRIVES as f64, (value, value));
    Ok(vec![
        mark(0, 1.0, reads),
        mark(1, 1.0, writes),
        point(0, one("maximum read")?),
        point(1, one("maximum write")?),
        point(2, two("read")?),
        point(3, two("write")?),
    ])
}

/// Four curves over numbers of drives and chunks: where each lies on the axis, how many drives
/// there are, and of which chunk.
fn cruzer_curves(outcomes: &Outcomes, setups: impl Fn(&str) -> Vec<(f64, usize, u32)>) -> Result<Vec<Line>, String> {
    let kinds = [("one bus", "read"), ("one bus", "write"), ("two buses", "read"), ("two buses", "write")];
    let curve_of = |(colour, (buses, what)): (usize, (&str, &str))| {
        let points = setups(buses)
            .into_iter()
            .map(|(x, drives, chunk)| (x, outcomes.of(&format!("{buses}, {drives} drives, {chunk} KiB, {what}"))));
        curve(&format!("{what}, {buses}"), colour, points)
    };
    kinds.into_iter().enumerate().map(curve_of).collect()
}

/// Drives against MB/s on one and two buses, and chunks.
pub(super) fn cruzer(figures: &[&Replayed], outcomes: &Outcomes) -> Picture {
    let by_drives = cruzer_curves(outcomes, |buses| {
        let step = if buses == "one bus" { 1 } else { 2 };
        (step..=DRIVES).step_by(step).map(|drives| (drives as f64, drives, 64)).collect()
    })?;
    let places = || CHUNKS_KIB.into_iter().enumerate().map(|(place, chunk)| (place as f64, chunk));
    let by_chunk = cruzer_curves(outcomes, |_| places().map(|(x, chunk)| (x, DRIVES, chunk)).collect())?;
    let marks = cruzer_marks(figures)?;
    let heading = "Cruzer Titanium 2 GB, RAID0 by md, dd on the raw device";
    sheet((1000, 460), heading, &format!("{LINES} Bars at one drive: the published range."), |area| {
        let (left, right) = area.split_horizontally(484);
        let drives = Frame {
            title: "Chunk of 64 KiB",
            x_title: "drives",
            y_title: "MB/s",
            ticks: (1..=DRIVES).map(|drives| (drives as f64, drives.to_string())).collect(),
            y_max: 130.0,
            shaded: None,
        };
        lines(&left, &drives, &by_drives, &marks)?;
        let chunks = Frame {
            title: "Six drives",
            x_title: "chunk, KiB",
            ticks: places().map(|(place, chunk)| (place, chunk.to_string())).collect(),
            shaded: Some((2.5, 7.5, "best, as published")),
            ..drives
        };
        lines(&right, &chunks, &by_chunk, &[])
    })
}

/// Read-ahead against hdparm -t.
pub(super) fn rally2(figures: &[&Replayed], outcomes: &Outcomes) -> Picture {
    let read = "buffered sequential read";
    let array = |configuration| published(figures, "RAID0 of two", configuration, read);
    let mark = |colour, x, value| Mark { colour, x, low: value, high: value };
    let marks = [
        mark(1, -1.0, published(figures, "single drive", "Rally2, hdparm -t", read)?),
        mark(0, 0.0, array("hdparm -t, default read-ahead")?),
        mark(0, 1.0, array("hdparm -a1024")?),
        mark(0, 2.0, array("hdparm -a2048")?),
    ];
    let point = |sectors: u32| outcomes.of(&format!("array, hdparm -t, {sectors} sectors"));
    let places = READ_AHEAD_SECTORS.iter().enumerate();
    let curves = [
        curve("RAID0 of two", 0, places.map(|(place, &sectors)| (place as f64, point(sectors))))?,
        curve("one stick", 1, [(-1.0, outcomes.of("single, hdparm -t"))].into_iter())?,
    ];
    let mut ticks = vec![(-1.0, "256 (one stick)".to_owned())];
    ticks.extend(READ_AHEAD_SECTORS.iter().enumerate().map(|(place, sectors)| (place as f64, sectors.to_string())));
    let frame = Frame {
        title: "hdparm -t",
        x_title: "read-ahead, sectors of 512 bytes",
        y_title: "MiB/s",
        ticks,
        y_max: 55.0,
        shaded: None,
    };
    let heading = "OCZ Rally2, alone and two in RAID0";
    sheet((1000, 460), heading, &format!("{LINES} {BARS}"), |area| {
        let (left, right) = area.split_horizontally(600);
        lines(&left, &frame, &curves, &marks)?;
        bars(&right, "Writes", "MB/s", &rally2_writes(figures))
    })
}

fn rally2_writes(figures: &[&Replayed]) -> Vec<(String, Vec<Bar>)> {
    let rows = [
        ("dd", "single drive", "Rally2, dd 1 GB to file", "one stick"),
        ("dd", "RAID0 of two", "dd, XFS", "RAID0"),
        ("dd, -o sync", "RAID0 of two, mount -o sync", "dd", "RAID0"),
    ];
    let group = |(name, experiment, configuration, label): (&str, &str, &str, &str)| {
        let of_row = figures.iter().filter(|figure| {
            (figure.experiment.as_str(), figure.configuration.as_str(), figure.metric.as_str())
                == (experiment, configuration, "sequential write")
        });
        (name.to_owned(), of_row.map(|figure| bar(figure, label, 1)).collect())
    };
    rows.into_iter().map(group).collect()
}

/// A bar of a figure, with its published number on it.
fn bar(figure: &Replayed, label: &str, colour: usize) -> Bar {
    let published = figure.value.number().unwrap_or(0.0);
    Bar { label: label.to_owned(), published, predicted: figure.predicted, colour, note: format!("{published}") }
}

/// Three sticks, three measurements, bars by system and file system.
pub(super) fn sticks_os_fs(figures: &[&Replayed]) -> Picture {
    let heading = "Three sticks, three operating systems, three file systems";
    let note = format!("{BARS} N: NTFS, F: FAT32, x: exFAT.");
    sheet((1240, 900), heading, &note, |area| {
        let cells = area.split_evenly((3, 3));
        for (row, (method, metric, what)) in
            [("HDTune", "read", "HD Tune, read"), ("ATTO", "read", "ATTO, read"), ("ATTO", "write", "ATTO, write")]
                .into_iter()
                .enumerate()
        {
            for (column, stick) in STICKS.iter().enumerate() {
                let groups = by_system(figures, stick, method, metric);
                bars(&cells[row * 3 + column], &format!("{stick}: {what}"), "MB/s", &groups)?;
            }
        }
        Ok(())
    })
}

fn by_system(figures: &[&Replayed], stick: &str, method: &str, metric: &str) -> Vec<(String, Vec<Bar>)> {
    let group = |system: &&str| {
        let of_cell = |file_system: &str| {
            let configuration = format!("{stick}; {system}; {file_system}");
            let found = figures.iter().find(|figure| {
                figure.configuration == configuration && figure.metric == metric && figure.experiment.contains(method)
            });
            found.copied()
        };
        let bar_of = |(colour, (file_system, letter)): (usize, (&str, &str))| {
            of_cell(file_system).map(|figure| bar(figure, letter, colour))
        };
        let names = [("NTFS", "N"), ("FAT32", "F"), ("exFAT", "x")];
        ((*system).replace(" Ultimate", ""), names.into_iter().enumerate().filter_map(bar_of).collect())
    };
    SYSTEMS.iter().map(group).collect()
}

const SOFTWARE: &str = "software RAID5, 8 disks";
const HARDWARE: &str = "hardware RAID";
const NETWORK: &str = "Gigabit network to software RAID5";

/// A group of bars: its name, and for each bar the experiment, the configuration and what is
/// written below it.
type Rows = (&'static str, &'static [(&'static str, &'static str, &'static str)]);

const EIDE_BARS: [Rows; 3] = [
    (
        "software RAID5 of 8",
        &[
            (SOFTWARE, "one writer (base)", "one writer"),
            (SOFTWARE, "two concurrent writers", "two writers"),
            (SOFTWARE, "file copied back to the array", "copy to it"),
        ],
    ),
    (
        "hardware RAID5 and RAID50",
        &[
            (HARDWARE, "RAID5 of nine disks, one writer (base)", "RAID5 of 9"),
            (HARDWARE, "RAID50 (2 x RAID5 of six + software RAID0), one writer (base)", "RAID50"),
            (HARDWARE, "RAID50, two concurrent writers", "two writers"),
            (HARDWARE, "one RAID5 of six, file copied back", "copy to it"),
        ],
    ),
    (
        "over gigabit, to software RAID5",
        &[
            (NETWORK, "synchronous NFS", "NFS sync"),
            (NETWORK, "asynchronous NFS", "NFS async"),
            (NETWORK, "NFS, copy", "NFS copy"),
            (NETWORK, "FTP", "FTP"),
        ],
    ),
];

/// Writes to arrays, by one and two programs and over the network.
pub(super) fn eide(figures: &[&Replayed]) -> Picture {
    let bar_of = |experiment: &str, configuration: &str, label: &str, colour| {
        let found = figures.iter().find(|figure| {
            figure.experiment == experiment && figure.configuration == configuration && figure.unit == "MB/s"
        });
        found.map(|figure| bar(figure, label, colour))
    };
    let group = |(colour, (name, rows)): (usize, &Rows)| {
        let bars = rows
            .iter()
            .filter_map(|(experiment, configuration, label)| bar_of(experiment, configuration, label, colour));
        ((*name).to_owned(), bars.collect())
    };
    let groups: Vec<_> = EIDE_BARS.iter().enumerate().map(group).collect();
    sheet((1180, 460), "EIDE disks in RAID5", BARS, |area| bars(area, "Writing a file of 3.28 GB", "MB/s", &groups))
}

/// fio by slot and run, with p99.99 on each bar.
pub(super) fn pi_zero(figures: &[&Replayed]) -> Picture {
    let heading = "Raspberry Pi Zero: fio, 4 KiB, direct, one at a time";
    let note = format!("{BARS} On the bars of writes: p99.99 in ms, as published.");
    sheet((1240, 820), heading, &note, |area| {
        let rows = area.split_evenly((3, 1));
        slots(&rows[0], figures, "Write speed tests", "Write", &["run 1", "run 2", "run 3"])?;
        slots(
            &rows[1],
            figures,
            "Write speed experiment (slot order)",
            "Write, sticks in other slots",
            &["run 1", "run 2"],
        )?;
        slots(&rows[2], figures, "Read speeds", "Read", &["run 1", "run 2", "run 3"])
    })
}

fn slots(area: &Area<'_>, figures: &[&Replayed], experiment: &str, title: &str, runs: &[&str]) -> Drawn {
    let of = |slot: &str, run: &str, unit: &str| {
        let found = figures.iter().find(|figure| {
            figure.experiment == experiment
                && figure.configuration.starts_with(&format!("{slot} {run}"))
                && figure.unit == unit
        });
        found.copied()
    };
    let group = |(colour, slot): (usize, &str)| {
        let bars = runs.iter().filter_map(|run| {
            let tail = of(slot, run, "ms").and_then(|figure| figure.value.number()).unwrap_or(0.0);
            of(slot, run, "MB/s").map(|figure| Bar { note: format!("{tail} ms"), ..bar(figure, run, colour) })
        });
        (slot.to_owned(), bars.collect())
    };
    let groups: Vec<_> = ["/dev/sda", "/dev/sdb", "/dev/sdc", "/dev/sdd"].into_iter().enumerate().map(group).collect();
    bars(area, title, "MB/s", &groups)
}
