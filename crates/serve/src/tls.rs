//! TLS as nbdkit has it: certificates in a directory (`ca-cert.pem`, `server-cert.pem`,
//! `server-key.pem`), or a file of pre-shared keys, a line each of `USER:KEY` with the key in
//! hexadecimal, as `psktool` of GnuTLS writes it.
//!
//! TLS 1.3, and 1.2 with forward secrecy. With certificates a client may have to show one; with
//! keys it has to know one, and the server needs none of its own to be believed: whoever has not
//! the client's key cannot answer it.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use openssl::error::ErrorStack;
use openssl::ssl::{
    SslContext, SslContextBuilder, SslFiletype, SslMethod, SslMode, SslOptions, SslSessionCacheMode, SslVerifyMode,
    SslVersion,
};
use openssl::x509::X509;

use crate::limits::{KEY_BYTES_MAX, KEY_BYTES_MIN, KEY_FILE_BYTES_MAX, NAME_BYTES_MAX};

/// Ciphers of TLS 1.2 for certificates; those of 1.3 are all good.
const CIPHERS: &str = "ECDHE+AESGCM:ECDHE+CHACHA20";
/// The one with forward secrecy for pre-shared keys that needs no more than the keys.
const KEY_CIPHERS: &str = "ECDHE-PSK-CHACHA20-POLY1305";

/// The server's private key, in the directory of its certificates.
const SERVER_KEY: &str = "server-key.pem";
/// The permissions of those who are neither a file's owner nor of its group.
const OTHERS: u32 = 0o007;

/// What clients are told apart from strangers by.
#[derive(Clone, Debug)]
pub enum TlsFiles {
    /// Certificates.
    Certificates {
        /// The directory that they are in.
        directory: PathBuf,
        /// Who is let in.
        clients: Clients,
    },
    /// A file of pre-shared keys.
    Keys(PathBuf),
}

/// Who is let in by a server that shows a certificate. TLS alone tells the client who the server
/// is, and not the server who the client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clients {
    /// Who has a certificate that `ca-cert.pem` vouches for.
    Certified,
    /// Whoever reaches the address, which programs of this machine alone can.
    Local,
    /// Whoever reaches the address: strangers may write.
    Anybody,
}

/// Why there can be no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file is not there, or holds something else.
    #[error("{}: {problem}: TLS needs {what} there", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What should be in it.
        what: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// Whoever is on this machine can take a secret.
    #[error("{} can be read by every user of this machine: `chmod o-rwx` it, and make a new one if anybody else may have it", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
    },
    /// A line of a file of keys is none.
    #[error("{}, line {line}: {problem}: write USER:KEY, as `psktool -u USER -p FILE` does", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        problem: &'static str,
    },
    /// The library refuses.
    #[error("TLS with {}: {problem}", path.display())]
    Unusable {
        /// The directory, or file.
        path: PathBuf,
        /// What is wrong.
        problem: ErrorStack,
    },
}

impl TlsFiles {
    /// Whether somebody who shows nothing is kept out.
    pub(crate) fn keep_strangers_out(&self) -> bool {
        matches!(self, Self::Keys(_) | Self::Certificates { clients: Clients::Certified, .. })
    }

    /// Whether a server could use them.
    ///
    /// # Errors
    ///
    /// What is wrong with which of the files.
    pub fn check(&self) -> Result<(), TlsError> {
        self.load().map(drop)
    }

    /// Reads the files.
    pub(crate) fn load(&self) -> Result<SslContext, TlsError> {
        let (Self::Certificates { directory: path, .. } | Self::Keys(path)) = self;
        let unusable = |problem| TlsError::Unusable { path: path.clone(), problem };
        let mut context = builder().map_err(unusable)?;
        match self {
            Self::Certificates { directory, clients } => {
                refuse_exposed(&directory.join(SERVER_KEY))?;
                context.set_cipher_list(CIPHERS).map_err(unusable)?;
                certify(&mut context, directory)?;
                if *clients == Clients::Certified {
                    demand_certificates(&mut context, directory)?;
                }
            }
            Self::Keys(path) => {
                refuse_exposed(path)?;
                let keys = keys(path)?;
                context.set_cipher_list(KEY_CIPHERS).map_err(unusable)?;
                context.set_psk_server_callback(move |_, name, key| Ok(keys.tell(name.unwrap_or_default(), key)));
            }
        }
        Ok(context.build())
    }
}

/// Refuses a secret that is open to every user. One that cannot be looked at is told by who reads
/// it.
fn refuse_exposed(secret: &Path) -> Result<(), TlsError> {
    let is_exposed = std::fs::metadata(secret).is_ok_and(|facts| facts.permissions().mode() & OTHERS != 0);
    if is_exposed { Err(TlsError::Exposed { path: secret.to_owned() }) } else { Ok(()) }
}

/// What both have in common. Sessions are not resumed: each client shows who it is.
fn builder() -> Result<SslContextBuilder, ErrorStack> {
    let mut context = SslContext::builder(SslMethod::tls_server())?;
    context.set_min_proto_version(Some(SslVersion::TLS1_2))?;
    context.set_options(SslOptions::NO_TICKET | SslOptions::NO_RENEGOTIATION | SslOptions::NO_COMPRESSION);
    context.set_session_cache_mode(SslSessionCacheMode::OFF);
    // What a socket did not take is offered again from another place in memory, with more behind
    // it.
    context.set_mode(SslMode::ENABLE_PARTIAL_WRITE | SslMode::ACCEPT_MOVING_WRITE_BUFFER);
    context.set_num_tickets(0)?;
    Ok(context)
}

