//! Progress bars on standard error, and stopping at Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use shoal_volume::{ArrayVolume, News, RealWorld};

use crate::args::Cli;
use crate::exit::Failure;

/// A flag that Ctrl-C and a polite kill set. A second Ctrl-C ends the process at once.
pub(crate) fn interrupt_flag() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let register = || {
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag))?;
            signal_hook::flag::register(signal, Arc::clone(&flag))
        };
        register().map_err(|error| Failure::Failed(format!("signal handler: {error}")))?;
    }
    Ok(flag)
}

/// A bar over bytes; hidden with `--quiet`, `--json`, or where standard error is no terminal.
pub(crate) fn bytes_bar(cli: &Cli, total_bytes: u64, what: &'static str) -> ProgressBar {
    if cli.quiet || cli.json {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(
        "{msg:>10} [{wide_bar}] {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec} {eta} left",
    );
    let bar = ProgressBar::new(total_bytes).with_message(what);
    bar.set_style(style.expect("the template is right"));
    bar
}

/// A bar over thousandths of something named; hidden as [`bytes_bar`] is.
pub(crate) fn per_mille_bar(cli: &Cli, name: &str) -> ProgressBar {
    if cli.quiet || cli.json {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg:>10} [{wide_bar}] {percent} % {eta} left");
    let bar = ProgressBar::new(1000).with_message(name.to_owned());
    bar.set_style(style.expect("the template is right"));
    bar
}

/// What came of background work.
pub(crate) struct BackgroundRun {
    /// Whether it was stopped before its end.
    interrupted: bool,
}

impl BackgroundRun {
    /// A failure that says how to go on, if the work was stopped.
    pub(crate) fn finished_or(&self, mend: &str) -> Result<(), Failure> {
        if self.interrupted { Err(Failure::Failed(format!("stopped before the end: {mend}"))) } else { Ok(()) }
    }
}

/// A bar for a whole study, in thousandths; its message says what is left and what is going on.
pub(crate) fn study_bar(cli: &Cli) -> ProgressBar {
    if cli.quiet || cli.json {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("[{bar:30}] {percent:>3} % {wide_msg}");
    let bar = ProgressBar::new(1000);
    bar.set_style(style.expect("the template is right"));
    bar
}

/// Runs rebuilds and scrubs to their end, or until Ctrl-C, which leaves them to be taken up again. What happens
/// meanwhile goes to `listen` as it happens: a resync of a large array tells of every stripe.
pub(crate) fn run_background(
    cli: &Cli,
    array: &mut ArrayVolume<RealWorld>,
    what: &'static str,
    listen: &mut dyn FnMut(News),
) -> Result<BackgroundRun, Failure> {
    let signalled = interrupt_flag()?;
    let bar = bytes_bar(cli, array.progress().map_or(0, |progress| progress.total_bytes), what);
    let mut more = true;
    let mut interrupted = false;
    while more && !interrupted {
        more = array.run_background(Duration::from_millis(100)).map_err(Failure::failed)?;
        if let Some(progress) = array.progress() {
            bar.set_length(progress.total_bytes);
            bar.set_position(progress.done_bytes);
        }
        array.take_news().into_iter().for_each(&mut *listen);
        interrupted = more && signalled.load(Ordering::Relaxed);
    }
    bar.finish_and_clear();
    Ok(BackgroundRun { interrupted })
}
