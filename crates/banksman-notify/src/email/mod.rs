//! Email: what is asked, and a link to the page where it is decided. No link decides: mail scanners follow links.

mod content;

use std::time::Duration;

use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart, SinglePart};
use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Certificate, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use tokio::time::timeout;

use crate::card::shown;
use crate::{Channel, Message, Purpose, Secret, SendError, Sent, Trouble};

/// How long one of a server's addresses may take to be there: if it is not, the next is tried.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// How long a server may take to hear that we leave.
const LEAVE_WITHIN: Duration = Duration::from_secs(2);

/// How long a mail server may take.
#[derive(Debug, Clone, Copy)]
pub struct MailPatience {
    /// Until it is ready for a mail: connected, secret, and knowing who we are.
    pub ready: Duration,
    /// And then until it has said yes to the mail. Many look through it first.
    pub taken: Duration,
}

impl Default for MailPatience {
    fn default() -> Self {
        Self { ready: Duration::from_secs(25), taken: Duration::from_secs(40) }
    }
}

/// How the line to the mail server is kept secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailSecurity {
    /// From the first byte (port 465).
    Tls,
    /// By STARTTLS, and not at all without it (port 587).
    StartTls,
    /// Not. Only to this machine.
    Plain,
}

/// A mail server, and who writes.
#[derive(Debug, Clone)]
pub struct EmailSettings {
    /// The server.
    pub host: String,
    /// Its port, if it is not the usual one.
    pub port: Option<u16>,
    /// How the line is kept secret.
    pub security: MailSecurity,
    /// Whom the server knows us as.
    pub login: Option<(String, Secret)>,
    /// Who writes, such as `Banksman <banksman@example.org>`.
    pub from: String,
    /// Authorities (PEM) to believe besides those that browsers believe.
    pub authorities: Option<Vec<u8>>,
}

/// Settings that cannot work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each says what it is")]
pub enum EmailSettingsError {
    #[error("{0:?} is no mail address")]
    From(String),
    #[error("mail goes without TLS only to this machine; use starttls or tls")]
    NotSecret,
    #[error("a password goes only over TLS")]
    PasswordInTheOpen,
    #[error("the authorities for the mail server cannot be read")]
    Authorities,
    #[error("{0:?} cannot be a mail server: {1}")]
    Host(String, String),
}

/// Sends mail.
pub struct Email {
    host: String,
    port: u16,
    line: Line,
    login: Option<Credentials>,
    from: Mailbox,
    patience: MailPatience,
}

/// How the line is made secret, and whom it is to lead to.
enum Line {
    Tls(TlsParameters),
    StartTls(TlsParameters),
    Plain,
}

