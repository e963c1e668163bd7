//! TLS certificates of the server, and of the authorities whose certificates clients need.

use super::stream::Stream;
use super::tls_connection::TlsConnection;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, version};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of the file with the certificate of the server and the chain to its issuer.
const SERVER_CERTIFICATE: &str = "server-cert.pem";
/// Name of the file with the private key of the server's certificate.
const SERVER_KEY: &str = "server-key.pem";
/// Name of the file with the certificates of the authorities that issue client certificates.
const CLIENT_ISSUERS: &str = "ca-cert.pem";

/// TLS configuration of a server, read from PEM files with the same names as in QEMU and nbdkit.
#[derive(Clone, Debug)]
pub struct Certificates {
    config: Arc<ServerConfig>,
    requires_client_certificates: bool,
}

/// Reason why certificates cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct CertificateError {
    path: PathBuf,
    problem: String,
}

impl Certificates {
    /// Reads `server-cert.pem` and `server-key.pem` from a folder. If `ca-cert.pem` exists as well, clients need a certificate
    /// from that authority.
    ///
    /// # Errors
    /// Fails if a file is missing or invalid, or the key does not match the certificate.
    pub fn read(folder: &Path) -> Result<Self, CertificateError> {
        let server_chain = all_certificates(&folder.join(SERVER_CERTIFICATE))?;
        let path = folder.join(SERVER_KEY);
        let key = PrivateKeyDer::from_pem_file(&path).map_err(|error| CertificateError {
            problem: message(&error, "a private key"),
            path: path.clone(),
        })?;
        let provider = Arc::new(ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&version::TLS13])
            .expect("the provider has it");
        let issuers = folder.join(CLIENT_ISSUERS);
        let asks_clients = issuers.exists();
        let config = if asks_clients {
            let mut roots = RootCertStore::empty();
            let refused = |problem: String| CertificateError { path: issuers.clone(), problem };
            for certificate in all_certificates(&issuers)? {
                roots.add(certificate).map_err(|error| refused(error.to_string()))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider).build();
            config.with_client_cert_verifier(verifier.map_err(|error| refused(error.to_string()))?)
        } else {
            config.with_no_client_auth()
        };
        let config = config.with_single_cert(server_chain, key);
        let config = config.map_err(|error| CertificateError { path, problem: error.to_string() })?;
        Ok(Certificates { config: Arc::new(config), requires_client_certificates: asks_clients })
    }

    /// True if clients must have a certificate.
    pub fn requires_client_certificates(&self) -> bool {
        self.requires_client_certificates
    }

    /// Returns the server side of a TLS connection over `stream`.
    ///
    /// # Errors
    /// Fails if too many files are open.
    pub fn encrypt(&self, stream: &Stream) -> io::Result<TlsConnection> {
        TlsConnection::new(stream.try_clone()?, self.config.clone())
    }
}

/// Reads all certificates in a file, which must contain at least one.
fn all_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let found = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found =
        found.and_then(|found| if found.is_empty() { Err(pem::Error::NoItemsFound) } else { Ok(found) });
    found.map_err(|error| CertificateError { problem: message(&error, "a certificate"), path: path.into() })
}

/// Returns the error message for a file that should contain `content`.
fn message(error: &pem::Error, content: &str) -> String {
    match error {
        pem::Error::Io(error) if error.kind() == io::ErrorKind::NotFound => {
            format!(
                "it is not there; TLS needs {SERVER_CERTIFICATE} and {SERVER_KEY}, and {CLIENT_ISSUERS} where clients have to show a certificate"
            )
        }
        pem::Error::Io(error) => error.to_string(),
        pem::Error::NoItemsFound => {
            format!("there is no {content} in it", content = content.trim_start_matches("a "))
        }
        other => format!("it is not {content} in PEM: {other:?}"),
    }
}
