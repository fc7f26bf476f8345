//! The arrays that are measured and predicted.

/// An array of sticks, by mdadm's and shoal's common words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) level: &'static str,
    /// Sticks by bus: so many of the first one's, so many of the second's.
    pub(crate) sticks: [usize; 2],
}

pub(crate) const CHUNK_KIB: u32 = 64;

const fn shape(level: &'static str, one: usize, other: usize) -> Shape {
    Shape { level, sticks: [one, other] }
}

/// Those of the test suite.
pub(crate) const FEW: [Shape; 3] = [shape("0", 3, 0), shape("5", 2, 2), shape("10", 2, 2)];

/// Those on files.
pub(crate) const FILES: [Shape; 4] = [shape("0", 4, 0), shape("1", 2, 0), shape("5", 4, 0), shape("10", 4, 0)];

/// Those of the document.
pub(crate) const MANY: [Shape; 9] = [
    shape("0", 2, 0),
    shape("0", 2, 2),
    shape("0", 6, 0),
    shape("0", 3, 3),
    shape("1", 1, 1),
    shape("5", 2, 2),
    shape("5", 3, 3),
    shape("10", 4, 0),
    shape("10", 3, 3),
];

impl Shape {
    pub(crate) fn count(&self) -> usize {
        self.sticks.iter().sum()
    }

    pub(crate) fn name(&self) -> String {
        let [one, other] = self.sticks;
        let buses = if other == 0 { format!("{one} on one bus") } else { format!("{one} + {other} on two buses") };
        format!("RAID{}, {buses}", self.level)
    }

    pub(crate) fn is_mirrored(&self) -> bool {
        matches!(self.level, "1" | "10")
    }

    /// `--chunk 64K`, in a tool's unit; mirrors have none.
    pub(crate) fn chunk_option(&self, unit: &str) -> String {
        if self.level == "1" { String::new() } else { format!("--chunk {CHUNK_KIB}{unit}") }
    }
}