impl Email {
    /// A channel by one mail server.
    ///
    /// # Errors
    /// If it cannot work as set.
    pub fn new(settings: EmailSettings) -> Result<Self, EmailSettingsError> {
        let EmailSettings { host, port, security, login, from, authorities } = settings;
        let from: Mailbox = from.parse().map_err(|_| EmailSettingsError::From(from.clone()))?;
        if security == MailSecurity::Plain {
            if !is_this_machine(&host) {
                return Err(EmailSettingsError::NotSecret);
            }
            if login.is_some() {
                return Err(EmailSettingsError::PasswordInTheOpen);
            }
        }
        let (usual_port, line) = match security {
            MailSecurity::Tls => (465, Line::Tls(tls(&host, authorities)?)),
            MailSecurity::StartTls => (587, Line::StartTls(tls(&host, authorities)?)),
            MailSecurity::Plain => (25, Line::Plain),
        };
        let login = login.map(|(name, password)| Credentials::new(name, password.reveal().to_owned()));
        let port = port.unwrap_or(usual_port);
        Ok(Self { host, port, line, login, from, patience: MailPatience::default() })
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_patience(self, patience: MailPatience) -> Self {
        Self { patience, ..self }
    }

    /// A server that is ready for a mail.
    async fn connect(&self) -> Result<AsyncSmtpConnection, SmtpError> {
        let (server, us) = ((self.host.as_str(), self.port), ClientId::default());
        let (at_once, later) = match &self.line {
            Line::Tls(tls) => (Some(tls.clone()), None),
            Line::StartTls(tls) => (None, Some(tls.clone())),
            Line::Plain => (None, None),
        };
        let mut connection =
            AsyncSmtpConnection::connect_tokio1(server, Some(CONNECT_WITHIN), &us, at_once, None).await?;
        if let Some(tls) = later {
            connection.starttls(tls, &us).await?;
        }
        if let Some(login) = &self.login {
            connection.auth(DEFAULT_MECHANISMS, login).await?;
        }
        Ok(connection)
    }

    fn mail(&self, message: &Message) -> Result<lettre::Message, String> {
        let to: Mailbox = message.to.address.parse().map_err(|_| "the address is none".to_owned())?;
        let about = message.cards.first().map(|card| card.action.to_string()).unwrap_or_default();
        // The same for every attempt, so that mail servers and readers can tell a repetition.
        let id = format!("<banksman.{}.{about}@{}>", message.id, self.from.email.domain());
        let mut builder = lettre::Message::builder()
            .from(self.from.clone())
            .to(to)
            .subject(content::subject(message))
            .message_id(Some(id))
            // Absences and lists do not answer what no person wrote.
            .raw_header(HeaderValue::new(
                HeaderName::new_from_ascii_str("Auto-Submitted"),
                "auto-generated".to_owned(),
            ));
        if let Some(earlier) = &message.earlier {
            builder = builder.in_reply_to(earlier.clone()).references(earlier.clone());
        }
        let plain = SinglePart::builder().header(ContentType::TEXT_PLAIN).body(content::plain(message));
        let html = SinglePart::builder().header(ContentType::TEXT_HTML).body(content::html(message));
        builder
            .multipart(MultiPart::alternative().singlepart(plain).singlepart(html))
            .map_err(|error| error.to_string())
    }
}

fn tls(host: &str, authorities: Option<Vec<u8>>) -> Result<TlsParameters, EmailSettingsError> {
    let mut builder = TlsParameters::builder(host.to_owned());
    if let Some(pem) = authorities {
        let authority = Certificate::from_pem(&pem).map_err(|_| EmailSettingsError::Authorities)?;
        builder = builder.add_root_certificate(authority);
    }
    builder.build_rustls().map_err(|error| EmailSettingsError::Host(host.to_owned(), error.to_string()))
}

fn is_this_machine(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
}

#[async_trait::async_trait]
impl Channel for Email {
    fn kind(&self) -> &'static str {
        "email"
    }

    fn tells_of_settlement(&self) -> bool {
        false
    }

    async fn send(&self, message: &Message) -> Result<Sent, SendError> {
        let mail = self.mail(message).map_err(|why| SendError::never(shown(&why, 200)))?;
        let id = mail.headers().get_raw("Message-ID").map(ToOwned::to_owned);
        let mut connection = match timeout(self.patience.ready, self.connect()).await {
            Ok(connected) => connected.map_err(|error| failed(&error, Trouble::NotTaken))?,
            Err(_) => return Err(SendError::later("the mail server took too long to be ready")),
        };
        // From here on it may take the mail without our hearing of it.
        match timeout(self.patience.taken, connection.send(mail.envelope(), &mail.formatted())).await {
            Ok(answer) => answer.map_err(|error| failed(&error, Trouble::Unsure))?,
            Err(_) => return Err(SendError::unsure("the mail server took too long")),
        };
        // It has the mail, whether or not it hears that we leave.
        let _ = timeout(LEAVE_WITHIN, connection.quit()).await;
        Ok(Sent { provider_id: id, delivered: false })
    }
}

/// What an error means, if the server did not say so.
fn failed(error: &SmtpError, unsaid: Trouble) -> SendError {
    let why = shown(&format!("the mail server: {error}"), 200);
    if error.is_permanent() {
        SendError::never(why)
    } else if error.is_transient() || error.is_client() {
        SendError::later(why)
    } else {
        SendError::Later { trouble: unsaid, after: None, why }
    }
}

impl Purpose {
    /// Whether a mail about this wants an answer.
    pub(crate) fn asks(self) -> bool {
        match self {
            Self::Ask | Self::Again | Self::Escalated => true,
            Self::Settled | Self::Digest | Self::Test => false,
        }
    }
}
