//! An encrypted line to the database: whom we believe, and that there is no way back to an open one.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use banksman_store::conformance::Database;
use banksman_store::postgres::PostgresStore;
use banksman_store::{Commit, Store};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio_postgres::config::Host;
use tokio_rustls::TlsAcceptor;

/// What a client sends to ask for TLS: eight bytes that are no version of the protocol.
const ASKS_FOR_TLS: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// A door before the database that speaks TLS as PostgreSQL does.
struct Door {
    port: u16,
    folder: TempDir,
    /// How many clients went through, with TLS agreed on.
    passed: Arc<AtomicUsize>,
}

impl Door {
    /// A door with a certificate for a name.
    async fn named(name: &str, database: &Database) -> Self {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(vec![name.to_owned()]).expect("a certificate");
        let folder = TempDir::new().expect("a folder");
        std::fs::write(folder.path().join("root.pem"), cert.pem()).expect("a file");
        let secret = PrivateKeyDer::try_from(signing_key.serialize_der()).expect("a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], secret)
            .expect("a configuration");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let passed = Arc::new(AtomicUsize::new(0));
        let (counter, socket) = (Arc::clone(&passed), socket(database));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (acceptor, counter, socket) = (acceptor.clone(), Arc::clone(&counter), socket.clone());
                tokio::spawn(async move { let_through(client, acceptor, &counter, socket).await });
            }
        });
        Self { port, folder, passed }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root.pem")
    }

    fn url(&self, host: &str, database: &Database, query: &str) -> String {
        let config = config(database);
        let (user, name) = (config.get_user().expect("a user"), config.get_dbname().expect("a name"));
        format!("postgres://{user}@{host}:{}/{name}?{query}", self.port)
    }
}

fn config(database: &Database) -> tokio_postgres::Config {
    database.url().parse().expect("an address")
}

fn socket(database: &Database) -> PathBuf {
    let config = config(database);
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let socket = config.get_hosts().iter().find_map(|host| match host {
        Host::Unix(folder) => Some(folder.join(format!(".s.PGSQL.{port}"))),
        Host::Tcp(_) => None,
    });
    socket.expect("the tests' database on a unix socket")
}

async fn let_through(mut client: TcpStream, acceptor: TlsAcceptor, passed: &AtomicUsize, socket: PathBuf) {
    let mut first = [0; 8];
    if client.read_exact(&mut first).await.is_err() {
        return;
    }
    assert_eq!(first, ASKS_FOR_TLS, "somebody came without asking for TLS");
    client.write_all(b"S").await.expect("an answer");
    if let Ok(mut client) = acceptor.accept(client).await {
        passed.fetch_add(1, Ordering::Relaxed);
        let mut database = UnixStream::connect(socket).await.expect("the database");
        let _ = copy_bidirectional(&mut client, &mut database).await;
    }
}

async fn refusal(url: &str) -> String {
    PostgresStore::open(url).await.err().expect("a refusal").to_string()
}

#[tokio::test]
async fn a_store_works_through_tls() {
    let database = Database::fresh();
    let door = Door::named("localhost", &database).await;
    let query = format!("sslmode=verify-full&sslrootcert={}", door.root().display());
    let store = PostgresStore::open(&door.url("localhost", &database, &query)).await.expect("a store");
    store.commit(Commit::default()).await.expect("a commit");
    assert!(door.passed.load(Ordering::Relaxed) > 0);
}

#[tokio::test]
async fn nobody_is_believed_but_whom_we_were_told_to_believe() {
    let database = Database::fresh();
    let (door, other) =
        (Door::named("localhost", &database).await, Door::named("localhost", &database).await);
    // The other's certificate, then none but those of the machine.
    let query = format!("sslmode=require&sslrootcert={}", other.root().display());
    for query in [query.as_str(), "sslmode=require"] {
        let told = refusal(&door.url("localhost", &database, query)).await;
        assert!(told.contains("certificate"), "{told}");
    }
    assert_eq!(door.passed.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused() {
    let database = Database::fresh();
    let door = Door::named("db.internal", &database).await;
    let query = format!("sslmode=require&sslrootcert={}", door.root().display());
    let told = refusal(&door.url("localhost", &database, &query)).await;
    assert!(told.contains("certificate"), "{told}");
    assert_eq!(door.passed.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_database_without_tls_is_not_spoken_to_in_the_open() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let heard = tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.expect("a client");
        let mut first = [0; 8];
        client.read_exact(&mut first).await.expect("a question");
        client.write_all(b"N").await.expect("an answer");
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).await.expect("an end");
        (first, rest)
    });
    let told = refusal(&format!("postgres://u:secret@localhost:{port}/b?sslmode=require")).await;
    assert!(told.contains("TLS"), "{told}");
    let (first, rest) = heard.await.expect("what was heard");
    assert_eq!(first, ASKS_FOR_TLS);
    assert!(rest.is_empty(), "it went on in the open");
}
