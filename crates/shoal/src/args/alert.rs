//! Arguments of `shoal alert`.

use std::path::PathBuf;

use clap::Args;
use shoal_md::Uuid;

const AFTER_HELP: &str = r#"The file is TOML. At least one way out has to be there:

  messages_per_hour = 12        # of each way out; what comes meanwhile goes together into the next
  least = "notice"              # or "warning", or "critical": what is less severe is not sent

  [mail]                        # through the machine's own sendmail (postfix, exim, msmtp-mta)
  to = ["root", "me@example.org"]
  from = "shoal@example.org"    # may be left out

  [[webhook]]                   # posts JSON, as schemas/alert.json says; the file must be yours alone (0600)
  name = "home"
  url = "https://example.org/hook"
  token_file = "/etc/shoal/token"   # may be left out: Authorization: Bearer ...
  ca_file = "/etc/shoal/ca.pem"     # may be left out: the system's certificates

  [[command]]                   # the same JSON on its standard input; SHOAL_SUMMARY, SHOAL_SEVERITY, SHOAL_KIND,
  program = "/usr/local/bin/x"  # SHOAL_ARRAY, SHOAL_ARRAY_UUID, SHOAL_HEALTH and SHOAL_HOST in its environment
  arguments = []

An array tells of itself if it is run or served with --alerts FILE, as `shoal service install` arranges."#;

/// `shoal alert`
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct AlertArgs {
    /// Send a test over each way out, and say what came of it. Without this the file is only read.
    #[arg(long)]
    pub(crate) test: bool,
    /// Tell that nobody runs the array with this UUID any more, unless that is known: what a
    /// service does when its manager has given up.
    #[arg(long, value_name = "UUID", conflicts_with = "test")]
    pub(crate) gone: Option<Uuid>,
    /// Who is told, and how.
    #[arg(default_value = "/etc/shoal/alerts.toml", value_name = "FILE")]
    pub(crate) file: PathBuf,
}
