//! `shoal demo`
use crate::args::{Cli, DemoArgs};
use crate::exit::Failure;
pub(crate) fn run(_cli: &Cli, _args: &DemoArgs) -> Result<(), Failure> {
    Err(Failure::failed("x"))
}
