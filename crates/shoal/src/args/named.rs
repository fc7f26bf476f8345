//! Commands that are about one array.

use std::path::PathBuf;

use super::{ArrayArgs, Command, ServiceCommand};

impl Command {
    /// Which array, as it was typed, if it may be by its name; none where the command is about
    /// something else.
    pub(crate) fn array_mut(&mut self) -> Option<&mut ArrayArgs> {
        Some(match self {
            Self::Rename(args) => &mut args.array,
            Self::Status(args) => &mut args.array,
            Self::Read(args) => &mut args.array,
            Self::Write(args) => &mut args.array,
            Self::Fail(args) => &mut args.array,
            Self::Add(args) => &mut args.array,
            Self::Remove(args) => &mut args.array,
            Self::Replace(args) => &mut args.array,
            Self::ReAdd(args) => &mut args.array,
            Self::Grow(args) => &mut args.array,
            Self::Rebuild(args) => &mut args.array,
            Self::Scrub(args) => &mut args.array,
            Self::Run(args) => &mut args.array,
            Self::Serve(args) => &mut args.array,
            Self::Format(args) => &mut args.array,
            Self::Mount(args) => &mut args.array,
            Self::Unmount(args) => &mut args.array,
            Self::Attach(args) => &mut args.array,
            Self::Detach(args) => &mut args.array,
            Self::Share(args) => &mut args.what,
            Self::Stop(args) => &mut args.array,
            Self::Speed(args) => &mut args.array,
            Self::Service(args) => args.command.array_mut(),
            _ => return None,
        })
    }

    /// How many of the words behind an array's are none of its drives.
    pub(crate) fn words_behind_array(&self) -> usize {
        match self {
            // The new name; the directory.
            Self::Rename(_) | Self::Mount(_) => 1,
            _ => 0,
        }
    }

    /// Files and devices that are typed where an array may be, too.
    pub(crate) fn paths_mut(&mut self) -> Option<&mut Vec<PathBuf>> {
        match self {
            Self::Bench(args) => Some(&mut args.targets),
            Self::Recover(args) => Some(&mut args.paths),
            _ => None,
        }
    }
}

impl ServiceCommand {
    fn array_mut(&mut self) -> &mut ArrayArgs {
        match self {
            Self::Install(args) => &mut args.array,
            Self::Show(args) | Self::Remove(args) => &mut args.array,
            Self::MdadmConf(args) => &mut args.array,
        }
    }
}
