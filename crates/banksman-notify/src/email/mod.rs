//! Email: what is asked, and a link to the page where it is decided. No link decides: mail scanners follow links.

mod content;

use std::time::Duration;

use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart, SinglePart};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Tokio1Executor};

use crate::card::shown;
use crate::{Channel, Message, Purpose, Secret, SendError, Sent};

/// How long everything may take, from the connection to the server's yes.
const WITHIN: Duration = Duration::from_secs(30);

/// How long a server may take for one answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);

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
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
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
        let (usual_port, tls) = match security {
            MailSecurity::Tls => (465, Tls::Wrapper(tls(&host, authorities)?)),
            MailSecurity::StartTls => (587, Tls::Required(tls(&host, authorities)?)),
            MailSecurity::Plain => (25, Tls::None),
        };
        let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(host)
            .port(port.unwrap_or(usual_port))
            .tls(tls)
            .timeout(Some(ANSWER_WITHIN));
        if let Some((name, password)) = login {
            builder = builder.credentials(Credentials::new(name, password.reveal().to_owned()));
        }
        Ok(Self { transport: builder.build(), from })
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
        match tokio::time::timeout(WITHIN, self.transport.send(mail)).await {
            Ok(Ok(_)) => Ok(Sent { provider_id: id, delivered: false }),
            Ok(Err(error)) => {
                let why = shown(&format!("the mail server: {error}"), 200);
                if error.is_permanent() { Err(SendError::never(why)) } else { Err(SendError::later(why)) }
            }
            Err(_) => Err(SendError::later("the mail server took too long")),
        }
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
