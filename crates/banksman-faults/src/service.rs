//! A web service that answers as it is told: well, badly, slowly, endlessly, or not at all.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// No test sends more.
const LONGEST_BODY: u64 = 4 * 1024 * 1024;

/// A request that the service got.
#[derive(Debug, Clone)]
pub struct Heard {
    /// The method.
    pub method: String,
    /// The path and the query.
    pub path: String,
    /// The headers; names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Heard {
    /// The value of a header, by its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What the service does with a request.
#[derive(Debug, Clone)]
pub enum Conduct {
    /// Answers.
    Answer {
        /// The status.
        status: u16,
        /// Headers besides those about the body.
        headers: Vec<(&'static str, String)>,
        /// The body.
        body: Vec<u8>,
    },
    /// Keeps the line open and says nothing.
    Silence,
    /// Answers 200 with a byte of the body now and then, and never comes to its end.
    Drip,
    /// Sends headers without end.
    EndlessHead,
    /// Answers 200 with a body without end, as fast as it is taken.
    EndlessBody,
    /// Hangs up.
    HangUp,
}

impl Conduct {
    /// An answer without headers of its own.
    #[must_use]
    pub fn answer(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::Answer { status, headers: Vec::new(), body: body.into() }
    }
}

type Script = dyn Fn(&Heard, usize) -> Conduct + Send + Sync;

/// A service on this machine. With this value it is gone.
pub struct Service {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    script: Mutex<Arc<Script>>,
    heard: Mutex<Vec<Heard>>,
    over: AtomicBool,
}

impl Service {
    /// Starts a service that answers every request by the script, which is given the request and how many came before.
    ///
    /// # Errors
    /// If the machine has no port left.
    pub fn start(script: impl Fn(&Heard, usize) -> Conduct + Send + Sync + 'static) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            script: Mutex::new(Arc::new(script)),
            heard: Mutex::default(),
            over: AtomicBool::new(false),
        });
        let service = Self { address, shared: Arc::clone(&shared) };
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.over.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let shared = Arc::clone(&shared);
                // Clients go away; that is theirs to do.
                std::thread::spawn(move || drop(shared.serve(stream)));
            }
        });
        Ok(service)
    }

    /// From now on it answers by another script.
    pub fn change(&self, script: impl Fn(&Heard, usize) -> Conduct + Send + Sync + 'static) {
        *self.shared.script.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(script);
    }

    /// Where it is, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Everything that it was asked, in order.
    #[must_use]
    pub fn heard(&self) -> Vec<Heard> {
        self.shared.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        // The listener wakes up, sees that it is over, and closes.
        drop(TcpStream::connect(self.address));
    }
}

impl Shared {
    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        let heard = read(&stream)?;
        let script = Arc::clone(&self.script.lock().unwrap_or_else(PoisonError::into_inner));
        let conduct = {
            let mut all = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
            let conduct = script(&heard, all.len());
            all.push(heard);
            conduct
        };
        match conduct {
            Conduct::Answer { status, headers, body } => {
                write!(
                    stream,
                    "HTTP/1.1 {status} Said\r\ncontent-length: {}\r\nconnection: close\r\n",
                    body.len()
                )?;
                for (name, value) in headers {
                    write!(stream, "{name}: {value}\r\n")?;
                }
                stream.write_all(b"\r\n")?;
                stream.write_all(&body)
            }
            Conduct::HangUp => Ok(()),
            Conduct::Silence => self.until_over(|| Ok(())),
            Conduct::Drip => {
                stream.write_all(b"HTTP/1.1 200 Said\r\ncontent-length: 100000\r\n\r\n")?;
                self.until_over(|| stream.write_all(b"x"))
            }
            Conduct::EndlessHead => {
                stream.write_all(b"HTTP/1.1 200 Said\r\n")?;
                loop {
                    stream.write_all(b"x-more: and more and more and more and more and more\r\n")?;
                }
            }
            Conduct::EndlessBody => {
                stream.write_all(b"HTTP/1.1 200 Said\r\ntransfer-encoding: chunked\r\n\r\n")?;
                let chunk = [b"1000\r\n".as_slice(), &[b'x'; 0x1000], b"\r\n"].concat();
                loop {
                    stream.write_all(&chunk)?;
                }
            }
        }
    }

    fn until_over(&self, mut act: impl FnMut() -> io::Result<()>) -> io::Result<()> {
        while !self.over.load(Ordering::SeqCst) {
            act()?;
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

fn read(stream: &TcpStream) -> io::Result<Heard> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let mut word = || words.next().unwrap_or_default().to_owned();
    let mut heard = Heard { method: word(), path: word(), headers: Vec::new(), body: Vec::new() };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => {
                heard.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            }
            None => break,
        }
    }
    let length = heard.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    reader.take(LONGEST_BODY.min(length)).read_to_end(&mut heard.body)?;
    Ok(heard)
}
