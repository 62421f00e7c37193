//! One call: resolve, check, connect, ask, read.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, HOST, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use url::{Host, Url};

use crate::Reach;

/// No head of an answer needs more.
const HEAD: usize = 32 * 1024;

/// How long one address has to take the connection before the next is tried.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// Beyond this, a wish to be left alone is no longer obeyed to the letter.
const LONGEST_REST: Duration = Duration::from_secs(3600);

/// Calls the outside.
#[derive(Clone)]
pub struct Outward {
    reach: Reach,
    tls: TlsConnector,
}

/// A call.
#[derive(Debug)]
pub struct Call<'a> {
    /// The method.
    pub method: Method,
    /// Where to.
    pub url: &'a Url,
    /// What is said about the body. `Host` and `Connection` are ours.
    pub headers: HeaderMap,
    /// What is said.
    pub body: Bytes,
    /// How long everything may take: resolving, connecting, sending, and reading the answer to its end.
    pub within: Duration,
    /// How much of the answer's body is read.
    pub at_most: usize,
}

/// What was answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status. A redirect is an answer like any other.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, or its start.
    pub body: Bytes,
    /// Whether there was more of it.
    pub cut: bool,
}

impl Answer {
    /// How long whoever answered wants to be left alone, if they say it in seconds.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds = self.headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
        Some(Duration::from_secs(seconds).min(LONGEST_REST))
    }
}

/// Why there is no answer. The words name the host and no more of the address: the rest may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each says what it is")]
pub enum CallError {
    #[error("the address cannot be called: {0}")]
    BadUrl(&'static str),
    #[error("{host} is at {address}, which is not public; name its network among those that may be called")]
    NotPublic { host: String, address: std::net::IpAddr },
    #[error("{host} is public and is not called without TLS; use https")]
    NotSecret { host: String },
    #[error("the name {host} could not be resolved")]
    Unresolved { host: String },
    #[error("{host} cannot be reached")]
    Unreachable { host: String },
    #[error("{host} cannot be trusted: {why}")]
    Untrusted { host: String, why: String },
    #[error("the connection to {host} broke")]
    Broken { host: String },
    #[error("{host} took too long")]
    TooSlow { host: String },
}

impl CallError {
    /// Whether it would end the same way, however often it is tried.
    #[must_use]
    pub fn is_lasting(&self) -> bool {
        match self {
            Self::BadUrl(_) | Self::NotPublic { .. } | Self::NotSecret { .. } => true,
            Self::Unresolved { .. }
            | Self::Unreachable { .. }
            | Self::Untrusted { .. }
            | Self::Broken { .. }
            | Self::TooSlow { .. } => false,
        }
    }
}

/// A connection on which nothing has been said yet.
enum Line {
    Open(TcpStream),
    Secret(Box<TlsStream<TcpStream>>),
}

/// The certificates that an operator gave are none.
#[derive(Debug, thiserror::Error)]
#[error("no certificate can be read there")]
pub struct NoCertificateError;

impl Outward {
    /// Calls what may be reached, and believes whom browsers believe.
    #[must_use]
    pub fn new(reach: Reach) -> Self {
        Self::with_roots(reach, RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() })
    }

    /// The same, and also believes these authorities (PEM), such as a company's own.
    ///
    /// # Errors
    /// If none can be read.
    pub fn trusting(reach: Reach, pem: &[u8]) -> Result<Self, NoCertificateError> {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        let public = roots.len();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            roots.add(certificate.map_err(|_| NoCertificateError)?).map_err(|_| NoCertificateError)?;
        }
        if roots.len() == public { Err(NoCertificateError) } else { Ok(Self::with_roots(reach, roots)) }
    }

    #[expect(
        clippy::expect_used,
        reason = "the provider speaks the versions that it was built with; every test calls this"
    )]
    fn with_roots(reach: Reach, roots: RootCertStore) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider knows them")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Self { reach, tls: TlsConnector::from(Arc::new(config)) }
    }

    /// Makes a call.
    ///
    /// # Errors
    /// If there is no answer. Nobody then knows whether the call was heard, unless the error is a lasting one.
    pub async fn call(&self, call: Call<'_>) -> Result<Answer, CallError> {
        let target = Target::of(call.url)?;
        let until = Instant::now() + call.within;
        // Until there is a line nobody has heard anything, however long it took: that is not the same as no answer.
        let line = timeout_at(until, self.line(&target)).await;
        let line = line.unwrap_or_else(|_| Err(CallError::Unreachable { host: target.name.clone() }))?;
        let request = request(&call, &target)?;
        let answer = match line {
            Line::Open(stream) => timeout_at(until, converse(stream, request, call.at_most, &target)).await,
            Line::Secret(stream) => {
                timeout_at(until, converse(*stream, request, call.at_most, &target)).await
            }
        };
        answer.unwrap_or_else(|_| Err(CallError::TooSlow { host: target.name }))
    }

    /// A connection to whoever may be called.
    async fn line(&self, target: &Target) -> Result<Line, CallError> {
        let addresses = target.resolve().await?;
        self.check(target, &addresses)?;
        let stream = target.connect(&addresses).await?;
        if !target.secret {
            return Ok(Line::Open(stream));
        }
        let stream = self
            .tls
            .connect(target.server_name()?, stream)
            .await
            .map_err(|error| CallError::Untrusted { host: target.name.clone(), why: error.to_string() })?;
        Ok(Line::Secret(Box::new(stream)))
    }

    /// One address that may not be called is reason enough: whoever gives a name two kinds of address wants us to
    /// reach the other one next time.
    fn check(&self, target: &Target, addresses: &[SocketAddr]) -> Result<(), CallError> {
        let host = || target.name.clone();
        for address in addresses.iter().map(SocketAddr::ip) {
            if !self.reach.admits(address) {
                return Err(CallError::NotPublic { host: host(), address });
            }
            if !target.secret && !self.reach.names(address) {
                return Err(CallError::NotSecret { host: host() });
            }
        }
        Ok(())
    }
}

