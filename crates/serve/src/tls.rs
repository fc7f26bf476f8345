//! Certificates, as nbdkit keeps them: a directory with `ca-cert.pem`, `server-cert.pem` and `server-key.pem`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

/// Where certificates are, and whether clients have to show theirs.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The directory.
    pub directory: PathBuf,
    /// Only clients with a certificate that `ca-cert.pem` vouches for are let in.
    pub verify_peer: bool,
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
        problem: pem::Error,
    },
    /// The files do not go together.
    #[error("the certificates in {}: {problem}", directory.display())]
    Unusable {
        /// The directory.
        directory: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

impl TlsFiles {
    /// Reads the certificates.
    pub fn load(&self) -> Result<Arc<ServerConfig>, TlsError> {
        let unusable = |problem: String| TlsError::Unusable { directory: self.directory.clone(), problem };
        let certificates = certificates(&self.directory.join("server-cert.pem"), "the server's certificate")?;
        let path = self.directory.join("server-key.pem");
        let key = PrivateKeyDer::from_pem_file(&path).map_err(|problem| TlsError::File {
            path,
            what: "the server's private key",
            problem,
        })?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
        let builder = versions.map_err(|error| unusable(error.to_string()))?;
        let builder = if self.verify_peer {
            let mut roots = RootCertStore::empty();
            for root in self::certificates(&self.directory.join("ca-cert.pem"), "the authority's certificate")? {
                roots.add(root).map_err(|error| unusable(error.to_string()))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.map_err(|error| unusable(error.to_string()))?)
        } else {
            builder.with_no_client_auth()
        };
        Ok(Arc::new(builder.with_single_cert(certificates, key).map_err(|error| unusable(error.to_string()))?))
    }
}

fn certificates(path: &Path, what: &'static str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let problem = |problem| TlsError::File { path: path.to_owned(), what, problem };
    let all = CertificateDer::pem_file_iter(path).map_err(problem)?.collect::<Result<Vec<_>, _>>().map_err(problem)?;
    if all.is_empty() { Err(problem(pem::Error::NoItemsFound)) } else { Ok(all) }
}
