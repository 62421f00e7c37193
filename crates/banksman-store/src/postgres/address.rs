//! Where the database is, and whether the line to it is encrypted.
//!
//! What leaves the machine is encrypted and the other side's certificate is verified, unless the address says
//! otherwise. There is no mode in between: encryption without knowing with whom, or with a way back to none, protects
//! from nobody who can stand in the middle.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::presence::{Lineage, Presence};
use super::session::told;
use crate::StoreError;

/// How long making a connection to one host may take, until it can be used.
pub(super) const CONNECT: Duration = Duration::from_secs(5);

/// How much of that each address of the host has to answer at all, unless the URL says otherwise: a name may have several.
const ANSWER: Duration = Duration::from_secs(2);

/// How long bytes may stay unacknowledged before a connection counts as lost.
const UNACKNOWLEDGED: Duration = Duration::from_secs(10);

/// After so much silence the other side is asked whether it is still there.
const SILENCE: Duration = Duration::from_secs(10);

/// How soon again. Whoever only listens notices a line that was cut by this alone.
const ASK_AGAIN: Duration = Duration::from_secs(2);

/// What the database shows of us, unless the address says otherwise. Nodes add the name of the key that they sign with.
const PROGRAM: &str = "banksman";

/// An address that was read and found good.
#[derive(Clone)]
pub(super) struct Address {
    /// One for each host that was named, in that order.
    hosts: Vec<Config>,
    /// Which of them answered last. After a failover the dead one is not waited for again by each new connection.
    answered: Arc<AtomicUsize>,
    /// What all connections know of what is there.
    pub(super) presence: Arc<Presence>,
    /// With what the line is encrypted, if it is.
    pub(super) tls: Option<MakeRustlsConnect>,
}

/// What an address says about encryption.
#[derive(Default)]
struct Wanted {
    mode: Option<String>,
    roots: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

impl Address {
    /// Reads `postgres://user@host/database?sslmode=...&sslrootcert=...&sslcert=...&sslkey=...`.
    pub(super) fn read(url: &str) -> Result<Self, StoreError> {
        let (url, wanted) = Wanted::take_from(url)?;
        let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
            // Not the URL itself: there is a password in it.
            StoreError::Failed(format!("the address of the database cannot be read: {}", told(&error)))
        })?;
        check_counts(&config)?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(ANSWER);
        }
        // Who names several means a failover, and after one a standby answers as well: it is of no use to a node.
        let hosts = config.get_hosts().len().max(config.get_hostaddrs().len());
        if hosts > 1 && config.get_target_session_attrs() == TargetSessionAttrs::Any {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        if config.get_application_name().is_none() {
            config.application_name(PROGRAM);
        }
        config.tcp_user_timeout(UNACKNOWLEDGED);
        config.keepalives_idle(SILENCE).keepalives_interval(ASK_AGAIN).keepalives_retries(3);
        let tls = if wanted.encrypted(&config)? {
            config.ssl_mode(SslMode::Require);
            Some(MakeRustlsConnect::new(wanted.client()?))
        } else {
            config.ssl_mode(SslMode::Disable);
            None
        };
        let hosts = (0..hosts.max(1)).map(|place| alone(&config, place)).collect();
        let presence = Arc::new(Presence::new(Lineage::default()));
        Ok(Self { hosts, answered: Arc::default(), presence, tls })
    }

    /// Every host, the one that answered last first.
    pub(super) fn hosts(&self) -> impl Iterator<Item = (usize, &Config)> {
        let first = self.answered.load(Ordering::Relaxed);
        let all = || self.hosts.iter().enumerate();
        all().skip(first).chain(all().take(first))
    }

    /// The host at this place answered.
    pub(super) fn note_answer(&self, place: usize) {
        let before = self.answered.swap(place, Ordering::Relaxed);
        if before != place
            && let Some(host) = self.hosts.get(place)
        {
            tracing::info!(host = name(host), "another host of the database is used now");
        }
    }

    /// The same, for a process that has worked on a database before.
    pub(super) fn following(mut self, lineage: &Lineage) -> Self {
        self.presence = Arc::new(Presence::new(lineage.clone()));
        self
    }

    /// The same, for a node that signs with the key of this name: others see it among the connections.
    pub(super) fn signing_with(mut self, key: &str) -> Self {
        for config in &mut self.hosts {
            if config.get_application_name() == Some(PROGRAM) {
                config.application_name(format!("{PROGRAM} {key}"));
            }
        }
        self
    }
}

/// What a host is called in the log.
pub(super) fn name(host: &Config) -> String {
    let name = match (host.get_hosts().first(), host.get_hostaddrs().first()) {
        (Some(Host::Tcp(name)), _) => name.clone(),
        (Some(Host::Unix(path)), _) => path.display().to_string(),
        (None, Some(address)) => address.to_string(),
        (None, None) => String::new(),
    };
    host.get_ports().first().map_or(name.clone(), |port| format!("{name}:{port}"))
}

