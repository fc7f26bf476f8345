//! The ways out: mail, webhook, command. Each takes a whole message or says why not, within a
//! bounded time.

mod command;
mod mail;
mod webhook;

use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use super::configuration::{Configuration, ConfigurationError};
use super::kind::Message;

/// How long any of them may take over a message.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a message was not taken.
#[derive(Debug, Error)]
pub enum SendError {
    /// The program does not start.
    #[error("{} does not start: {source}", program.display())]
    Start {
        /// Which.
        program: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It says that it failed.
    #[error("{} ended with {status}", program.display())]
    Status {
        /// Which.
        program: PathBuf,
        /// How.
        status: std::process::ExitStatus,
    },
    /// It did not end.
    #[error("{} did not end within {} s, and was killed", program.display(), PATIENCE.as_secs())]
    Time {
        /// Which.
        program: PathBuf,
    },
    /// The server did not say yes.
    #[error("the server answers {status}")]
    Answer {
        /// HTTP's.
        status: u16,
    },
    /// There is no server, or no safe way to it.
    #[error("{problem}")]
    Reach {
        /// Why, without the address, which may be a secret.
        problem: String,
    },
    /// The message makes no JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// One way out.
pub(super) enum Channel {
    Mail(mail::Mail),
    Webhook(webhook::Webhook),
    Command(command::Program),
}

impl Channel {
    /// All ways out of a configuration. Files that it names are read now.
    pub(super) fn all(configuration: &Configuration) -> Result<Vec<Self>, ConfigurationError> {
        let mut channels = Vec::new();
        channels.extend(configuration.mail.clone().map(|mail| Self::Mail(mail::Mail(mail))));
        for webhook in &configuration.webhooks {
            channels.push(Self::Webhook(webhook::Webhook::new(webhook)?));
        }
        let commands = configuration.commands.iter().cloned();
        channels.extend(commands.map(|command| Self::Command(command::Program(command))));
        Ok(channels)
    }

    /// By which it is known in the log, and its alerts in the file.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Mail(mail) => format!("mail to {}", mail.0.to.join(", ")),
            Self::Webhook(webhook) => format!("webhook {}", webhook.name),
            Self::Command(program) => format!("command {}", program.0.program.display()),
        }
    }

    /// Sends a message.
    pub(super) fn send(&self, message: &Message) -> Result<(), SendError> {
        match self {
            Self::Mail(mail) => mail.send(message),
            Self::Webhook(webhook) => webhook.send(message),
            Self::Command(program) => program.send(message),
        }
    }
}
