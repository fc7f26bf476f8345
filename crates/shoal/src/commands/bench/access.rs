//! How a target is opened.

use shoal_bench::Workload;
use shoal_drive::Access;

/// What a workload needs of its target.
pub(super) fn access(workload: &Workload) -> Access {
    if workload.read_percent < 100 { Access::Write } else { Access::Read }
}
