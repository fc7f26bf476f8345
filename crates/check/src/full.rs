//! The full check: writes all of a drive, then reads all of it.

use shoal_volume::World;

use crate::access::{Access, CheckError, Seen, Watch};
use crate::limits::KEPT_MAX;
use crate::plan::WritePlan;
use crate::report::Tally;
use crate::stamp::{Pass, Reading};

/// The number of its pass, before those of the probe.
const PASS: u64 = 1;

/// Writes and reads all of a drive; tells what became of the bytes, and some of the places that are
/// wrong.
pub(crate) fn write_and_read<W: World, V: Watch>(
    access: &mut Access<'_, W, V>,
    plan: &WritePlan,
) -> Result<(Tally, Vec<Seen>), CheckError> {
    let pass = Pass { run: plan.seed, number: PASS };
    access.write(pass, 0, plan.size_bytes)?;
    access.flush(pass)?;
    let (mut tally, mut wrong) = (Tally::default(), Vec::new());
    access.read(pass, (0, plan.size_bytes), |one| {
        let bytes = match one.reading {
            Reading::Held => &mut tally.held_bytes,
            Reading::Elsewhere { .. } => &mut tally.overwritten_bytes,
            Reading::Lost => &mut tally.lost_bytes,
            Reading::Changed => &mut tally.changed_bytes,
            Reading::Failed => &mut tally.failed_bytes,
        };
        *bytes += u64::from(plan.block_bytes);
        if one.reading != Reading::Held {
            tally.first_wrong_offset.get_or_insert(one.offset);
            if wrong.len() < KEPT_MAX {
                wrong.push(one);
            }
        }
    })?;
    Ok((tally, wrong))
}
