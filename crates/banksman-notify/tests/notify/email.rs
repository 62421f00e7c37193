//! Mail, through a small mail server.

use std::time::{Duration, Instant};

use banksman_notify::{
    Channel as _, Email, EmailSettings, EmailSettingsError, MailPatience, MailSecurity, Message, MessageId,
    Purpose, Secret, SendError, Trouble,
};

use crate::fixture::{ask, card, message};
use crate::smtp::{MailServer, Mood};

fn settings(server: &MailServer, security: MailSecurity) -> EmailSettings {
    EmailSettings {
        host: "localhost".into(),
        port: Some(server.port),
        security,
        login: (security != MailSecurity::Plain).then(|| ("banksman".into(), Secret::new("hunter2"))),
        from: "Banksman <banksman@gate.example.org>".into(),
        authorities: Some(server.certificate.clone().into_bytes()),
    }
}

/// A mail in its parts, decoded.
pub(crate) struct Parts {
    pub(crate) head: String,
    pub(crate) plain: String,
    pub(crate) html: String,
}

fn parts(mail: &str) -> Parts {
    let (head, body) = mail.split_once("\r\n\r\n").unwrap();
    let boundary = mail.split("boundary=\"").nth(1).unwrap().split('"').next().unwrap();
    let boundary = format!("--{boundary}");
    let mut decoded = body.split(&boundary).skip(1).take(2).map(|part| {
        let (head, body) = part.trim_start().split_once("\r\n\r\n").unwrap();
        let head = head.to_lowercase();
        if head.contains("base64") {
            use base64::Engine as _;
            let packed: String = body.split_whitespace().collect();
            let bytes = base64::engine::general_purpose::STANDARD.decode(packed).unwrap();
            String::from_utf8(bytes).unwrap().replace("\r\n", "\n")
        } else if head.contains("quoted-printable") {
            unquoted(body)
        } else {
            body.replace("\r\n", "\n")
        }
    });
    Parts { head: head.to_owned(), plain: decoded.next().unwrap(), html: decoded.next().unwrap() }
}

