//! The small types everything else is made of. All sizes and positions are bytes, all times
//! nanoseconds.

/// A member's place in the array: `0..member_count`. md calls it the role, or "RaidDevice".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Role(pub u16);

impl Role {
    /// The role as an index into per-member tables.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// Who submits a request. Each numbers its own as it likes, whatever the others do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Submitter {
    /// Whoever uses the content.
    Client,
    /// The server that passes it on to clients elsewhere.
    Server,
    /// The volume that the engine is a part of, for itself.
    Volume,
}

/// Names a request; unique among the requests of its submitter in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId {
    /// Who gets the answer.
    pub submitter: Submitter,
    /// Its name there.
    pub number: u64,
}

impl RequestId {
    /// That of a client's request.
    pub const fn client(number: u64) -> Self {
        Self { submitter: Submitter::Client, number }
    }
}

/// Names an effect that the engine has given out and waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectId(pub u64);

/// Names a buffer that the driver owns. The engine passes it on and never looks inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(pub u32);

/// A run of bytes inside one buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The buffer.
    pub buffer: BufferId,
    /// First byte within the buffer.
    pub offset: u32,
    /// Number of bytes.
    pub length: u32,
}

impl Span {
    /// The part of this span that starts `offset` bytes in and is `length` bytes long.
    ///
    /// # Panics
    /// If the part does not lie within the span: a bug in the caller.
    pub fn part(self, offset: u32, length: u32) -> Self {
        assert!(
            u64::from(offset) + u64::from(length) <= u64::from(self.length),
            "part {offset}+{length} outside a span of {}",
            self.length
        );
        Self { buffer: self.buffer, offset: self.offset + offset, length }
    }
}

/// A moment: nanoseconds since an origin that the driver chooses. Never goes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant {
    /// Nanoseconds since the driver's origin.
    pub ns: u64,
}

impl Instant {
    /// This moment, `ns` nanoseconds later.
    #[must_use]
    pub fn after_ns(self, ns: u64) -> Self {
        Self { ns: self.ns.saturating_add(ns) }
    }

    /// Nanoseconds from `earlier` to this moment; 0 if `earlier` is later.
    pub fn since_ns(self, earlier: Self) -> u64 {
        self.ns.saturating_sub(earlier.ns)
    }
}
