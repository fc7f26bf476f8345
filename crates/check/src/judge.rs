//! What was seen, taken together: where a drive really ends, and whether its addresses repeat.

use crate::access::Seen;
use crate::plan::{FIRST_PASS, WritePlan};
use crate::report::Kind;
use crate::stamp::Reading;

/// Fewer places that testify decide nothing: a single write can go astray.
const WITNESSES_MIN: usize = 2;

/// What kind of drive would have shown all this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) kind: Kind,
    /// So many bytes from the start on are there, for all that was seen.
    pub(crate) at_least_bytes: u64,
    /// And not more than so many.
    pub(crate) at_most_bytes: u64,
    /// Addresses are the same modulo this, if they repeat.
    pub(crate) repeat_bytes: Option<u64>,
    /// Places that testify to it.
    pub(crate) witnesses: usize,
}

/// Judges what was seen, before anything is taken for sure.
pub(crate) fn judge(plan: &WritePlan, seen: &[Seen]) -> Finding {
    let repeat_bytes = repeat(plan, seen);
    let block_bytes = u64::from(plan.block_bytes);
    let (mut stored_end, mut lost_start, mut witnesses) = (0, None, 0);
    for one in seen {
        let home = repeat_bytes.map_or(one.offset, |bytes| one.offset % bytes);
        match (one.reading, repeat_bytes) {
            (Reading::Held, _) => stored_end = stored_end.max(home + block_bytes),
            (Reading::Elsewhere { .. }, Some(_)) => {
                stored_end = stored_end.max(home + block_bytes);
                witnesses += 1;
            }
            (Reading::Lost | Reading::Elsewhere { .. }, _) => {
                lost_start = Some(lost_start.unwrap_or(home).min(home));
                witnesses += 1;
            }
            (Reading::Changed | Reading::Failed, _) => {}
        }
    }
    let is_unsound = seen.iter().any(|one| matches!(one.reading, Reading::Changed | Reading::Failed));
    let kind = match (repeat_bytes, lost_start) {
        (_, Some(lost_start)) if lost_start < stored_end => Kind::Damaged,
        (None, _) if is_unsound => Kind::Damaged,
        (None, None) => Kind::Good,
        (None, Some(_)) => Kind::Limbo,
        (Some(_), None) => Kind::Wraparound,
        (Some(_), Some(_)) => Kind::Chain,
    };
    let at_most_bytes = lost_start.or(repeat_bytes).unwrap_or(plan.size_bytes);
    Finding { kind, at_least_bytes: stored_end.min(at_most_bytes), at_most_bytes, repeat_bytes, witnesses }
}

/// The same when nothing more is to be seen: what too few testify to is no fake.
pub(crate) fn conclude(plan: &WritePlan, seen: &[Seen]) -> Finding {
    let finding = judge(plan, seen);
    let is_fake = matches!(finding.kind, Kind::Limbo | Kind::Wraparound | Kind::Chain);
    let kind = if is_fake && finding.witnesses < WITNESSES_MIN { Kind::Damaged } else { finding.kind };
    Finding { kind, ..finding }
}

/// After how many bytes addresses repeat: the greatest common divisor of the distances between
/// where blocks were read and where they were written.
fn repeat(plan: &WritePlan, seen: &[Seen]) -> Option<u64> {
    let distances = seen.iter().filter_map(|one| match one.reading {
        Reading::Elsewhere { offset } => Some(one.offset.abs_diff(offset)),
        _ => None,
    });
    let repeat_bytes = distances.fold(0, greatest_common_divisor);
    let is_whole = repeat_bytes > 0 && repeat_bytes.is_multiple_of(u64::from(plan.block_bytes));
    (is_whole && !is_denied(plan, seen, repeat_bytes)).then_some(repeat_bytes)
}

/// Whether a block of the dense area holds over which a later one would have gone: then a drive
/// gives back anything where it has nothing, and addresses do not repeat.
fn is_denied(plan: &WritePlan, seen: &[Seen], repeat_bytes: u64) -> bool {
    let is_kept = |one: &&Seen| one.pass == FIRST_PASS && one.reading == Reading::Held;
    let mut kept = seen.iter().filter(is_kept);
    kept.any(|one| one.offset.saturating_add(repeat_bytes) < plan.dense_bytes)
}

fn greatest_common_divisor(left: u64, right: u64) -> u64 {
    if right == 0 { left } else { greatest_common_divisor(right, left % right) }
}