/// As many of each as belong together, as the client library wants it of those that it is given at once.
fn check_counts(all: &Config) -> Result<(), StoreError> {
    let (hosts, addresses) = (all.get_hosts().len(), all.get_hostaddrs().len());
    let (both, ports) = (hosts > 0 && addresses > 0, all.get_ports().len());
    if both && hosts != addresses || ports > 1 && ports != hosts.max(addresses) {
        return Err(StoreError::Failed(format!(
            "the address of the database names {hosts} hosts, {addresses} addresses of hosts and {ports} ports, which do \
             not fit together"
        )));
    }
    Ok(())
}

/// The same with one of its hosts only. Tried one after the other by the client library, a host that takes a connection and
/// then says nothing would be waited for, and no other one ever tried.
fn alone(all: &Config, place: usize) -> Config {
    let mut one = Config::new();
    match all.get_hosts().get(place) {
        Some(Host::Tcp(name)) => drop(one.host(name)),
        Some(Host::Unix(path)) => drop(one.host_path(path)),
        None => {}
    }
    if let Some(address) = all.get_hostaddrs().get(place) {
        one.hostaddr(*address);
    }
    if let Some(port) = all.get_ports().get(place).or_else(|| all.get_ports().first()) {
        one.port(*port);
    }
    if let Some(user) = all.get_user() {
        one.user(user);
    }
    if let Some(password) = all.get_password() {
        one.password(password);
    }
    if let Some(name) = all.get_dbname() {
        one.dbname(name);
    }
    if let Some(options) = all.get_options() {
        one.options(options);
    }
    if let Some(program) = all.get_application_name() {
        one.application_name(program);
    }
    if let Some(limit) = all.get_connect_timeout() {
        one.connect_timeout(*limit);
    }
    if let Some(limit) = all.get_tcp_user_timeout() {
        one.tcp_user_timeout(*limit);
    }
    if let Some(pause) = all.get_keepalives_interval() {
        one.keepalives_interval(pause);
    }
    if let Some(times) = all.get_keepalives_retries() {
        one.keepalives_retries(times);
    }
    one.keepalives(all.get_keepalives())
        .keepalives_idle(all.get_keepalives_idle())
        .ssl_mode(all.get_ssl_mode())
        .ssl_negotiation(all.get_ssl_negotiation())
        .target_session_attrs(all.get_target_session_attrs())
        .channel_binding(all.get_channel_binding());
    one
}

impl Wanted {
    /// Takes out what is ours to understand; the rest is for the client library.
    fn take_from(url: &str) -> Result<(String, Self), StoreError> {
        let mut wanted = Self::default();
        let Some((place, query)) = url.split_once('?') else {
            return Ok((url.to_owned(), wanted));
        };
        let mut others = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decode_str(value).decode_utf8().map_err(|_| {
                StoreError::Failed(format!("the address of the database cannot be read: {name} is not UTF-8"))
            })?;
            match name {
                "sslmode" => wanted.mode = Some(value.into_owned()),
                "sslrootcert" => wanted.roots = Some(value.as_ref().into()),
                "sslcert" => wanted.certificate = Some(value.as_ref().into()),
                "sslkey" => wanted.key = Some(value.as_ref().into()),
                _ => others.push(pair),
            }
        }
        let url = if others.is_empty() { place.to_owned() } else { format!("{place}?{}", others.join("&")) };
        Ok((url, wanted))
    }

    fn encrypted(&self, config: &Config) -> Result<bool, StoreError> {
        match self.mode.as_deref() {
            None => Ok(self.roots.is_some() || self.certificate.is_some() || !stays_on_this_machine(config)),
            Some("disable") => Ok(false),
            Some("require" | "verify-ca" | "verify-full") => Ok(true),
            Some(other) => Err(StoreError::Failed(format!(
                "sslmode={other} does not say whether the line to the database is safe; say sslmode=verify-full, or \
                 sslmode=disable for a line that is safe by other means"
            ))),
        }
    }

    fn client(&self) -> Result<ClientConfig, StoreError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| StoreError::Failed(error.to_string()))?
            .with_root_certificates(self.roots()?);
        match (&self.certificate, &self.key) {
            (None, None) => Ok(builder.with_no_client_auth()),
            (Some(certificate), Some(key)) => {
                let chain = certificates(certificate)?;
                let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &error))?;
                builder.with_client_auth_cert(chain, secret).map_err(|error| unreadable(certificate, &error))
            }
            _ => Err(StoreError::Failed("sslcert and sslkey are given together or not at all".into())),
        }
    }

    /// Whom we believe: the certificates of the file, or those that this machine believes.
    fn roots(&self) -> Result<RootCertStore, StoreError> {
        let mut roots = RootCertStore::empty();
        let Some(path) = &self.roots else {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            return Ok(roots);
        };
        for certificate in certificates(path)? {
            roots.add(certificate).map_err(|error| unreadable(path, &error))?;
        }
        Ok(roots)
    }
}

/// The certificates of a PEM file, of which there must be one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, StoreError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(found) if found.is_empty() => Err(unreadable(path, &"there is no certificate in it")),
        Ok(found) => Ok(found),
        Err(error) => Err(unreadable(path, &error)),
    }
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> StoreError {
    StoreError::Failed(format!("{} cannot be used for the line to the database: {error}", path.display()))
}

