//! Who is told, and how: a small file, since addresses may be secrets and arguments can be read by
//! everybody.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;

use super::kind::Severity;

/// The file's content.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    /// Messages that each way out sends in an hour at most.
    #[serde(default = "default_messages_per_hour")]
    pub messages_per_hour: usize,
    /// What is less severe is not sent.
    #[serde(default = "default_least")]
    pub least: Severity,
    /// Mail, through the machine's own sendmail.
    pub mail: Option<MailConfiguration>,
    /// Addresses to which messages are posted as JSON.
    #[serde(default, rename = "webhook")]
    pub webhooks: Vec<WebhookConfiguration>,
    /// Programs that are run.
    #[serde(default, rename = "command")]
    pub commands: Vec<CommandConfiguration>,
}

/// Mail.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MailConfiguration {
    /// Addresses, or users of this machine.
    pub to: Vec<String>,
    /// The sender's address; the mail system's choice if left out.
    pub from: Option<String>,
    /// A program that takes a mail on its standard input, as sendmail does: postfix, exim and msmtp
    /// bring one.
    #[serde(default = "default_sendmail")]
    pub program: PathBuf,
}

/// A webhook.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookConfiguration {
    /// By which it is known in the log, where its address is never printed.
    pub name: String,
    /// `https://...`, or `http://` in a local network.
    pub url: String,
    /// A file that nobody else can read, with the token that proves who sends:
    /// `Authorization: Bearer ...`.
    pub token_file: Option<PathBuf>,
    /// Certificates, as PEM, of those who vouch for the server; the system's if left out.
    pub ca_file: Option<PathBuf>,
}

/// An address may hold a secret.
impl std::fmt::Debug for WebhookConfiguration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookConfiguration").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A program.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandConfiguration {
    /// An absolute path.
    pub program: PathBuf,
    /// What it is given.
    #[serde(default)]
    pub arguments: Vec<String>,
}

fn default_messages_per_hour() -> usize {
    12
}

fn default_least() -> Severity {
    Severity::Notice
}

fn default_sendmail() -> PathBuf {
    PathBuf::from("/usr/sbin/sendmail")
}

/// Why there are no alerts.
#[derive(Debug, Error)]
pub enum ConfigurationError {
    /// The file, or one that it names, cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It makes no sense.
    #[error("{}: {problem}", path.display())]
    Content {
        /// Which.
        path: PathBuf,
        /// Why, in one line.
        problem: String,
    },
    /// It holds a secret, and others can read it.
    #[error("{} holds a secret and others can read it: chmod 600 it", path.display())]
    Open {
        /// Which.
        path: PathBuf,
    },
}

impl Configuration {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, ConfigurationError> {
        let failure = |source| ConfigurationError::Read { path: path.to_owned(), source };
        let text = std::fs::read_to_string(path).map_err(failure)?;
        let content = |problem| ConfigurationError::Content { path: path.to_owned(), problem };
        let configuration: Self = toml::from_str(&text).map_err(|error| content(in_one_line(&error, &text)))?;
        configuration.check().map_err(content)?;
        if !configuration.webhooks.is_empty() {
            refuse_open(path)?;
        }
        Ok(configuration)
    }

    fn check(&self) -> Result<(), String> {
        if self.mail.is_none() && self.webhooks.is_empty() && self.commands.is_empty() {
            return Err("nobody is told: add [mail], [[webhook]] or [[command]]".to_owned());
        }
        if self.messages_per_hour == 0 {
            return Err("messages_per_hour is 0: nothing would ever be sent".to_owned());
        }
        if let Some(mail) = &self.mail {
            let is_address = |it: &String| !it.is_empty() && !it.contains(|it: char| it.is_control() || it == ',');
            if mail.to.is_empty() || !mail.to.iter().chain(&mail.from).all(is_address) {
                return Err("[mail]: `to` and `from` are addresses, one a string".to_owned());
            }
        }
        let relative = self.commands.iter().find(|command| !command.program.is_absolute());
        if let Some(command) = relative {
            return Err(format!("[[command]]: {} is no absolute path", command.program.display()));
        }
        for (number, webhook) in self.webhooks.iter().enumerate() {
            if !webhook.url.starts_with("https://") && !webhook.url.starts_with("http://") {
                return Err(format!("[[webhook]] {}: its url is none of http or https", webhook.name));
            }
            if self.webhooks[..number].iter().any(|other| other.name == webhook.name) {
                return Err(format!("two webhooks are named {}", webhook.name));
            }
        }
        Ok(())
    }
}

/// Reads a file that holds a secret.
pub(super) fn read_secret(path: &Path) -> Result<String, ConfigurationError> {
    refuse_open(path)?;
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|source| ConfigurationError::Read { path: path.to_owned(), source })?;
    Ok(text.trim().to_owned())
}

fn refuse_open(path: &Path) -> Result<(), ConfigurationError> {
    let failure = |source| ConfigurationError::Read { path: path.to_owned(), source };
    let is_open = std::fs::metadata(path).map_err(failure)?.mode() & 0o077 != 0;
    if is_open { Err(ConfigurationError::Open { path: path.to_owned() }) } else { Ok(()) }
}

/// What is wrong, and where. Not the line itself, which may hold a secret.
fn in_one_line(error: &toml::de::Error, text: &str) -> String {
    let place = error.span().and_then(|span| text.get(..span.start)).map_or(0, |before| before.matches('\n').count());
    format!("line {}: {}", place + 1, error.message().lines().next().unwrap_or_default())
}
