//! Which kernel: names, what the processor has, and the pick.

use std::fmt;
use std::str::FromStr;

#[cfg(target_arch = "aarch64")]
use crate::neon;
use crate::operation::{self, Operations};
#[cfg(target_arch = "x86_64")]
use crate::x86;

/// A way to compute parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// One byte at a time: the reference, on every processor.
    Scalar,
    /// x86-64 with AVX2: 32 bytes at a time.
    Avx2,
    /// x86-64 with AVX-512 (F, BW) and GFNI: 64 bytes at a time, multiplied by one instruction.
    Avx512Gfni,
    /// aarch64 with NEON: 16 bytes at a time.
    Neon,
}

impl Kernel {
    /// Every kernel there is, the best first.
    pub const ALL: [Self; 4] = [Self::Avx512Gfni, Self::Avx2, Self::Neon, Self::Scalar];

    /// The kernels that this processor can run, the best first. The last one is [`Kernel::Scalar`].
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|kernel| kernel.operations().is_some())
    }

    /// The name, as it is parsed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
            Self::Avx512Gfni => "avx512-gfni",
            Self::Neon => "neon",
        }
    }

    /// The functions, if the processor has the instructions they are made of.
    pub(crate) fn operations(self) -> Option<&'static Operations> {
        match self {
            Self::Scalar => Some(&operation::SCALAR),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 if is_x86_feature_detected!("avx2") => Some(&x86::avx2::OPERATIONS),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Gfni if has_avx512_gfni() => Some(&x86::avx512::OPERATIONS),
            #[cfg(target_arch = "aarch64")]
            Self::Neon if std::arch::is_aarch64_feature_detected!("neon") => Some(&neon::OPERATIONS),
            Self::Avx2 | Self::Avx512Gfni | Self::Neon => None,
        }
    }
}

/// All that the kernel is compiled for.
#[cfg(target_arch = "x86_64")]
fn has_avx512_gfni() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("gfni")
}

impl fmt::Display for Kernel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Kernel {
    type Err = UnknownKernel;

    fn from_str(name: &str) -> Result<Self, UnknownKernel> {
        Self::ALL.into_iter().find(|kernel| kernel.name() == name).ok_or_else(|| UnknownKernel(name.to_owned()))
    }
}

/// The name of a kernel that there is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKernel(String);

impl fmt::Display for UnknownKernel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "no parity kernel is called {:?}; there are", self.0)?;
        Kernel::ALL.iter().try_for_each(|kernel| write!(formatter, " {kernel}"))
    }
}

impl std::error::Error for UnknownKernel {}

/// A kernel that this processor lacks the instructions for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelUnavailable(pub Kernel);

impl fmt::Display for KernelUnavailable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "this processor cannot run the parity kernel {}; it can run", self.0)?;
        Kernel::available().try_for_each(|kernel| write!(formatter, " {kernel}"))
    }
}

impl std::error::Error for KernelUnavailable {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_to_what_they_name() {
        for kernel in Kernel::ALL {
            assert_eq!(kernel.to_string().parse(), Ok(kernel));
        }
        let unknown = "mmx".parse::<Kernel>().expect_err("no such kernel");
        assert_eq!(unknown.to_string(), "no parity kernel is called \"mmx\"; there are avx512-gfni avx2 neon scalar");
    }

    #[test]
    fn scalar_is_always_there_and_last() {
        assert_eq!(Kernel::available().last(), Some(Kernel::Scalar));
    }
}
