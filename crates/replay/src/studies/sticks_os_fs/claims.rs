//! What is claimed of the figures of `sticks-os-fs`.

use super::Cell;
use crate::Figure;
use crate::claim::{Claim, assumed, checked_input, computed, input, predicted};
use crate::outcomes::{Missing, Outcomes};

const LEXAR: &str = "Tab. 1 ATTO*";
const APACER: &str = "Tab. 2 ATTO*";
const RUNDISK: &str = "Tab. 3 ATTO*";
const BACKGROUND: &str = "said of flash or file systems in general: nothing here is made from it";

pub(crate) fn claims() -> Vec<Claim> {
    [background(), hd_tune_reads(), atto_reads(), atto_writes()].into_iter().flatten().collect()
}

fn background() -> Vec<Claim> {
    let geometry = "background: NAND geometry";
    vec![
        input((geometry, "*", "pages per block"), BACKGROUND),
        input((geometry, "*", "page *"), BACKGROUND),
        computed((geometry, "*", "block size"), block_size, "pages times the data in a page, in units of 1024 bytes"),
        input(("background: endurance and memory", "*", "*"), BACKGROUND),
        input(("method", "*", "file size"), "how much the method reads and writes"),
    ]
}

/// The table's rows on geometry, put together again.
fn block_size(_: &Outcomes, figure: &Figure) -> Result<f64, Missing> {
    let (pages, page_bytes) = match figure.configuration.as_str() {
        "32-page block of 16 kB" => (32.0, 512.0),
        "64-page block of 128 kB" => (64.0, 2048.0),
        "64-page block of 256 kB" => (64.0, 4096.0),
        "128-page block of 512 kB" => (128.0, 4096.0),
        other => return Err(Missing(other.to_owned())),
    };
    Ok(pages * page_bytes / 1024.0)
}

fn hd_tune_reads() -> Vec<Claim> {
    let same = "HD Tune reads the drive below its file system: as with NTFS on the same stick and system";
    vec![
        checked_input(
            ("Tab. * HDTune*", "*; NTFS", "read"),
            hd_tune,
            "the rate at which this stick reads under this system is set so that HD Tune measures this",
        ),
        predicted(("Tab. * HDTune*", "*; FAT32", "read"), hd_tune, same),
        predicted(("Tab. * HDTune*", "*; exFAT", "read"), hd_tune, same),
    ]
}

fn hd_tune(outcomes: &Outcomes, figure: &Figure) -> Result<f64, Missing> {
    outcomes.of(&Cell::of(figure)?.hd_tune())
}

fn atto_reads() -> Vec<Claim> {
    let why = "ATTO keeps four requests in flight, so nothing is lost between them as it is with HD Tune; what is lost there is \
               known from the Lexar under Windows XP";
    let from_hd_tune = |table, configuration| predicted((table, configuration, "read"), atto_read, why);
    vec![
        checked_input(
            (LEXAR, "*; Windows XP; NTFS", "read"),
            atto_read,
            "with HD Tune's figure of the same cell it gives what the host loses between two requests of one block",
        ),
        from_hd_tune(LEXAR, "*; Windows XP; FAT32"),
        from_hd_tune(LEXAR, "*; Windows XP; exFAT"),
        from_hd_tune(LEXAR, "*; Windows Vista; *"),
        from_hd_tune(LEXAR, "*; Windows 7*"),
        from_hd_tune(APACER, "*"),
        from_hd_tune(RUNDISK, "*"),
    ]
}

fn atto_read(outcomes: &Outcomes, figure: &Figure) -> Result<f64, Missing> {
    outcomes.of(&Cell::of(figure)?.atto_read())
}

fn atto_writes() -> Vec<Claim> {
    let rate = "the rate at which this stick writes is set so that ATTO measures this";
    let same = "one rate of writing a stick, whatever the system and file system";
    let misaligned = "one rate of writing on clusters that do not begin with a page, as FAT32's, whatever the system; that they do not \
                      is assumed";
    let outlier = "one rate of writing a stick; this cell is as slow as FAT32 on the same stick (10.4), so this volume's clusters \
                   will not have begun with a page either";
    let one_rate = |table, configuration| predicted((table, configuration, "write"), atto_write, same);
    vec![
        checked_input((LEXAR, "*; Windows XP; NTFS", "write"), atto_write, rate),
        checked_input(
            (LEXAR, "*; Windows XP; FAT32", "write"),
            atto_write,
            "the same on clusters that do not begin with a page",
        ),
        checked_input((APACER, "*; Windows XP; NTFS", "write"), atto_write, rate),
        checked_input((RUNDISK, "*; Windows XP; NTFS", "write"), atto_write, rate),
        one_rate(LEXAR, "*; exFAT"),
        predicted((LEXAR, "*; Windows Vista; NTFS", "write"), atto_write, outlier),
        one_rate(LEXAR, "*; Windows 7*; NTFS"),
        assumed((LEXAR, "*; Windows Vista; FAT32", "write"), atto_write, misaligned),
        assumed((LEXAR, "*; Windows 7*; FAT32", "write"), atto_write, misaligned),
        one_rate(APACER, "*; FAT32"),
        one_rate(APACER, "*; exFAT"),
        one_rate(APACER, "*; Windows Vista; NTFS"),
        one_rate(APACER, "*; Windows 7*; NTFS"),
        one_rate(RUNDISK, "*; FAT32"),
        one_rate(RUNDISK, "*; exFAT"),
        one_rate(RUNDISK, "*; Windows Vista; NTFS"),
        one_rate(RUNDISK, "*; Windows 7*; NTFS"),
    ]
}

fn atto_write(outcomes: &Outcomes, figure: &Figure) -> Result<f64, Missing> {
    outcomes.of(&Cell::of(figure)?.atto_write())
}
