//! What `recover` prints.

use std::fmt::Write;
use std::ops::Range;

use comfy_table::{Table, presets};
use schemars::JsonSchema;
use serde::Serialize;
use shoal_documents::{ArrayDocument, HealthDocument};
use shoal_recover::Content;
use shoal_text::{format_ns, format_size};

use crate::commands::status::array_text;

/// `recover`: the arrays that members were found of, and what is proposed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RecoverDocument {
    /// One entry an array, or an array of arrays.
    pub(crate) arrays: Vec<RecoverableDocument>,
    /// What carries something like a superblock and cannot be used.
    pub(crate) problems: Vec<ProblemDocument>,
}

/// Something that cannot be used.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProblemDocument {
    /// Where.
    pub(crate) drive: String,
    /// Why.
    pub(crate) problem: String,
}

/// One array.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RecoverableDocument {
    /// Every member that was found, and what is proposed to do with it.
    pub(crate) members: Vec<FoundDocument>,
    /// The array as it would run; left out if its members contradict each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) array: Option<ArrayDocument>,
    /// Why there is no proposal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
    /// What may be wrong or missing then, each as a sentence; empty: nothing.
    pub(crate) losses: Vec<String>,
    /// What of the content no member has, as far as is known before it is read; left out if it
    /// cannot be read at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unreadable: Option<UnreadableDocument>,
    /// Whether superblocks have to be written before it can run, which `--apply` does.
    pub(crate) needs_apply: bool,
    /// Whether `--apply` wrote them.
    pub(crate) applied: bool,
    /// What the content looks like: file systems, partition tables; left out if it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<Vec<String>>,
    /// `--save`: where the content went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) saved: Option<SavedDocument>,
}

/// A member that was found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FoundDocument {
    /// The file or device, and the partition.
    pub(crate) drive: String,
    /// The UUID of the array that it says it is a member of.
    pub(crate) array_uuid: String,
    /// "role 2", "spare", ...: what it says of itself.
    pub(crate) says: String,
    /// Its count of updates.
    pub(crate) events: u64,
    /// When its superblock was last written: seconds since 1970.
    pub(crate) update_time_unix_s: u64,
    /// Bytes that are missing at its end, as of an image that was cut off.
    pub(crate) cut_off_bytes: u64,
    /// Bytes that could not be copied, by the mapfile beside it.
    pub(crate) hole_bytes: u64,
    /// "use", "force" or "leave out".
    pub(crate) choice: String,
    /// Why.
    pub(crate) reason: String,
}

/// Content that cannot be had.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct UnreadableDocument {
    /// How much.
    pub(crate) bytes: u64,
    /// Where, in ascending order.
    pub(crate) ranges: Vec<LostDocument>,
}

impl From<&Content> for UnreadableDocument {
    fn from(content: &Content) -> Self {
        Self { bytes: content.unreadable_bytes(), ranges: LostDocument::all(&content.unreadable) }
    }
}

/// Content that was copied out.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SavedDocument {
    /// The file.
    pub(crate) file: String,
    /// Bytes that were copied.
    pub(crate) bytes: u64,
    /// What could not be had; the file has zeros there.
    pub(crate) lost: Vec<LostDocument>,
    /// Members that were written to since they were found, or are gone: what was copied may be of
    /// several times.
    pub(crate) changed: Vec<String>,
    /// How long it took.
    pub(crate) elapsed_ns: u64,
}

/// A range of content that is lost.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LostDocument {
    /// First byte.
    pub(crate) offset: u64,
    /// Number of bytes.
    pub(crate) bytes: u64,
}

impl SavedDocument {
    /// Why the file is not the content as it was at one time, if it is not.
    pub(crate) fn shortfall(&self) -> Option<String> {
        let Self { file, lost, changed, .. } = self;
        let lost_bytes: u64 = lost.iter().map(|range| range.bytes).sum();
        match (changed.as_slice(), lost_bytes) {
            ([], 0) => None,
            ([], bytes) => Some(format!(
                "{file} lacks {bytes} bytes of the content, and has zeros there: no member that was found has them; what \
                 could be had is kept"
            )),
            (changed, _) => Some(format!(
                "{} changed while it was copied: {file} may hold blocks of several times: end what writes there, and save \
                 anew to another file",
                changed.join(" and ")
            )),
        }
    }
}

impl LostDocument {
    pub(crate) fn all(ranges: &[Range<u64>]) -> Vec<Self> {
        ranges.iter().map(|range| Self { offset: range.start, bytes: range.end - range.start }).collect()
    }
}

/// The choice not to use a member.
pub(crate) const LEAVE_OUT: &str = "leave out";

/// How many lost ranges the text shows.
const RANGES_SHOWN: usize = 20;

