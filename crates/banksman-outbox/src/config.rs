//! `channels.yaml`: which channels there are, who is reached where, and how they like it. Strict: whatever is not
//! understood is an error, with its place.

mod opened;
mod shape;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use banksman_config::{ConfigError, Seconds, Source, TimeTest, Zone};
use banksman_core::Risk;
use banksman_engine::ResumeTarget;
use banksman_notify::WebhookKey;
use banksman_outward::Reach;
use banksman_policy::Policy;
use banksman_secrets::Keyring;

use crate::{ChannelRules, Contact, Directory, JobLimits, Limits};

pub use opened::OpenedChannels;

use opened::Carrier;
use shape::{ContactFile, File, LimitsFile};

/// Longest name of a channel or a recipient: it is part of addresses and of every row.
const NAME: usize = 64;

/// What `channels.yaml` says.
#[derive(Debug, Clone)]
pub struct Config {
    directory: Directory,
    carriers: BTreeMap<String, Carrier>,
    reach: Reach,
    resume: Option<ResumeConfig>,
}

/// Whom agents may have called, and what proves that it was us.
#[derive(Debug, Clone)]
pub(crate) struct ResumeConfig {
    pub(crate) allow: Vec<ResumeTarget>,
    pub(crate) key: WebhookKey,
    pub(crate) limits: JobLimits,
}

impl Config {
    /// Reads it. `console` is where this server is reached, unless the file says otherwise.
    ///
    /// # Errors
    /// If any of it is not valid, or a secret is not where it should be.
    pub fn parse(name: &str, text: &str, console: &str) -> Result<Self, ConfigError> {
        Self::read(name, text, console, &Keyring::beside(name))
    }

    /// Whether it makes sense, without looking for secrets.
    ///
    /// # Errors
    /// If any of it is not valid.
    pub fn check(name: &str, text: &str) -> Result<(), ConfigError> {
        Self::read(name, text, "http://127.0.0.1:7447", &Keyring::Blank).map(drop)
    }

    fn read(name: &str, text: &str, console: &str, keys: &Keyring<'_>) -> Result<Self, ConfigError> {
        let source = Source::new(name, text);
        let file: File = source.read_as()?;
        if file.version.value != 1 {
            let problem = format!("is version {}, and this program knows version 1", file.version.value);
            return Err(source.error_at(&file.version, problem));
        }
        let mut directory = Directory {
            console: file.console.as_ref().map_or(console, |console| &console.value).to_owned(),
            limits: match &file.limits {
                Some(written) => {
                    limits(&written.value).map_err(|problem| source.error_at(written, problem))?
                }
                None => Limits::default(),
            },
            ..Directory::default()
        };
        let mut carriers = BTreeMap::new();
        for (name, channel) in &file.channels {
            check_name(name).map_err(|problem| source.error_at(channel, problem))?;
            let carrier = Carrier::read(&channel.value, &directory.console, keys);
            carriers.insert(
                name.clone(),
                carrier.map_err(|problem| source.error_at(channel, format!("{name}: {problem}")))?,
            );
            // `none` is nothing, and not what has no risk.
            let decide_up_to =
                Some(channel.value.decide_up_to.unwrap_or(Risk::Critical)).filter(|most| *most > Risk::None);
            directory.channels.insert(name.clone(), ChannelRules { decide_up_to });
        }
        for (name, written) in &file.people {
            check_name(name).map_err(|problem| source.error_at(written, problem))?;
            let contact = contact(&written.value, &directory.channels);
            directory
                .people
                .insert(name.clone(), contact.map_err(|problem| source.error_at(written, problem))?);
        }
        for (name, addresses) in &file.places {
            check_name(name).map_err(|problem| source.error_at(addresses, problem))?;
            if directory.people.contains_key(name) {
                return Err(source.error_at(addresses, format!("{name} is a person already")));
            }
            let written = ContactFile { addresses: addresses.value.clone(), ..ContactFile::default() };
            let contact = contact(&written, &directory.channels);
            directory
                .places
                .insert(name.clone(), contact.map_err(|problem| source.error_at(addresses, problem))?);
        }
        two_with_one_address(&directory).map_err(|problem| source.error_at(&file.version, problem))?;
        let resume = match &file.resume {
            None => None,
            Some(resume) => Some(ResumeConfig {
                allow: resume
                    .value
                    .allow
                    .iter()
                    .map(|target| {
                        ResumeTarget::parse(&target.value).map_err(|problem| source.error_at(target, problem))
                    })
                    .collect::<Result<_, _>>()?,
                key: keys
                    .read(&resume.value.key.value)
                    .and_then(|key| key.parse::<WebhookKey>().map_err(|error| error.to_string()))
                    .map_err(|problem| source.error_at(&resume.value.key, problem))?,
                limits: job_limits(resume.value.tries),
            }),
        };
        Ok(Self { directory, carriers, reach: Reach::and(file.reach), resume })
    }

