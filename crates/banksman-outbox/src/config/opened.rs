//! Channels, made from what the file says.

use std::collections::BTreeMap;
use std::sync::Arc;

use banksman_engine::Engine;
use banksman_notify::{
    Channel, Conversation, Email, EmailSettings, LINE_API, Line, LineSettings, MailSecurity, PostId,
    SLACK_API, Secret, SendError, SignedPost, Slack, SlackSettings, Webhook, WebhookKey, WebhookSettings,
};
use banksman_outward::Outward;
use banksman_secrets::Keyring;
use url::Url;

use super::Config;
use super::shape::{ChannelFile, EmailFile, SecurityFile};
use crate::{AgentCaller, Outbox};

/// The settings of one channel, its secrets read.
#[derive(Debug, Clone)]
pub(super) enum Carrier {
    Slack(SlackSettings),
    Line(LineSettings),
    Email(Box<EmailSettings>),
    Webhook(WebhookSettings),
}

/// Everything that was opened.
pub struct OpenedChannels {
    /// What carries messages.
    pub outbox: Arc<Outbox>,
    /// What people can answer on, by name.
    pub conversations: BTreeMap<String, Arc<dyn Conversation>>,
}

impl Carrier {
    pub(super) fn read(file: &ChannelFile, console: &str, keys: &Keyring<'_>) -> Result<Self, String> {
        match (&file.slack, &file.line, &file.email, &file.webhook) {
            (Some(slack), None, None, None) => Ok(Self::Slack(SlackSettings {
                token: Secret::new(keys.read(&slack.token)?),
                signing_secret: Secret::new(keys.read(&slack.signing_secret)?),
                api: address(slack.api.as_deref().unwrap_or(SLACK_API))?,
            })),
            (None, Some(line), None, None) => Ok(Self::Line(LineSettings {
                access_token: Secret::new(keys.read(&line.access_token)?),
                channel_secret: Secret::new(keys.read(&line.channel_secret)?),
                api: address(line.api.as_deref().unwrap_or(LINE_API))?,
            })),
            (None, None, Some(email), None) => email_settings(email, keys).map(Box::new).map(Self::Email),
            (None, None, None, Some(webhook)) => Ok(Self::Webhook(WebhookSettings {
                url: address(&webhook.url)?,
                key: keys.read(&webhook.key)?.parse::<WebhookKey>().map_err(|error| error.to_string())?,
                source: console.to_owned(),
            })),
            _ => Err("a channel is one of slack, line, email and webhook".into()),
        }
    }
}

fn address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("{text:?} is no address: {error}"))?;
    if matches!(url.scheme(), "http" | "https") {
        Ok(url)
    } else {
        Err("only http and https can be called".into())
    }
}

fn email_settings(file: &EmailFile, keys: &Keyring<'_>) -> Result<EmailSettings, String> {
    let login = match (&file.user, &file.password) {
        (Some(user), Some(password)) => Some((user.clone(), Secret::new(keys.read(password)?))),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => return Err("user and password go together".into()),
    };
    let authorities = match &file.authorities {
        Some(path) => keys.read_file(path)?,
        None => None,
    };
    let settings = EmailSettings {
        host: file.host.clone(),
        port: file.port,
        security: match file.security {
            SecurityFile::Starttls => MailSecurity::StartTls,
            SecurityFile::Tls => MailSecurity::Tls,
            SecurityFile::None => MailSecurity::Plain,
        },
        login,
        from: file.from.clone(),
        authorities,
    };
    // What cannot work is an error of the file, not of the first message.
    Email::new(settings.clone()).map(|_| settings).map_err(|error| error.to_string())
}

impl Config {
    /// Opens the channels over an engine, and tells it whom agents may have called.
    ///
    /// # Errors
    /// If a channel cannot work as it is set.
    pub fn open(self, engine: Arc<Engine>) -> Result<OpenedChannels, String> {
        let Self { directory, carriers, reach, resume } = self;
        let outward = Arc::new(Outward::new(reach));
        let mut channels: BTreeMap<String, Arc<dyn Channel>> = BTreeMap::new();
        let mut conversations = BTreeMap::new();
        for (name, carrier) in carriers {
            let talk: Option<Arc<dyn Conversation>> = match carrier {
                Carrier::Slack(settings) => {
                    let slack = Arc::new(Slack::new(Arc::clone(&outward), settings));
                    channels.insert(name.clone(), Arc::clone(&slack) as _);
                    Some(slack)
                }
                Carrier::Line(settings) => {
                    let line = Arc::new(Line::new(Arc::clone(&outward), settings));
                    channels.insert(name.clone(), Arc::clone(&line) as _);
                    Some(line)
                }
                Carrier::Email(settings) => {
                    let email = Email::new(*settings).map_err(|error| format!("{name}: {error}"))?;
                    channels.insert(name.clone(), Arc::new(email));
                    None
                }
                Carrier::Webhook(settings) => {
                    channels.insert(name.clone(), Arc::new(Webhook::new(Arc::clone(&outward), settings)));
                    None
                }
            };
            if let Some(conversation) = talk {
                conversations.insert(name, conversation);
            }
        }
        let mut outbox = Outbox::new(Arc::clone(&engine), directory, channels);
        if let Some(resume) = resume {
            engine.allow_resuming_at(resume.allow);
            let caller = SignedCaller { outward, key: resume.key };
            outbox = outbox.with_errands(Arc::new(caller), resume.limits);
        }
        Ok(OpenedChannels { outbox: Arc::new(outbox), conversations })
    }
}

/// Calls the agent's side with a signature of the Standard Webhooks kind.
struct SignedCaller {
    outward: Arc<Outward>,
    key: WebhookKey,
}

#[async_trait::async_trait]
impl AgentCaller for SignedCaller {
    async fn call(&self, url: &str, id: &PostId, body: Vec<u8>) -> Result<(), SendError> {
        let url = Url::parse(url).map_err(|error| SendError::never(error.to_string()))?;
        let content_type = "application/json";
        let post = SignedPost { url: &url, key: &self.key, id, content_type, body: body.into() };
        post.deliver(&self.outward).await
    }
}
