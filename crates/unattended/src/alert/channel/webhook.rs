//! An address to which messages are posted as JSON.

use ureq::Agent;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};

use super::super::configuration::{ConfigurationError, WebhookConfiguration, read_secret};
use super::super::kind::Message;
use super::{PATIENCE, SendError};

pub(in crate::alert) struct Webhook {
    pub(super) name: String,
    url: String,
    token: Option<String>,
    agent: Agent,
}

impl Webhook {
    pub(super) fn new(configuration: &WebhookConfiguration) -> Result<Self, ConfigurationError> {
        let token = configuration.token_file.as_deref().map(read_secret).transpose()?;
        let roots = match &configuration.ca_file {
            Some(path) => RootCerts::new_with_certs(&certificates(path)?),
            None => RootCerts::PlatformVerifier,
        };
        let tls = TlsConfig::builder().provider(TlsProvider::NativeTls).root_certs(roots).build();
        // A redirection would take the message, and the token, to somewhere that nobody named.
        let agent = Agent::config_builder().timeout_global(Some(PATIENCE)).max_redirects(0).tls_config(tls);
        let agent = agent.http_status_as_error(false).user_agent("shoal").build().new_agent();
        Ok(Self { name: configuration.name.clone(), url: configuration.url.clone(), token, agent })
    }

    pub(super) fn send(&self, message: &Message) -> Result<(), SendError> {
        let mut request = self.agent.post(&self.url).header("Content-Type", "application/json");
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let answer = request.send(serde_json::to_vec(message)?.as_slice());
        let status = answer.map_err(|error| SendError::Reach { problem: self.problem(&error) })?.status();
        if status.is_success() { Ok(()) } else { Err(SendError::Answer { status: status.as_u16() }) }
    }

    /// What went wrong, without the address, which some errors repeat. What OpenSSL says of a
    /// certificate begins with where in its source that was found, and ends with what is wrong.
    fn problem(&self, error: &ureq::Error) -> String {
        let said = error.to_string().replace(&self.url, "the address");
        match said.rsplit_once(" (") {
            Some((_, reason)) if said.contains("certificate verify failed") => {
                format!("the server's certificate is not trusted: {}", reason.trim_end_matches(')'))
            }
            _ => said,
        }
    }
}

fn certificates(path: &std::path::Path) -> Result<Vec<Certificate<'static>>, ConfigurationError> {
    let bytes = std::fs::read(path).map_err(|source| ConfigurationError::Read { path: path.to_owned(), source })?;
    let items = parse_pem(&bytes).filter_map(Result::ok);
    let found = items.filter_map(|item| if let PemItem::Certificate(it) = item { Some(it) } else { None });
    let found: Vec<_> = found.collect();
    if found.is_empty() {
        let problem = "there is no certificate in it".to_owned();
        return Err(ConfigurationError::Content { path: path.to_owned(), problem });
    }
    Ok(found)
}
