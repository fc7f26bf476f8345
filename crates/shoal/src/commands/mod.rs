//! What the commands do, one file each.

mod add;
mod alert;
mod attach;
mod bench;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod create;
mod demo;
pub(crate) mod drives;
mod examine;
mod fail;
mod format;
mod generate;
mod grow;
pub(crate) mod list;
pub(crate) mod log;
mod mount;
pub(crate) mod network;
mod plan;
pub(crate) mod profile;
mod rebuild;
pub(crate) mod recover;
mod rename;
pub(crate) mod replay;
mod run;
mod scrub;
mod serve;
mod service;
pub(crate) mod share;
pub(crate) mod show;
mod sim;
mod status;
mod study;
mod transfer;
pub(crate) mod trend;
mod trust;
pub(crate) mod wipe;

use crate::args::{Cli, Command};
use crate::attaching::{leave_session, run_front, wait_to_follow};
use crate::exit::Failure;
use crate::named::find_by_name;

/// Does what was asked. A parity kernel that is not there is told even where none is needed: a
/// mistake worth knowing of.
pub(crate) fn run(cli: &mut Cli) -> Result<(), Failure> {
    cli.parity()?;
    let found = find_by_name(&mut cli.command);
    match &cli.command {
        Command::Status(args) if args.test => status::test(cli, args, found),
        command => found.and_then(|()| carry_out(cli, command)),
    }
}

fn carry_out(cli: &Cli, command: &Command) -> Result<(), Failure> {
    match command {
        Command::Demo(args) => demo::run(cli, args),
        Command::Drives(args) => drives::run(cli, args),
        Command::Study(args) => study::run(cli, args),
        Command::Plan(args) => plan::run(cli, args),
        Command::Check(args) => check::run(cli, args),
        Command::Profile(args) => profile::run(cli, args),
        Command::Bench(args) => bench::run(cli, args),
        Command::Log(args) => log::run(cli, args),
        Command::Show(args) => show::run(cli, args),
        Command::Compare(args) => compare::run(cli, args),
        Command::Trend(args) => trend::run(cli, args),
        Command::Replay(args) => replay::run(cli, args),
        Command::Create(args) => create::run(cli, args),
        Command::Examine(args) => examine::run(cli, args),
        Command::List(args) => list::run(cli, args),
        Command::Status(args) => status::run(cli, args),
        Command::Read(args) => transfer::read(cli, args),
        Command::Write(args) => transfer::write(cli, args),
        Command::Fail(args) => fail::run(cli, args),
        Command::Add(args) => add::run(cli, args),
        Command::ReAdd(args) => add::again(cli, args),
        Command::Replace(args) => add::replace(cli, args),
        Command::Remove(args) => fail::remove(cli, args),
        Command::Recover(args) => recover::run(cli, args),
        Command::Grow(args) => grow::run(cli, args),
        Command::Rebuild(args) => rebuild::run(cli, args),
        Command::Scrub(args) => scrub::run(cli, args),
        Command::Run(args) => run::run(cli, args),
        Command::Serve(args) => serve::run(cli, args),
        Command::Network(args) => network::run(cli, args),
        Command::Format(args) => format::run(cli, args),
        Command::Mount(args) => mount::run(cli, args),
        Command::Unmount(args) => mount::unmount(cli, args),
        Command::Attach(args) => attach::run(cli, args),
        Command::Detach(args) => attach::undo(cli, args),
        Command::Front(args) => run_front(cli, &args.into()),
        Command::Successor(args) => wait_to_follow(cli, args.front, &args.arguments),
        Command::Background(args) => leave_session(&args.arguments),
        Command::Alert(args) => alert::run(cli, args),
        Command::HotPlug(args) => service::hot_plug(cli, args),
        Command::Service(args) => service::run(cli, args),
        Command::Trust(args) => trust::run(cli, args),
        Command::Share(args) => share::share(cli, args),
        Command::Unshare(args) => share::unshare(cli, args),
        Command::Wipe(args) => wipe::run(cli, args),
        Command::Rename(args) => rename::run(cli, args),
        Command::Stop(args) => run::stop(cli, args),
        Command::Speed(args) => run::set_speed(cli, args),
        Command::Sim(args) => sim::run(cli, args),
        Command::Man { directory } => generate::man_pages(cli, directory),
        Command::Completions { shell } => generate::completions(cli, *shell),
        Command::Schemas { directory } => generate::schemas(cli, directory),
    }
}
