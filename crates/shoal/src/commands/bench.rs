//! `shoal bench`
use crate::args::{BenchArgs, Cli};
use crate::exit::Failure;
pub(crate) fn run(_cli: &Cli, _args: &BenchArgs) -> Result<(), Failure> {
    Err(Failure::failed("x"))
}