fn unquoted(body: &str) -> String {
    let body = body.replace("=\r\n", "").replace("\r\n", "\n");
    let mut bytes = Vec::new();
    let mut rest = body.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        match (first, after) {
            (b'=', [high, low, after @ ..]) => {
                let digits = [*high, *low];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
                rest = after;
            }
            (byte, after) => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// What a mail server gets for a message.
pub(crate) async fn parts_of(message: &Message) -> Parts {
    let server = MailServer::start(Mood::InTheOpen).await;
    let email = Email::new(settings(&server, MailSecurity::Plain)).unwrap();
    email.send(message).await.unwrap();
    parts(&server.taken()[0])
}

#[tokio::test]
async fn a_person_gets_a_mail_over_starttls_with_both_parts_and_a_link() {
    let server = MailServer::start(Mood::Well).await;
    let email = Email::new(settings(&server, MailSecurity::StartTls)).unwrap();
    let sent = email.send(&ask("Ann Lee <ann@example.org>")).await.unwrap();
    let taken = server.taken();
    let [mail] = taken.as_slice() else { panic!("{taken:?}") };
    let mail = parts(mail);
    let id = sent.provider_id.unwrap();
    assert!(id.starts_with("<banksman.42.act_") && id.ends_with("@gate.example.org>"), "{id}");
    assert!(
        mail.head.contains(&format!("Message-ID: {id}"))
            && mail.head.contains("Auto-Submitted: auto-generated")
    );
    insta::assert_snapshot!("mail_plain", mail.plain);
    insta::assert_snapshot!("mail_html", mail.html);
    // The password went over the secret line only.
    let spoken = server.spoken();
    let secret_from = spoken.iter().position(|said| said == "STARTTLS").unwrap();
    assert!(spoken.iter().position(|said| said.starts_with("AUTH")).unwrap() > secret_from, "{spoken:?}");
}

#[tokio::test]
async fn tls_from_the_first_byte_works_too() {
    let server = MailServer::start(Mood::Wrapped).await;
    let email = Email::new(settings(&server, MailSecurity::Tls)).unwrap();
    email.send(&ask("ann@example.org")).await.unwrap();
    assert_eq!(server.taken().len(), 1);
}

#[tokio::test]
async fn every_attempt_of_one_delivery_has_the_same_id() {
    let server = MailServer::start(Mood::Well).await;
    let email = Email::new(settings(&server, MailSecurity::StartTls)).unwrap();
    let first = email.send(&ask("ann@example.org")).await.unwrap();
    let again = email.send(&Message { attempt: 2, ..ask("ann@example.org") }).await.unwrap();
    let other = email.send(&Message { id: MessageId::new("43"), ..ask("ann@example.org") }).await.unwrap();
    assert_eq!(first.provider_id, again.provider_id);
    assert_ne!(first.provider_id, other.provider_id);
}

#[tokio::test]
async fn without_a_secret_line_there_is_no_mail_and_no_password() {
    let open = MailServer::start(Mood::InTheOpen).await;
    let email = Email::new(settings(&open, MailSecurity::StartTls)).unwrap();
    email.send(&ask("ann@example.org")).await.unwrap_err();
    let stranger = MailServer::start(Mood::Well).await;
    let trusting_nobody = EmailSettings { authorities: None, ..settings(&stranger, MailSecurity::StartTls) };
    Email::new(trusting_nobody).unwrap().send(&ask("ann@example.org")).await.unwrap_err();
    for server in [open, stranger] {
        let spoken = server.spoken();
        assert!(
            !spoken.iter().any(|said| said.starts_with("AUTH") || said.starts_with("MAIL")),
            "{spoken:?}"
        );
    }
}

#[tokio::test]
async fn what_is_refused_for_good_is_not_tried_again_and_what_passes_is() {
    for (mood, later) in [(Mood::NoSuchMailbox, false), (Mood::WrongPassword, false), (Mood::Busy, true)] {
        let server = MailServer::start(mood).await;
        let email = Email::new(settings(&server, MailSecurity::StartTls)).unwrap();
        let error = email.send(&ask("ann@example.org")).await.unwrap_err();
        assert_eq!(matches!(error, SendError::Later { .. }), later, "{mood:?}: {error}");
        assert!(!error.to_string().chars().any(char::is_control), "{error:?}");
        assert!(!error.to_string().contains("hunter2"));
    }
}

fn impatient(server: &MailServer) -> Email {
    let patience = MailPatience { ready: Duration::from_secs(2), taken: Duration::from_secs(2) };
    Email::new(settings(server, MailSecurity::StartTls)).unwrap().with_patience(patience)
}

#[tokio::test]
async fn a_server_that_says_nothing_is_left_in_time_and_took_nothing() {
    let server = MailServer::start(Mood::Silent).await;
    let begun = Instant::now();
    let error = impatient(&server).send(&ask("ann@example.org")).await.unwrap_err();
    assert!(matches!(error, SendError::Later { trouble: Trouble::NotTaken, .. }), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(10));
    // Nor did one that is not there.
    let nowhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let away = EmailSettings { port: Some(nowhere), ..settings(&server, MailSecurity::StartTls) };
    let error = Email::new(away).unwrap().send(&ask("ann@example.org")).await.unwrap_err();
    assert!(matches!(error, SendError::Later { trouble: Trouble::NotTaken, .. }), "{error}");
}

#[tokio::test]
async fn a_server_that_may_have_taken_a_mail_is_not_said_to_have_refused_it() {
    for (mood, trouble) in [
        (Mood::SilentOnceTaken, Trouble::Unsure),
        (Mood::HangsUpOnceTaken, Trouble::Unsure),
        (Mood::NotAfterAll, Trouble::NotTaken),
    ] {
        let server = MailServer::start(mood).await;
        let error = impatient(&server).send(&ask("ann@example.org")).await.unwrap_err();
        let SendError::Later { trouble: found, .. } = &error else { panic!("{mood:?}: {error}") };
        assert_eq!((*found, server.taken().len()), (trouble, 1), "{mood:?}: {error}");
    }
}

#[tokio::test]
async fn a_mail_that_was_taken_is_sent_whatever_comes_of_our_leaving() {
    let server = MailServer::start(Mood::NoGoodbye).await;
    impatient(&server).send(&ask("ann@example.org")).await.unwrap();
    assert_eq!(server.taken().len(), 1);
}

#[tokio::test]
async fn an_address_is_one_address() {
    let server = MailServer::start(Mood::Well).await;
    let email = Email::new(settings(&server, MailSecurity::StartTls)).unwrap();
    for address in
        ["", "ann", "ann@example.org, bob@example.org", "ann@example.org\r\nBcc: bob@example.org", "a b@c"]
    {
        let error = email.send(&ask(address)).await.unwrap_err();
        assert!(matches!(error, SendError::Never { .. }), "{address:?}: {error}");
    }
    assert!(server.spoken().is_empty());
}

#[tokio::test]
async fn settings_that_give_secrets_away_are_refused() {
    let server = MailServer::start(Mood::Well).await;
    let plain = || settings(&server, MailSecurity::Plain);
    let elsewhere = EmailSettings { host: "mail.example.org".into(), ..plain() };
    assert_eq!(Email::new(elsewhere).err(), Some(EmailSettingsError::NotSecret));
    let password = EmailSettings { login: Some(("a".into(), Secret::new("b"))), ..plain() };
    assert_eq!(Email::new(password).err(), Some(EmailSettingsError::PasswordInTheOpen));
    let nobody = EmailSettings { from: "nobody".into(), ..plain() };
    assert_eq!(Email::new(nobody).err(), Some(EmailSettingsError::From("nobody".into())));
}

#[tokio::test]
async fn digests_and_tests_are_mails_too() {
    let digest = parts_of(&message(Purpose::Digest, "ann@example.org", vec![card(); 3])).await;
    assert_eq!(digest.plain.matches("https://gate.example.org/actions/").count(), 3);
    let test = parts_of(&message(Purpose::Test, "ann@example.org", Vec::new())).await;
    assert!(test.plain.contains("Banksman can reach you here"));
}
