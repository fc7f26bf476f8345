//! Arguments of `shoal attach` and `shoal detach`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use shoal_attach::Terms;
use shoal_attach::records::Method;
use shoal_attaching::Front;

use super::arrays::ArrayArgs;
use super::write_back::WriteBackArgs;

/// `shoal attach`
#[derive(Args, Debug)]
pub(crate) struct AttachArgs {
    /// In which way; the best that this machine has if left out.
    #[arg(long = "as", value_name = "METHOD", value_parser = method_parser())]
    pub(crate) method: Option<Method>,
    /// A block device, and not only a file, which is what there is without ublk and nbd in the
    /// kernel.
    #[arg(long, short)]
    pub(crate) block_device: bool,
    /// Let nobody write.
    #[arg(long, short)]
    pub(crate) read_only: bool,
    /// Attach a degraded array that was not shut down cleanly, though some blocks may be wrong.
    #[arg(long, short)]
    pub(crate) force: bool,
    /// A request that waits so long, while the process that runs the array is gone, fails.
    /// [default: 300]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) deadline: Option<Duration>,
    /// What answers writes before the members have them, if the array is not running yet.
    #[command(flatten)]
    pub(crate) write_back: WriteBackArgs,
    /// Which array.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
}

/// `shoal detach`
#[derive(Args, Debug)]
pub(crate) struct DetachArgs {
    /// Which array: its members, any one of them, or the device or file that it is attached as.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
}

/// `shoal front`
#[derive(Args, Debug)]
pub(crate) struct FrontArgs {
    /// What it makes of the array.
    #[arg(long)]
    method: Method,
    /// Where the array is served.
    #[arg(long)]
    socket: PathBuf,
    /// Where the file goes.
    #[arg(long)]
    directory: PathBuf,
    /// What the file is called.
    #[arg(long)]
    name: String,
    /// Blocks of the device.
    #[arg(long)]
    logical_block_bytes: u32,
    /// After so long a request fails that nobody answered.
    #[arg(long)]
    deadline_s: u64,
    /// A device whose front was killed.
    #[arg(long)]
    recovered: Option<PathBuf>,
    /// What the server promised to that front.
    #[arg(long)]
    terms: Option<Terms>,
    /// Where it is written who keeps the device.
    #[arg(long)]
    record: Option<PathBuf>,
}

impl From<&FrontArgs> for Front {
    fn from(args: &FrontArgs) -> Self {
        Self {
            method: args.method,
            socket: args.socket.clone(),
            directory: args.directory.clone(),
            name: args.name.clone(),
            logical_block_bytes: args.logical_block_bytes,
            deadline_s: args.deadline_s,
            recovered: args.recovered.clone(),
            terms: args.terms.clone(),
            record: args.record.clone(),
        }
    }
}

/// `shoal background`
#[derive(Args, Debug)]
pub(crate) struct BackgroundArgs {
    /// The arguments.
    #[arg(required = true, last = true)]
    pub(crate) arguments: Vec<OsString>,
}

/// `shoal successor`
#[derive(Args, Debug)]
pub(crate) struct SuccessorArgs {
    /// Number of the process that is to be followed.
    pub(crate) front: u32,
    /// The arguments that it is followed with.
    #[arg(required = true, last = true)]
    pub(crate) arguments: Vec<OsString>,
}

/// Takes a method by its word; the help says what each is.
fn method_parser() -> impl TypedValueParser<Value = Method> {
    let help = |method| match method {
        Method::Ublk => "The kernel's ublk driver: a block device",
        Method::Nbd => "The kernel's nbd driver: a block device",
        Method::Fuse => "A file of a FUSE file system; a loop device over it where a block device is asked for",
    };
    let value = |method: Method| PossibleValue::new(method.word()).help(help(method));
    PossibleValuesParser::new(Method::ALL.map(value)).try_map(|word| word.parse::<Method>())
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<u64>() {
        Ok(seconds @ 1..) => Ok(Duration::from_secs(seconds)),
        _ => Err("seconds, 1 or more".to_owned()),
    }
}
