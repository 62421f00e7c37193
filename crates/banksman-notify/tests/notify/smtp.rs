//! A small mail server: STARTTLS or TLS from the first byte, a password, and moods.

use std::sync::{Arc, Mutex};

use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// What the server is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    Well,
    /// TLS from the first byte.
    Wrapped,
    /// Does not offer STARTTLS.
    InTheOpen,
    /// Refuses every recipient for good.
    NoSuchMailbox,
    /// Cannot take it now.
    Busy,
    WrongPassword,
    /// Says nothing at all.
    Silent,
    /// Takes a mail and says nothing about it.
    SilentOnceTaken,
    /// Takes a mail and hangs up.
    HangsUpOnceTaken,
    /// Takes a mail and refuses it after all, for now.
    NotAfterAll,
    /// Says nothing when we leave.
    NoGoodbye,
}

/// A mail server on this machine.
pub(crate) struct MailServer {
    pub(crate) port: u16,
    /// What it calls itself to those who ask for a certificate.
    pub(crate) certificate: String,
    taken: Arc<Mutex<Vec<String>>>,
    spoken: Arc<Mutex<Vec<String>>>,
}

impl MailServer {
    pub(crate) async fn start(mood: Mood) -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            certificate: made.cert.pem(),
            taken: Arc::default(),
            spoken: Arc::default(),
        };
        let (taken, spoken) = (Arc::clone(&server.taken), Arc::clone(&server.spoken));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let talk = Talk { mood, taken: Arc::clone(&taken), spoken: Arc::clone(&spoken) };
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    match mood {
                        Mood::Silent => std::future::pending::<()>().await,
                        Mood::Wrapped => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                talk.converse(BufReader::new(stream), true, true).await;
                            }
                        }
                        _ => {
                            if let Some(stream) = talk.converse(BufReader::new(stream), true, false).await
                                && let Ok(stream) = acceptor.accept(stream.into_inner()).await
                            {
                                talk.converse(BufReader::new(stream), false, true).await;
                            }
                        }
                    }
                });
            }
        });
        server
    }

    /// The mails that it took.
    pub(crate) fn taken(&self) -> Vec<String> {
        self.taken.lock().unwrap().clone()
    }

    /// Every command that it was given.
    pub(crate) fn spoken(&self) -> Vec<String> {
        self.spoken.lock().unwrap().clone()
    }
}

struct Talk {
    mood: Mood,
    taken: Arc<Mutex<Vec<String>>>,
    spoken: Arc<Mutex<Vec<String>>>,
}

impl Talk {
    /// Speaks until the end, or until the line is to be made secret: then it gives the line back.
    async fn converse<S>(&self, mut line: BufReader<S>, greet: bool, secret: bool) -> Option<BufReader<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        if greet {
            line.write_all(b"220 localhost ready\r\n").await.ok()?;
        }
        loop {
            let mut said = String::new();
            if line.read_line(&mut said).await.ok()? == 0 {
                return None;
            }
            let said = said.trim_end().to_owned();
            self.spoken.lock().unwrap().push(said.clone());
            let verb = said.split(' ').next().unwrap_or_default().to_ascii_uppercase();
            let answer = match verb.as_str() {
                "EHLO" if secret => "250-localhost\r\n250 AUTH PLAIN\r\n",
                "EHLO" if self.mood == Mood::InTheOpen => "250-localhost\r\n250 8BITMIME\r\n",
                "EHLO" => "250-localhost\r\n250 STARTTLS\r\n",
                "STARTTLS" => {
                    line.write_all(b"220 go ahead\r\n").await.ok()?;
                    return Some(line);
                }
                "AUTH" if self.mood == Mood::WrongPassword => "535 5.7.8 no\r\n",
                "AUTH" => "235 yes\r\n",
                "RCPT" if self.mood == Mood::NoSuchMailbox => "550 5.1.1 no such mailbox \x1b[31m\r\n",
                "RCPT" if self.mood == Mood::Busy => "451 4.3.2 come back later\r\n",
                "MAIL" | "RCPT" => "250 ok\r\n",
                "DATA" => {
                    line.write_all(b"354 go on\r\n").await.ok()?;
                    self.take(&mut line).await?;
                    match self.mood {
                        Mood::SilentOnceTaken => std::future::pending().await,
                        Mood::HangsUpOnceTaken => return None,
                        Mood::NotAfterAll => "451 4.3.0 not now\r\n",
                        _ => "250 taken\r\n",
                    }
                }
                "QUIT" if self.mood == Mood::NoGoodbye => std::future::pending().await,
                "QUIT" => "221 bye\r\n",
                _ => "500 what\r\n",
            };
            line.write_all(answer.as_bytes()).await.ok()?;
        }
    }

    async fn take<S: AsyncRead + Unpin>(&self, line: &mut BufReader<S>) -> Option<()> {
        let mut mail = String::new();
        loop {
            let mut said = String::new();
            if line.read_line(&mut said).await.ok()? == 0 {
                return None;
            }
            if said == ".\r\n" {
                self.taken.lock().unwrap().push(mail);
                return Some(());
            }
            mail.push_str(said.strip_prefix('.').unwrap_or(&said));
        }
    }
}
