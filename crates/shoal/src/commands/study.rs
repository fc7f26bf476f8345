//! `shoal study`
use crate::args::{Cli, StudyArgs};
use crate::exit::Failure;
pub(crate) fn run(_cli: &Cli, _args: &StudyArgs) -> Result<(), Failure> {
    Err(Failure::failed("x"))
}