/// The document as text.
pub(crate) fn text(document: &RecoverDocument) -> String {
    let mut text = String::new();
    write_all(&mut text, document).expect("strings take everything");
    text
}

fn write_all(text: &mut String, document: &RecoverDocument) -> std::fmt::Result {
    for (number, array) in document.arrays.iter().enumerate() {
        if number > 0 {
            writeln!(text)?;
        }
        write_array(text, array)?;
    }
    for ProblemDocument { drive, problem } in &document.problems {
        writeln!(text, "not usable: {drive}: {problem}")?;
    }
    Ok(())
}

fn write_array(text: &mut String, array: &RecoverableDocument) -> std::fmt::Result {
    if let Some(array) = &array.array {
        text.push_str(&array_text(array));
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["found", "says", "events", "last written", "proposed"]);
    let freshest = array.members.iter().map(|member| member.update_time_unix_s).max().unwrap_or(0);
    for member in &array.members {
        let damage = match (member.cut_off_bytes, member.hole_bytes) {
            (0, 0) => String::new(),
            (0, holes) => format!(" ({} not copied)", format_size(holes)),
            (cut_off, 0) => format!(" (cut off, {} missing)", format_size(cut_off)),
            (cut_off, holes) => {
                format!(" (cut off, {} missing; {} not copied)", format_size(cut_off), format_size(holes))
            }
        };
        table.add_row([
            format!("{}{damage}", member.drive),
            member.says.clone(),
            member.events.to_string(),
            age(freshest - member.update_time_unix_s),
            format!("{}: {}", member.choice, member.reason),
        ]);
    }
    for line in table.lines() {
        writeln!(text, " {}", line.trim_end())?;
    }
    if let Some(problem) = &array.problem {
        writeln!(text, "  no proposal: {problem}")?;
    }
    match &array.content {
        Some(content) if content.is_empty() => writeln!(text, "  content: nothing that is known")?,
        Some(content) => writeln!(text, "  content: {}", content.join(", "))?,
        None => writeln!(text, "  content: cannot be read")?,
    }
    array.losses.iter().try_for_each(|loss| writeln!(text, "  loses: {loss}"))?;
    array.saved.as_ref().map_or(Ok(()), |saved| write_saved(text, saved))?;
    write_next(text, array)
}

fn age(seconds: u64) -> String {
    match seconds {
        0 => "last of all".to_owned(),
        seconds => format!("{} earlier", format_ns(seconds.saturating_mul(1_000_000_000))),
    }
}

fn write_saved(text: &mut String, saved: &SavedDocument) -> std::fmt::Result {
    writeln!(text, "  saved: {} to {} in {}", format_size(saved.bytes), saved.file, format_ns(saved.elapsed_ns))?;
    for LostDocument { offset, bytes } in saved.lost.iter().take(RANGES_SHOWN) {
        writeln!(text, "  lost: {bytes} bytes at byte {offset}")?;
    }
    for member in &saved.changed {
        writeln!(text, "  changed: {member}, while it was copied")?;
    }
    if saved.lost.len() > RANGES_SHOWN {
        writeln!(text, "  lost: {} more ranges; --json lists all", saved.lost.len() - RANGES_SHOWN)?;
    }
    Ok(())
}

fn write_next(text: &mut String, array: &RecoverableDocument) -> std::fmt::Result {
    if array.content.is_none() || array.saved.is_some() {
        return Ok(());
    }
    let of_used = |damage: fn(&FoundDocument) -> u64| {
        array.members.iter().any(|member| damage(member) > 0 && member.choice != LEAVE_OUT)
    };
    if of_used(|member| member.cut_off_bytes) {
        return writeln!(text, "  it does not run with members that are cut off; --save FILE copies what there is");
    }
    if of_used(|member| member.hole_bytes) {
        return writeln!(text, "  it does not run with members that have holes; --save FILE copies what there is");
    }
    if array
        .array
        .as_ref()
        .is_some_and(|array| matches!(array.health, HealthDocument::Failed | HealthDocument::Unusable))
    {
        return writeln!(text, "  it does not run; --save FILE copies what there is");
    }
    match (array.needs_apply, array.applied) {
        (true, false) => {
            writeln!(text, "  nothing has been written: --save FILE copies the content, --apply makes the array run so")
        }
        (true, true) => writeln!(text, "  written: the array runs so from now on"),
        (false, _) if array.array.as_ref().is_some_and(ArrayDocument::is_dirty_and_degraded) => writeln!(
            text,
            "  it is degraded and was not shut down cleanly: `shoal run --force` runs it, and blocks of the missing member may be wrong; \
             --save FILE copies the content"
        ),
        (false, _) => writeln!(text, "  it runs as it is; --save FILE copies the content"),
    }
}
