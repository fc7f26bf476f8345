//! Progress bars on standard error, and stopping at Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use shoal_running::Handle;

use crate::args::Cli;
use crate::exit::Failure;

/// A flag that Ctrl-C and a polite kill set. A second Ctrl-C ends the process at once.
pub(crate) fn interrupt_flag() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
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

/// A bar over things that are counted; hidden as [`bytes_bar`] is.
pub(crate) fn count_bar(cli: &Cli, total: u64, what: &'static str) -> ProgressBar {
    if cli.quiet || cli.json {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg:>10} [{wide_bar}] {pos}/{len} {per_sec} {eta} left");
    let bar = ProgressBar::new(total).with_message(what);
    bar.set_style(style.expect("the template is right"));
    bar
}

/// What came of background work.
pub(crate) struct BackgroundRun {
    /// Whether it was stopped before its end.
    interrupted: bool,
    /// Whether it goes on all the same, where the array runs.
    goes_on: bool,
}

impl BackgroundRun {
    /// A failure that says how to go on, if the work was stopped.
    pub(crate) fn finished_or(&self, mend: &str) -> Result<(), Failure> {
        match (self.interrupted, self.goes_on) {
            (false, _) => Ok(()),
            (true, false) => Err(Failure::Failed(format!("stopped before the end: {mend}"))),
            (true, true) => Err(Failure::failed("not waited for: it goes on in the running array; see `shoal status`")),
        }
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

/// Lets resyncs, rebuilds and scrubs go on to their end, or until Ctrl-C. Where no process runs the
/// array, that leaves them to be taken up again; where one does, they go on there.
pub(crate) fn run_background(cli: &Cli, array: &mut dyn Handle, what: &'static str) -> Result<BackgroundRun, Failure> {
    let signalled = interrupt_flag()?;
    let bar = bytes_bar(cli, 0, what);
    let mut interrupted = false;
    while let Some(background) = array.wait(Duration::from_millis(100))?.background {
        bar.set_length(background.total_bytes);
        bar.set_position(background.done_bytes);
        interrupted = signalled.load(Ordering::Relaxed);
        if interrupted {
            break;
        }
    }
    bar.finish_and_clear();
    Ok(BackgroundRun { interrupted, goes_on: array.goes_on_by_itself() })
}
