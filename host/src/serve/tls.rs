//! TLS, with certificates from files.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
        version::{TLS12, TLS13},
    },
};

use crate::error::{Error, ErrorKind, Result};

/// Where certificate and key are.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate and those that vouch for it, as PEM, its own first.
    pub certificates: PathBuf,
    /// Its private key, as PEM.
    pub key: PathBuf,
}

impl TlsFiles {
    /// Errors: `not-configured` if the files cannot be read or do not belong together.
    pub(super) fn acceptor(&self) -> Result<TlsAcceptor> {
        let refuse =
            |path: &Path, why: String| Error::new(ErrorKind::NotConfigured, format!("{}: {why}", path.display()));
        let certificates = CertificateDer::pem_file_iter(&self.certificates)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| refuse(&self.certificates, error.to_string()))?;
        if certificates.is_empty() {
            return Err(refuse(&self.certificates, "there is no certificate in it".to_owned()));
        }
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|error| refuse(&self.key, error.to_string()))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&TLS13, &TLS12])
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, key))
            .map_err(|error| refuse(&self.key, error.to_string()))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}
