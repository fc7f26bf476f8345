//! Which members are to be handed over: found by shoal's own assembly, on drives that are only
//! read.

use std::path::PathBuf;

use shoal_drive::DriveId;
use shoal_volume::{
    ArrayStatus, ArrayVolume, BufferPlan, HostMemory, MemberOn, OpenError, OpenOptions, OverlayWorld, Window, World,
};

/// An array as shoal would run it.
#[derive(Clone, Debug)]
pub struct Choice {
    /// What it is, and how it would be.
    pub status: ArrayStatus,
    /// Members, spares and what else takes part, in the order given.
    pub drives: Vec<PathBuf>,
    /// Whether it is to be written to.
    pub writable: bool,
    /// Whether that was forced.
    pub force: bool,
    /// What people should know of what this host remembers of it, a sentence each.
    pub remarks: Vec<String>,
}

/// Plays the assembly of `drives` through, with what this host remembers of them, whose keeper is
/// to keep nothing. What it would write stays in memory.
pub fn choose<W: World>(
    world: W,
    plan: BufferPlan,
    drives: &[DriveId],
    options: &OpenOptions,
    memory: Option<HostMemory>,
) -> Result<Choice, OpenError> {
    let window = |&drive: &DriveId| {
        let facts = world.facts(drive);
        Window { name: facts.name, drive, offset: 0, size_bytes: facts.size_bytes, holes: Vec::new() }
    };
    let windows: Vec<_> = drives.iter().map(window).collect();
    let names: Vec<_> = windows.iter().map(|window| window.name.clone()).collect();
    let overlay = OverlayWorld::new(world, windows);
    let ids = overlay.drives();
    let mut array = ArrayVolume::open_remembered(overlay, plan, &ids, options, memory)?;
    let (status, remarks) = (array.status(), array.take_remarks());
    array.close()?;
    let is_left_out = |name: &&String| status.left_out.iter().any(|left_out| left_out.name == **name);
    let drives = names.iter().filter(|name| !is_left_out(name)).map(PathBuf::from).collect();
    Ok(Choice { status, drives, writable: options.writable, force: options.force, remarks })
}

impl Choice {
    /// Why md does not get it: one line that names the mend.
    pub(crate) fn objection(&self) -> Option<&'static str> {
        let is_array = |on: &Option<MemberOn>| matches!(on, Some(MemberOn::Array(_)));
        self.status.members.iter().any(|member| is_array(&member.on)).then_some(
            "it is an array of arrays, which Linux runs as several: let shoal run it, or assemble the inner ones with mdadm",
        )
    }
}