/// Where a call goes.
struct Target {
    host: Host<String>,
    name: String,
    port: u16,
    secret: bool,
}

impl Target {
    fn of(url: &Url) -> Result<Self, CallError> {
        let secret = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(CallError::BadUrl("it is neither https nor http")),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(CallError::BadUrl("it has a user name in it"));
        }
        // The parser has turned every spelling of an IPv4 address (127.1, 0x7f000001) into the address.
        let host = url.host().ok_or(CallError::BadUrl("it has no host"))?.to_owned();
        let port = url.port_or_known_default().ok_or(CallError::BadUrl("it has no port"))?;
        Ok(Self { name: host.to_string(), host, port, secret })
    }

    async fn resolve(&self) -> Result<Vec<SocketAddr>, CallError> {
        let unresolved = || CallError::Unresolved { host: self.name.clone() };
        let addresses: Vec<SocketAddr> = match &self.host {
            Host::Ipv4(address) => vec![SocketAddr::from((*address, self.port))],
            Host::Ipv6(address) => vec![SocketAddr::from((*address, self.port))],
            Host::Domain(name) => {
                tokio::net::lookup_host((name.as_str(), self.port)).await.map_err(|_| unresolved())?.collect()
            }
        };
        if addresses.is_empty() { Err(unresolved()) } else { Ok(addresses) }
    }

    async fn connect(&self, addresses: &[SocketAddr]) -> Result<TcpStream, CallError> {
        for address in addresses {
            if let Ok(Ok(stream)) = tokio::time::timeout(CONNECT_WITHIN, TcpStream::connect(address)).await {
                // Calls are small and wanted now: waiting to fill a packet only delays them.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
        }
        Err(CallError::Unreachable { host: self.name.clone() })
    }

    fn server_name(&self) -> Result<ServerName<'static>, CallError> {
        match &self.host {
            Host::Domain(name) => {
                ServerName::try_from(name.clone()).map_err(|_| CallError::BadUrl("its host is no name"))
            }
            Host::Ipv4(address) => Ok(ServerName::from(std::net::IpAddr::V4(*address))),
            Host::Ipv6(address) => Ok(ServerName::from(std::net::IpAddr::V6(*address))),
        }
    }
}

fn request(call: &Call<'_>, target: &Target) -> Result<Request<Full<Bytes>>, CallError> {
    let path = match call.url.query() {
        Some(query) => format!("{}?{query}", call.url.path()),
        None => call.url.path().to_owned(),
    };
    let host = match call.url.port() {
        Some(port) => format!("{}:{port}", target.name),
        None => target.name.clone(),
    };
    let bad = |_| CallError::BadUrl("it cannot be put into a request");
    let mut request = Request::new(Full::new(call.body.clone()));
    *request.method_mut() = call.method.clone();
    *request.uri_mut() =
        path.parse().map_err(|_| CallError::BadUrl("its path cannot be put into a request"))?;
    *request.headers_mut() = call.headers.clone();
    let headers = request.headers_mut();
    headers.insert(HOST, HeaderValue::from_str(&host).map_err(bad)?);
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    headers
        .entry(USER_AGENT)
        .or_insert(HeaderValue::from_static(concat!("banksman/", env!("CARGO_PKG_VERSION"))));
    Ok(request)
}

async fn converse<S>(
    stream: S,
    request: Request<Full<Bytes>>,
    at_most: usize,
    target: &Target,
) -> Result<Answer, CallError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let broken = || CallError::Broken { host: target.name.clone() };
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(HEAD)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|_| broken())?;
    // Ends with this function, however that ends: nobody keeps us on the line.
    let mut line = JoinSet::new();
    line.spawn(connection);
    let response = sender.send_request(request).await.map_err(|_| broken())?;
    let (head, body) = response.into_parts();
    let (body, cut) = start_of(body, at_most).await.map_err(|_| broken())?;
    Ok(Answer { status: head.status, headers: head.headers, body, cut })
}

/// The body up to a limit, and whether there was more.
async fn start_of(mut body: Incoming, at_most: usize) -> Result<(Bytes, bool), hyper::Error> {
    let mut read = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        let room = at_most.saturating_sub(read.len());
        read.extend(data.iter().take(room));
        if data.len() > room {
            return Ok((read.into(), true));
        }
    }
    Ok((read.into(), false))
}