    /// Channels that policy's routes name and that are not here. Such a leg reaches nobody.
    #[must_use]
    pub fn missing_channels(&self, policy: &Policy) -> Vec<String> {
        let missing =
            policy.channels_of_routes().filter(|(_, channel)| !self.carriers.contains_key(*channel));
        missing.map(|(route, channel)| format!("route {route} names the channel {channel}")).collect()
    }

    /// Where the console is reached, as people are told.
    #[must_use]
    pub fn console(&self) -> &str {
        &self.directory.console
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let clean =
        !name.trim().is_empty() && name.chars().count() <= NAME && !name.chars().any(char::is_control);
    if clean { Ok(()) } else { Err(format!("a name has 1 to {NAME} characters")) }
}

fn contact(written: &ContactFile, channels: &BTreeMap<String, ChannelRules>) -> Result<Contact, String> {
    let named = written.addresses.keys().chain(&written.prefers);
    if let Some(unknown) = named.into_iter().find(|name| !channels.contains_key(*name)) {
        return Err(format!("there is no channel {unknown:?}"));
    }
    if let Some(empty) = written.addresses.iter().find(|(_, address)| address.trim().is_empty()) {
        return Err(format!("the address on {} is empty", empty.0));
    }
    if let Some(lost) = written.prefers.iter().find(|name| !written.addresses.contains_key(*name)) {
        return Err(format!("prefers {lost}, and has no address there"));
    }
    let time_zone = written.time_zone.clone().unwrap_or_else(|| "UTC".into());
    let quiet_hours = written.quiet_hours.clone();
    Zone::named(&time_zone)?;
    if let Some(problem) = quiet_hours.as_ref().and_then(TimeTest::problem) {
        return Err(format!("quiet_hours: {problem}"));
    }
    if written.wake_for.is_some() && quiet_hours.is_none() {
        return Err("wake_for goes with quiet_hours".into());
    }
    Ok(Contact {
        addresses: written.addresses.clone(),
        prefers: written.prefers.clone(),
        quiet_hours,
        time_zone,
        wake_for: written.wake_for,
    })
}

/// Who presses a button is known by their address: two people with one would be one.
fn two_with_one_address(directory: &Directory) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for (name, contact) in &directory.people {
        for (channel, address) in &contact.addresses {
            if !seen.insert((channel, address)) {
                return Err(format!("{name} has the same address on {channel} as someone else"));
            }
        }
    }
    Ok(())
}

fn limits(written: &LimitsFile) -> Result<Limits, String> {
    let usual = Limits::default();
    if written.tries == Some(0) || written.messages == Some(0) {
        return Err("a limit of nothing tells nobody anything: leave the channel out instead".into());
    }
    let seconds = |written: Option<Seconds>, usual: Duration| {
        written.map_or(usual, |seconds| Duration::from_secs(seconds.0))
    };
    let mut limits = Limits {
        messages: written.messages.unwrap_or(usual.messages),
        within: seconds(written.within, usual.within),
        digest_above: written.digest_above.unwrap_or(usual.digest_above),
        remind_after: seconds(written.remind_after, usual.remind_after),
        reminders: written.reminders.unwrap_or(usual.reminders),
        ..usual
    };
    limits.retries.tries = written.tries.unwrap_or(limits.retries.tries);
    Ok(limits)
}

fn job_limits(tries: Option<u32>) -> JobLimits {
    let mut limits = JobLimits::default();
    limits.retries.tries = tries.unwrap_or(limits.retries.tries).max(1);
    limits
}
