//! An array's status as a document.

use shoal_volume::{ArrayStatus, Cause, Health, LeftOut, MemberOn, MemberState, MemberStatus, Verdict, layout_name};

use super::{ArrayDocument, LeftOutDocument, MemberDocument, ReplacementDocument};

/// An array's state as a document.
pub(crate) fn array_document(status: &ArrayStatus) -> ArrayDocument {
    ArrayDocument {
        name: status.name.clone(),
        uuid: status.uuid.clone(),
        level: status.level.to_string(),
        layout: layout_name(status.level),
        chunk_bytes: (status.chunk_bytes > 0).then_some(u64::from(status.chunk_bytes)),
        capacity_bytes: status.problem.is_none().then_some(status.capacity_bytes),
        health: health_name(status.health).to_owned(),
        redundancy: u32::try_from(status.redundancy).unwrap_or(u32::MAX),
        needs_resync: status.needs_resync,
        events: status.events,
        update_time_unix_s: status.update_time_unix_s,
        members: status.members.iter().map(member_document).collect(),
        spares: status.spares.clone(),
        left_out: status.left_out.iter().map(left_out_document).collect(),
        problem: status.problem.clone(),
        unattached: status.unattached.iter().map(array_document).collect(),
    }
}

impl ArrayDocument {
    /// Whether its level has parity.
    pub(crate) fn has_parity(&self) -> bool {
        matches!(self.level.as_str(), "raid4" | "raid5" | "raid6")
    }
}

fn health_name(health: Health) -> &'static str {
    match health {
        Health::Optimal => "optimal",
        Health::Degraded => "degraded",
        Health::Failed => "failed",
    }
}

fn member_document(member: &MemberStatus) -> MemberDocument {
    let (state, rebuilt_bytes) = match member.state {
        MemberState::InSync => ("in-sync", None),
        MemberState::Rebuilding { position } => ("rebuilding", Some(position)),
        MemberState::Missing => ("missing", None),
    };
    let (drive, array) = match &member.on {
        Some(MemberOn::Drive(drive)) => (Some(drive.clone()), None),
        Some(MemberOn::Array(array)) => (None, Some(Box::new(array_document(array)))),
        None => (None, None),
    };
    let replacement = member.replacement.as_ref();
    let replacement = replacement.map(|it| ReplacementDocument { drive: it.drive.clone(), copied_bytes: it.position });
    let (role, state, suspect) = (member.role.0, state.to_owned(), member.suspect);
    MemberDocument { role, drive, state, rebuilt_bytes, suspect, replacement, array }
}

fn left_out_document(left_out: &LeftOut) -> LeftOutDocument {
    let reason = match &left_out.cause {
        Cause::Verdict(verdict) => verdict_text(*verdict),
        Cause::Suspicion(suspicion) => suspicion.to_string(),
        Cause::BadBlocks { problem } => format!("its bad-block log cannot be used: {problem}"),
    };
    LeftOutDocument { drive: left_out.name.clone(), reason }
}

/// Why a member is left out.
pub(crate) fn verdict_text(verdict: Verdict) -> String {
    match verdict {
        Verdict::Stale { updates_missed } => format!("stale: it missed {updates_missed} updates"),
        Verdict::Faulty => "it failed".to_owned(),
        Verdict::RoleTaken(role) => format!("a fresher drive has its role, {}", role.0),
        Verdict::Journal => "it is the array's journal".to_owned(),
        Verdict::Replacement { role, .. } => format!("it is being made a replacement of member {}", role.0),
        Verdict::Unusable => "its role is none that the array has".to_owned(),
        Verdict::Stray => "its number is another member's, or none: a changed copy of a superblock".to_owned(),
        Verdict::InSync(_) | Verdict::Rebuilding { .. } | Verdict::Spare => "it is in use".to_owned(),
    }
}
