//! What is measured and predicted, and how far the two may be apart.

use crate::needs_bus_reality::shapes::Shape;

/// One of reads, one of writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Each<T> {
    pub(crate) read: T,
    pub(crate) write: T,
}

/// How long and how often things are measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) seconds: u64,
    pub(crate) repeats: u32,
}

/// What a stick or an array does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    /// 1 MiB after 1 MiB, four at a time.
    pub(crate) bytes_per_s: Each<u64>,
    /// 4 KiB anywhere, one at a time: the mean.
    pub(crate) request_ns: Each<u64>,
}

impl Figures {
    /// The better of each two.
    pub(crate) fn fastest(&self, other: &Self) -> Self {
        let (bytes_per_s, request_ns) = (self.bytes_per_s, self.request_ns);
        Self {
            bytes_per_s: Each {
                read: bytes_per_s.read.max(other.bytes_per_s.read),
                write: bytes_per_s.write.max(other.bytes_per_s.write),
            },
            request_ns: Each {
                read: request_ns.read.min(other.request_ns.read),
                write: request_ns.write.min(other.request_ns.write),
            },
        }
    }
}

/// The directions and patterns, by which figures are gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    SequentialRead,
    SequentialWrite,
    SmallRead,
    SmallWrite,
}

/// Whose array it is, on the same sticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Shoal,
    Linux,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::SequentialRead, Self::SequentialWrite, Self::SmallRead, Self::SmallWrite];

    pub(crate) fn of(self, figures: &Figures) -> u64 {
        match self {
            Self::SequentialRead => figures.bytes_per_s.read,
            Self::SequentialWrite => figures.bytes_per_s.write,
            Self::SmallRead => figures.request_ns.read,
            Self::SmallWrite => figures.request_ns.write,
        }
    }

    pub(crate) fn is_sequential(self) -> bool {
        matches!(self, Self::SequentialRead | Self::SequentialWrite)
    }
}

/// How far `predicted` is from `measured`, in thousandths of it, signed.
pub(crate) fn error_per_mille(predicted: u64, measured: u64) -> i64 {
    let (predicted, measured) = (i64::try_from(predicted).unwrap(), i64::try_from(measured).unwrap());
    (predicted - measured) * 1000 / measured.max(1)
}

/// Why a prediction may be off, and by how much.
pub(crate) struct Cause {
    pub(crate) applies: fn(&Shape, Engine, Kind) -> bool,
    pub(crate) most_per_mille: i64,
    pub(crate) text: &'static str,
}

/// The first that applies does.
pub(crate) const CAUSES: [Cause; 5] = [
    Cause {
        applies: |shape, engine, kind| shape.is_mirrored() && engine == Engine::Linux && kind == Kind::SequentialRead,
        most_per_mille: 600,
        text: "Linux spreads four requests at a time over the copies; shoal, here and there, reads a sequence from one",
    },
    Cause {
        applies: |shape, _, kind| shape.level == "5" && kind == Kind::SequentialRead,
        most_per_mille: 180,
        text: "the throttle counts bytes and goes on by the clock; a drive that steps over the parity has to start anew",
    },
    Cause {
        applies: |shape, _, kind| shape.level == "5" && kind == Kind::SequentialWrite,
        most_per_mille: 180,
        text: "the throttles of reads and writes are two; what is read for parity takes nothing from the writes",
    },
    Cause {
        applies: |_, _, kind| !kind.is_sequential(),
        most_per_mille: 400,
        text: "the emulated controller answers in steps of a millisecond, and later on a busy machine; and a simulated drive \
               programs what its buffers hold before it turns elsewhere, where the throttle lets a small write through",
    },
    Cause { applies: |_, _, _| true, most_per_mille: 60, text: "" },
];

/// What is to be said of a figure's error.
pub(crate) fn cause(shape: &Shape, engine: Engine, kind: Kind) -> &'static Cause {
    CAUSES.iter().find(|cause| (cause.applies)(shape, engine, kind)).expect("the last applies to all")
}