/// Shows clients the server's certificate.
fn certify(context: &mut SslContextBuilder, directory: &Path) -> Result<(), TlsError> {
    let file = |name: &str, what| {
        let path = directory.join(name);
        move |problem: ErrorStack| TlsError::File { path, what, problem: first(&problem) }
    };
    let (certificate, key) = (directory.join("server-cert.pem"), directory.join(SERVER_KEY));
    let wrong_certificate = file("server-cert.pem", "the server's certificate");
    context.set_certificate_chain_file(certificate).map_err(wrong_certificate)?;
    let wrong_key = file(SERVER_KEY, "the server's private key");
    context.set_private_key_file(key, SslFiletype::PEM).map_err(wrong_key)?;
    context.check_private_key().map_err(file(SERVER_KEY, "the private key of the server's certificate"))
}

/// Lets only clients in that the authority vouches for.
fn demand_certificates(context: &mut SslContextBuilder, directory: &Path) -> Result<(), TlsError> {
    let path = directory.join("ca-cert.pem");
    let wrong = |problem: String| TlsError::File { path: path.clone(), what: "the authority's certificate", problem };
    let bytes = std::fs::read(&path).map_err(|error| wrong(error.to_string()))?;
    let authorities = X509::stack_from_pem(&bytes).map_err(|problem| wrong(first(&problem)))?;
    if authorities.is_empty() {
        return Err(wrong("there is no certificate".to_owned()));
    }
    context.set_ca_file(&path).map_err(|problem| wrong(first(&problem)))?;
    for authority in &authorities {
        context.add_client_ca(authority).map_err(|problem| wrong(first(&problem)))?;
    }
    context.set_verify(SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT);
    Ok(())
}

/// What went wrong first, in a few words.
fn first(problem: &ErrorStack) -> String {
    let error = problem.errors().first();
    // What the system said is in the error's data: `calling fopen(...)`, and its number is the
    // reason.
    let reason = error.and_then(|error| error.reason()).unwrap_or("nothing that can be read");
    reason.to_lowercase()
}

/// Keys by their users' names.
struct Keys(HashMap<Vec<u8>, Vec<u8>>);

impl Keys {
    /// Puts a user's key into `key`; how long it is, or 0 for a stranger.
    fn tell(&self, name: &[u8], key: &mut [u8]) -> usize {
        let Some(known) = self.0.get(name).filter(|known| known.len() <= key.len()) else { return 0 };
        key[..known.len()].copy_from_slice(known);
        known.len()
    }
}

fn keys(path: &Path) -> Result<Keys, TlsError> {
    const WHAT: &str = "pre-shared keys";
    let wrong = |problem: String| TlsError::File { path: path.to_owned(), what: WHAT, problem };
    let size_bytes = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?.len();
    if size_bytes > KEY_FILE_BYTES_MAX {
        return Err(wrong(format!("{size_bytes} bytes are too many")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let mut keys = HashMap::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |problem| TlsError::Key { path: path.to_owned(), line: number + 1, problem };
        let (name, key) = user_and_key(line.trim()).map_err(wrong)?;
        if keys.insert(name, key).is_some() {
            return Err(wrong("this user has a key already"));
        }
    }
    if keys.is_empty() { Err(wrong("there is no key".to_owned())) } else { Ok(Keys(keys)) }
}

fn user_and_key(line: &str) -> Result<(Vec<u8>, Vec<u8>), &'static str> {
    let (name, key) = line.rsplit_once(':').ok_or("there is no colon")?;
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        return Err("a user's name has 1 to 128 bytes");
    }
    let digits: Option<Vec<u8>> = key.chars().map(|digit| Some(digit.to_digit(16)? as u8)).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2)).ok_or("the key is not hexadecimal")?;
    let key: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    match key.len() {
        KEY_BYTES_MIN..=KEY_BYTES_MAX => Ok((name.as_bytes().to_vec(), key)),
        _ => Err("a key has 16 to 256 bytes"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;

    #[test]
    fn a_secret_that_every_user_can_read_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (mode, is_refused) in [(0o600, false), (0o640, false), (0o644, true), (0o604, true)] {
            std::fs::set_permissions(file.path(), Permissions::from_mode(mode)).unwrap();
            let refused = matches!(refuse_exposed(file.path()), Err(TlsError::Exposed { .. }));
            assert_eq!(refused, is_refused, "{mode:o}");
        }
        assert!(refuse_exposed(Path::new("/nowhere")).is_ok());
    }

    #[test]
    fn keys_are_read_as_psktool_writes_them() {
        let key = "00112233445566778899aabbccddeeFF";
        let bytes: Vec<u8> = (0..16).map(|digit| digit * 17).collect();
        assert_eq!(user_and_key(&format!("alice:{key}")), Ok((b"alice".to_vec(), bytes.clone())));
        assert_eq!(user_and_key(&format!("al:ice:{key}")), Ok((b"al:ice".to_vec(), bytes.clone())));
        for line in
            ["alice", "alice:", "alice:001", "alice:zz", "alice:0011", &format!(":{key}"), &format!("a:{key}\u{e9}")]
        {
            assert!(user_and_key(line).is_err(), "{line}");
        }
        assert!(user_and_key(&format!("a:{}", "00".repeat(257))).is_err());
        let keys = Keys(HashMap::from([(b"alice".to_vec(), bytes.clone())]));
        let mut room = [9; 20];
        assert_eq!((keys.tell(b"alice", &mut room), &room[..16]), (16, &bytes[..]));
        assert_eq!((keys.tell(b"bob", &mut room), keys.tell(b"alice", &mut [0; 8])), (0, 0));
    }
}
