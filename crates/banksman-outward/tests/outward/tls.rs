//! Whom we believe.

use std::sync::Arc;

use banksman_outward::{CallError, Outward, Reach};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::call;

/// A service with a certificate for a name; gives its port and the certificate.
async fn service(name: &str) -> (u16, String) {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut head = [0; 1024];
            if stream.read(&mut head).await.is_ok() {
                let _ = stream.write_all(b"HTTP/1.1 204 Said\r\nconnection: close\r\n\r\n").await;
                let _ = stream.shutdown().await;
            }
        }
    });
    (port, made.cert.pem())
}

fn reach() -> Reach {
    Reach::and(vec!["127.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()])
}

#[tokio::test]
async fn only_whom_an_authority_vouches_for_is_believed() {
    let (port, pem) = service("localhost").await;
    let url = format!("https://localhost:{port}/");
    let ours = Outward::trusting(reach(), pem.as_bytes()).unwrap();
    assert_eq!(call(&ours, &url).await.unwrap().status.as_u16(), 204);
    let error = call(&Outward::new(reach()), &url).await.unwrap_err();
    assert!(matches!(error, CallError::Untrusted { .. }), "{error}");
}

#[tokio::test]
async fn a_certificate_for_another_name_is_none() {
    let (port, pem) = service("other.example").await;
    let ours = Outward::trusting(reach(), pem.as_bytes()).unwrap();
    let error = call(&ours, &format!("https://localhost:{port}/")).await.unwrap_err();
    assert!(matches!(error, CallError::Untrusted { .. }), "{error}");
}

/// Nothing was said to it, so nothing can have been heard: unlike where no answer comes.
#[tokio::test]
async fn a_service_that_never_becomes_secret_was_not_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let silent = tokio::spawn(async move {
        let mut lines = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            lines.push(stream);
        }
    });
    let error = call(&Outward::new(reach()), &format!("https://127.0.0.1:{port}/")).await.unwrap_err();
    assert!(matches!(error, CallError::Unreachable { .. }), "{error}");
    silent.abort();
}

#[test]
fn a_file_without_certificates_is_refused() {
    assert!(Outward::trusting(Reach::public(), b"nothing").is_err());
    assert!(Outward::trusting(Reach::public(), b"").is_err());
}
