//! Arguments of the commands that change what drives, and arrays, are called or taken for.

use std::path::{Path, PathBuf};

use clap::Args;

use super::ArrayArgs;
use crate::exit::Failure;

/// `shoal wipe`
#[derive(Args, Debug)]
pub(crate) struct WipeArgs {
    /// Show what would go, and stop.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Wipe files, too, that hold something and are no members of arrays. What is in use is refused
    /// all the same.
    #[arg(long, short)]
    pub(crate) force: bool,
    /// The drives.
    #[arg(required = true, value_name = "DRIVE")]
    pub(crate) drives: Vec<PathBuf>,
}

/// `shoal rename`
#[derive(Args, Debug)]
#[command(override_usage = "shoal rename [OPTIONS] <DRIVE>... <NAME>", after_help = "The last word is the name.")]
pub(crate) struct RenameArgs {
    /// Write the name alone, without the name of this host before it.
    #[arg(long)]
    pub(crate) no_homehost: bool,
    /// Which array, and then its new name.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
}

impl RenameArgs {
    /// The array, and its new name.
    pub(crate) fn array_and_name(&self) -> Result<(ArrayArgs, String), Failure> {
        let mut array = self.array.clone();
        let name = array.drives.pop();
        let named = !array.drives.is_empty() || array.uuid.is_some() || array.socket.is_some() || array.scan.is_some();
        let name = name.filter(|_| named).and_then(|name| name.into_os_string().into_string().ok());
        let name = name.filter(|name| !name.is_empty());
        if let Some(name) = name.as_deref().filter(|name| name.contains('/') || Path::new(name).exists()) {
            return Err(Failure::usage(format!("{name} is a drive or file: the last word is the array's new name")));
        }
        name.map(|name| (array, name)).ok_or_else(|| Failure::usage("give the array's members, and then its new name"))
    }
}
