//! Who runs an array.

use clap::Args;

/// Who runs an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum EngineArg {
    /// shoal itself, in this process.
    Shoal,
    /// Linux's md, in the kernel.
    Kernel,
}

/// Which engine runs an array.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct EngineArgs {
    /// Who runs the array: shoal itself, or the kernel's md, watched over by shoal, until it is
    /// stopped
    #[arg(long, value_name = "ENGINE", default_value = "shoal")]
    pub(crate) engine: EngineArg,
}