fn stays_on_this_machine(config: &Config) -> bool {
    let local = |host: &Host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    };
    // An address that is given beside a name is where the connection goes.
    let addresses = config.get_hostaddrs();
    if addresses.is_empty() {
        config.get_hosts().iter().all(local)
    } else {
        addresses.iter().all(IpAddr::is_loopback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encrypted(url: &str) -> bool {
        Address::read(url).unwrap().tls.is_some()
    }

    fn refusal(url: &str) -> String {
        Address::read(url).err().unwrap().to_string()
    }

    #[test]
    fn what_leaves_the_machine_is_encrypted_unless_said_otherwise() {
        assert!(encrypted("postgres://u@db.internal/b"));
        assert!(encrypted("postgres://u@10.0.0.7/b"));
        assert!(encrypted("postgres://u@localhost,db.internal/b"));
        assert!(encrypted("postgres://u@localhost/b?hostaddr=10.0.0.7"));
        assert!(!encrypted("postgres://u@db.internal/b?sslmode=disable"));
        for local in ["localhost", "127.0.0.1", "[::1]", "%2Frun%2Fpostgresql"] {
            assert!(!encrypted(&format!("postgres://u@{local}/b")), "{local}");
            assert!(
                encrypted(&format!("postgres://u@{local}/b?sslmode=require&application_name=x")),
                "{local}"
            );
        }
    }

    #[test]
    fn what_is_half_safe_is_refused_in_words() {
        for mode in ["prefer", "allow", "", "Disable"] {
            let told = refusal(&format!("postgres://u:geheim@db.internal/b?sslmode={mode}"));
            assert!(told.contains("sslmode=verify-full"), "{told}");
            assert!(!told.contains("geheim"), "{told}");
        }
        let told = refusal("postgres://u@db.internal/b?sslcert=/nowhere/c.pem");
        assert!(told.contains("sslkey"), "{told}");
        let told = refusal("postgres://u@db.internal/b?sslrootcert=%2Fnowhere%2Froot.pem");
        assert!(told.contains("/nowhere/root.pem"), "{told}");
        let told = refusal("postgres://u:geheim@db.internal/b?sslmoode=disable");
        assert!(told.contains("sslmoode") && !told.contains("geheim"), "{told}");
    }

    #[test]
    fn several_hosts_are_tried_one_by_one_with_all_that_was_said_of_them() {
        let url = "postgres://u:geheim@one:1,two,three:3/b?options=-csearch_path%3Dx&channel_binding=require\
                   &connect_timeout=7&sslmode=require&application_name=y";
        let address = Address::read(url).unwrap();
        let all: Config = url.replace("sslmode=require&", "").parse().unwrap();
        for (place, (named, one)) in address.hosts().enumerate() {
            assert_eq!(named, place);
            let mut expected = all.clone();
            expected.ssl_mode(SslMode::Require).target_session_attrs(TargetSessionAttrs::ReadWrite);
            expected.tcp_user_timeout(UNACKNOWLEDGED).keepalives_idle(SILENCE);
            expected.keepalives_interval(ASK_AGAIN).keepalives_retries(3);
            let host = &all.get_hosts()[place..=place];
            assert_eq!((one.get_hosts(), one.get_ports()), (host, &all.get_ports()[place..=place]));
            // All the rest, whatever the library will know in future, is the same.
            let rest = |config: &Config| {
                let text = format!("{config:?}");
                let (before, after) = (text.find("host:").unwrap(), text.find("connect_timeout:").unwrap());
                format!("{}{}{:?}", &text[..before], &text[after..], config.get_password())
            };
            assert_eq!(rest(one), rest(&expected));
        }
        address.note_answer(1);
        assert_eq!(address.hosts().map(|(place, _)| place).collect::<Vec<_>>(), [1, 2, 0]);
        let one = Address::read("postgres://u@one/b").unwrap();
        let attrs: Vec<_> = one.hosts().map(|(_, config)| config.get_target_session_attrs()).collect();
        assert_eq!(attrs, [TargetSessionAttrs::Any]);
    }

    #[test]
    fn hosts_and_their_addresses_and_ports_have_to_fit_together() {
        for url in [
            "postgres://u@localhost,db.internal/b?hostaddr=127.0.0.1",
            "postgres://u@one/b?hostaddr=127.0.0.1,127.0.0.2",
            "postgres://u@/b?host=one,two,three&port=1,2",
        ] {
            let told = Address::read(url).err().unwrap().to_string();
            assert!(told.contains("do not fit together"), "{url}: {told}");
        }
        assert!(Address::read("postgres://u@/b?host=one,two,three&port=1").is_ok());
    }

    #[test]
    fn an_empty_file_of_certificates_is_not_a_root() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let told = refusal(&format!("postgres://u@db.internal/b?sslrootcert={}", file.path().display()));
        assert!(told.contains("no certificate"), "{told}");
    }
}
