//! TLS with certificates from files.

use std::{io::Read as _, sync::Arc};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, ServerName, pem::PemObject as _},
    },
};

use crate::client::{Server, command};

const CERTIFICATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serve/certificate/certificate.pem");
const KEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serve/certificate/key.pem");
const OTHER_KEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serve/certificate/other-key.pem");

#[tokio::test]
async fn requests_are_served_over_tls_and_nothing_else() {
    let server = Server::start(&["--tls-cert", CERTIFICATE, "--tls-key", KEY]);
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(CERTIFICATE).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(server.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    let request = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("ok\n"), "{answer}");
    let mut plain = server.connect();
    plain.send(request);
    let mut answer = Vec::new();
    plain.stream.read_to_end(&mut answer).unwrap();
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
}

#[test]
fn files_that_do_not_belong_together_are_refused() {
    let root = tempfile::tempdir().unwrap();
    for (certificate, key) in
        [(CERTIFICATE, OTHER_KEY), (KEY, KEY), (CERTIFICATE, CERTIFICATE), (CERTIFICATE, "/nowhere")]
    {
        let mut serve = command();
        serve.args(["serve", "--listen", "127.0.0.1:0", "--tls-cert", certificate, "--tls-key", key, "--root"]);
        let ended = serve.arg(root.path()).output().unwrap();
        assert_eq!(ended.status.code(), Some(1), "{certificate} {key}");
        assert!(ended.stdout.is_empty(), "{certificate} {key}");
    }
}
