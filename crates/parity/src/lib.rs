//! The parity of RAID 4, 5 and 6: P, the XOR of the data, and Q, the sum of `2^i * data[i]` in
//! GF(2^8) with the polynomial 0x11d, as md computes it. Generation, update in place, and recovery
//! of any one or two lost blocks.
//!
//! There is a scalar reference, and kernels that use a processor's vectors; [`Parity::best`] picks
//! by what the processor says it has, [`Parity::with_kernel`] forces one. All of them give the same
//! bytes. Blocks have any length, as long as all of one call agree, and any alignment. Results are
//! stored through the cache, since whoever asked for parity is about to write it.
//!
//! ```
//! use shoal_parity::{Block, Parity};
//!
//! let parity = Parity::best();
//! let data = [[1_u8; 64], [2; 64], [3; 64]];
//! let (mut p, mut q) = ([0; 64], [0; 64]);
//! parity.pq(&[Some(&data[0]), Some(&data[1]), Some(&data[2])], &mut p, &mut q);
//!
//! // Two blocks are lost: P and Q bring both back.
//! let (mut first, mut third) = ([0; 64], [0; 64]);
//! let mut stripe = [Block::Lost(&mut first), Block::Known(&data[1]), Block::Lost(&mut third)];
//! parity.solve(&mut stripe, Block::Known(&p), Block::Known(&q))?;
//! assert_eq!([first, third], [data[0], data[2]]);
//! # Ok::<(), shoal_parity::Unsolvable>(())
//! ```

mod gf;
mod kernel;
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), expect(dead_code))]
mod lane;
#[cfg(target_arch = "aarch64")]
mod neon;
mod operation;
mod scalar;
mod solve;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use kernel::{Kernel, KernelUnavailable, UnknownKernel};
pub use solve::Unsolvable;

use operation::Operations;

/// One block of a stripe, as an input or an output of [`Parity::solve`].
#[derive(Debug)]
pub enum Block<'a> {
    /// Known content.
    Known(&'a [u8]),
    /// Lost content, to be computed into this place.
    Lost(&'a mut [u8]),
    /// For data: a block of zeros. For P or Q: not known and not wanted.
    Absent,
}

impl Block<'_> {
    fn length(&self) -> Option<usize> {
        match self {
            Self::Known(bytes) => Some(bytes.len()),
            Self::Lost(bytes) => Some(bytes.len()),
            Self::Absent => None,
        }
    }
}

/// Computes parity with one kernel. Cheap to copy; every method is a plain function of its
/// arguments.
#[derive(Clone, Copy)]
pub struct Parity {
    kernel: Kernel,
    /// Invariant: present only when the processor has the kernel's instructions.
    operations: &'static Operations,
}

impl std::fmt::Debug for Parity {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Parity").field(&self.kernel).finish()
    }
}

impl Parity {
    /// With the best kernel that the processor says it can run.
    pub fn best() -> Self {
        Kernel::available()
            .find_map(|kernel| Self::with_kernel(kernel).ok())
            .expect("the scalar kernel runs on every processor")
    }

    /// With this kernel and no other.
    pub fn with_kernel(kernel: Kernel) -> Result<Self, KernelUnavailable> {
        let operations = kernel.operations().ok_or(KernelUnavailable(kernel))?;
        Ok(Self { kernel, operations })
    }

    /// The kernel in use.
    pub fn kernel(self) -> Kernel {
        self.kernel
    }

    /// `target` = XOR of all `sources`; zeros if there are none.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn xor(self, target: &mut [u8], sources: &[&[u8]]) {
        for source in sources {
            assert_eq!(source.len(), target.len(), "blocks of one length");
        }
        // SAFETY: the processor has the instructions (invariant of `operations`), and the lengths
        // are equal.
        unsafe { (self.operations.xor)(target, sources) }
    }

    /// `p` = XOR of all data, `q` = sum of `2^i * data[i]`. `None` is a block of zeros, which has
    /// an exponent as well.
    ///
    /// # Panics
    ///
    /// If the lengths differ, or for more than 255 blocks, whose coefficients would repeat.
    pub fn pq(self, data: &[Option<&[u8]>], p: &mut [u8], q: &mut [u8]) {
        assert!(data.len() <= gf::ORDER, "Q serves at most 255 data blocks");
        assert_eq!(p.len(), q.len(), "blocks of one length");
        for source in data.iter().flatten() {
            assert_eq!(source.len(), p.len(), "blocks of one length");
        }
        // SAFETY: the processor has the instructions (invariant of `operations`), the lengths are
        // equal, and the blocks are no more than the powers.
        unsafe { (self.operations.pq)(data, p, q) }
    }

    /// Brings parity up to date after the data block of this exponent changed: `p ^= old ^ new` and
    /// `q ^= 2^exponent * (old ^ new)`.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn update(self, p: Option<&mut [u8]>, q: Option<&mut [u8]>, exponent: u16, old: &[u8], new: &[u8]) {
        assert_eq!(old.len(), new.len(), "blocks of one length");
        for (target, factor) in [(p, 1), (q, gf::power(usize::from(exponent)))] {
            let Some(target) = target else { continue };
            assert_eq!(target.len(), old.len(), "blocks of one length");
            // SAFETY: the processor has the instructions (invariant of `operations`), and the
            // lengths are equal.
            unsafe { (self.operations.update)(target, factor, old, new) }
        }
    }

    /// Computes every [`Block::Lost`] of a stripe from the known blocks: parity from data, lost
    /// data from the rest. `data[i]` has the Q coefficient `2^i`. A stripe without Q has any number
    /// of data blocks.
    ///
    /// Nothing is written if more is lost than the known parity can give.
    ///
    /// # Panics
    ///
    /// If the lengths differ, or for more than 255 data blocks with a Q that is known or lost.
    pub fn solve(self, data: &mut [Block<'_>], p: Block<'_>, q: Block<'_>) -> Result<(), Unsolvable> {
        assert!(matches!(q, Block::Absent) || data.len() <= gf::ORDER, "Q serves at most 255 data blocks");
        let lengths = || data.iter().chain([&p, &q]).filter_map(Block::length);
        let length = lengths().next().unwrap_or(0);
        assert!(lengths().all(|other| other == length), "blocks of one length");
        // SAFETY: the processor has the instructions (invariant of `operations`), the lengths are
        // equal, and the blocks are no more than the powers.
        unsafe { solve::solve(self.operations, data, p, q) }
    }
}
