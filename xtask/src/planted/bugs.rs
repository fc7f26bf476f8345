//! The table of planted bugs: each in another place, each of a kind that somebody could write.

/// A text, and what is put in its place.
pub(super) struct Bug {
    pub(super) name: &'static str,
    /// What goes wrong by it.
    pub(super) what: &'static str,
    pub(super) file: &'static str,
    /// Found exactly once.
    pub(super) right: &'static str,
    pub(super) wrong: &'static str,
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        name: "parity-exponent",
        what: "RAID6: a small write updates Q as if its chunk were the first",
        file: "crates/array/src/array/plan/write.rs",
        right: "exponent: self.view.stripe.exponents[block.index],",
        wrong: "exponent: 0,",
    },
    Bug {
        name: "slice-shared",
        what: "two operations work on one slice at the same time",
        file: "crates/array/src/array/slices.rs",
        right: "let was_idle = !slice.is_held && slice.queue.is_empty();",
        wrong: "let was_idle = slice.queue.is_empty();",
    },
    Bug {
        name: "order-overtaken",
        what: "a request overtakes an overlapping one that begins after it",
        file: "crates/array/src/array/order.rs",
        right: "if entry.start < range.end && range.start < entry.end {",
        wrong: "if entry.start <= range.start && range.start < entry.end {",
    },
    Bug {
        name: "rebuild-ahead",
        what: "the superblock says that a rebuild is further than it is",
        file: "crates/volume/src/tree/node.rs",
        right: "self.membership.record_rebuild_position(slot.dev_number, position)",
        wrong: "self.membership.record_rebuild_position(slot.dev_number, position + (64 << 10))",
    },
    Bug {
        name: "resync-trusted",
        what: "parity that may not agree with the data is changed by the difference",
        file: "crates/array/src/array/plan/write.rs",
        right: "_ if !view.is_synced() => Parity::Stale,",
        wrong: "_ if !view.is_synced() && written.len() > 2 => Parity::Stale,",
    },
    Bug {
        name: "record-late",
        what: "a write is answered before the member that missed it is recorded as failed",
        file: "crates/array/src/array/record.rs",
        right: "let hold = self.records.recorded < self.records.epoch;",
        wrong: "let hold = self.records.recorded > self.records.epoch;",
    },
    Bug {
        name: "bitmap-set-late",
        what: "a write goes on before its bits are durable",
        file: "crates/volume/src/tree/intent.rs",
        right: "if self.is_announced(&concerns) && !self.held",
        wrong: "if !self.held",
    },
    Bug {
        name: "bitmap-cleared-degraded",
        what: "bits are cleared while a member is missing that needs them",
        file: "crates/volume/src/tree/intent/run.rs",
        right: "let is_whole = self.array.health() == Health::Optimal;",
        wrong: "let is_whole = self.array.health() != Health::Failed;",
    },
    Bug {
        name: "flush-one-member",
        what: "a flush reaches the first member only",
        file: "crates/array/src/array/requests.rs",
        right: "if self.members.is_working(role) && self.profile.is_writable {",
        wrong: "if self.members.is_working(role) && self.profile.is_writable && role.index() == 0 {",
    },
    Bug {
        name: "events-stand-still",
        what: "superblocks are written without a new count of events",
        file: "crates/volume/src/tree/record.rs",
        right: "it.membership.advance(Timestamp::from_seconds(self.world.unix_time_s()));",
        wrong: "it.membership.clone().advance(Timestamp::from_seconds(self.world.unix_time_s()));",
    },
    Bug {
        name: "ppl-partial",
        what: "the replay of a partial parity log leaves out the partial parity",
        file: "crates/volume/src/ppl.rs",
        right: "sources.extend(replay.partial_parity.map(|start| (parity.target, start + offset)));",
        wrong: "",
    },
    Bug {
        name: "spare-half-filled",
        what: "a spare is filled from the 64th KiB on",
        file: "crates/volume/src/tree/upkeep.rs",
        right: "it.array.rebuild_member(now, role, 0, None)",
        wrong: "it.array.rebuild_member(now, role, 64 << 10, None)",
    },
    Bug {
        name: "geometry-sync-range",
        what: "a write over several rows marks the first one only in the bitmap",
        file: "crates/array/src/geometry/parity.rs",
        right: "first.row << self.chunk_shift..(last.row + 1) << self.chunk_shift",
        wrong: "first.row << self.chunk_shift..(first.row + 1) << self.chunk_shift",
    },
    Bug {
        name: "marked-late",
        what: "the first write to a clean array does not wait until it is marked active",
        file: "crates/volume/src/tree/activity.rs",
        right: "it.activity = Activity::Marking { held: vec![request] };\n                return self.record(now, node, Waiter::Marking);",
        wrong: "it.activity = Activity::Active { changed_at: now };\n                self.record(now, node, Waiter::Nobody);",
    },
    Bug {
        name: "forced-stripes",
        what: "a forced array leaves stripes below a rebuild's position out of sync",
        file: "crates/volume/src/assemble.rs",
        right: "redundancy if is_forced => forced_resync(resync, assembly, redundancy, geometry.sync_bytes()),",
        wrong: "_ if is_forced => None,",
    },
];
