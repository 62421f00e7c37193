//! What every handler can reach.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, OnceLock};

use banksman_engine::Engine;
use banksman_mcp::Gateway;
use banksman_oidc::Provider;
use banksman_outbox::Outbox;
use tokio::sync::watch;

use crate::Hooks;
use crate::address::PublicAddress;
use crate::attending::Attending;
use crate::console::limits::Attempts;

/// What every handler can reach. Cheap to clone, because every request does.
#[derive(Clone)]
pub struct App(Arc<Shared>);

/// What the clones share.
pub struct Shared {
    pub(crate) engine: Arc<Engine>,
    pub(crate) hosts: Hosts,
    /// Becomes true when the server is to end: long answers stop waiting.
    pub(crate) stopping: watch::Receiver<bool>,
    /// The OpenAPI document, made once.
    pub(crate) openapi: String,
    /// Where people reach it.
    pub(crate) address: PublicAddress,
    /// Whether the last word about where requests come from is a proxy's.
    pub(crate) behind_proxy: bool,
    pub(crate) attempts: Attempts,
    /// Who else vouches for people.
    pub(crate) provider: Option<Provider>,
    /// What stands before MCP servers, if any are configured.
    pub(crate) gateway: Option<Arc<Gateway>>,
    /// The channels that people answer on, once they are known.
    pub(crate) hooks: OnceLock<Hooks>,
    /// What people did on them and is not done yet.
    pub(crate) attending: Attending,
    /// What carries messages to people, if there is any way to.
    outbox: OnceLock<Arc<Outbox>>,
}

impl Shared {
    /// Ends when the server is to end.
    pub(crate) async fn stopped(&self) {
        // If the sender is gone, so is everyone who could want the server.
        let _ = self.stopping.clone().wait_for(|stop| *stop).await;
    }
}

impl std::ops::Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

/// What a server may have besides its engine.
pub struct AppConfig {
    /// What stands before MCP servers.
    pub gateway: Option<Arc<Gateway>>,
    /// Where people reach it.
    pub address: PublicAddress,
    /// Whether requests come through a proxy of ours, which says where they come from.
    pub behind_proxy: bool,
    /// Who else vouches for people.
    pub provider: Option<Provider>,
}

impl AppConfig {
    /// At this address, with nothing else.
    #[must_use]
    pub fn at(address: PublicAddress) -> Self {
        Self { gateway: None, address, behind_proxy: false, provider: None }
    }
}

impl App {
    /// An application over an engine, for the given hosts.
    #[must_use]
    pub fn new(
        engine: Arc<Engine>,
        hosts: Hosts,
        stopping: watch::Receiver<bool>,
        config: AppConfig,
    ) -> Self {
        let AppConfig { gateway, address, behind_proxy, provider } = config;
        let (openapi, attempts) = (crate::document(), Attempts::default());
        Self(Arc::new(Shared {
            engine,
            hosts,
            stopping,
            openapi,
            address,
            behind_proxy,
            attempts,
            provider,
            gateway,
            hooks: OnceLock::new(),
            attending: Attending::default(),
            outbox: OnceLock::new(),
        }))
    }

    /// Listens on channels from now on. Once: later calls change nothing.
    pub fn listen_on(&self, hooks: Hooks) {
        let _ = self.hooks.set(hooks);
    }

    /// Tells people by this outbox. Once: later calls change nothing.
    pub fn tell_by(&self, outbox: Arc<Outbox>) {
        let _ = self.outbox.set(outbox);
    }

    pub(crate) fn outbox(&self) -> Option<&Arc<Outbox>> {
        self.outbox.get()
    }

    /// There is something to send that its workers do not know of.
    pub(crate) fn nudge_outbox(&self) {
        if let Some(outbox) = self.outbox() {
            outbox.nudge();
        }
    }
}

/// The names that this server answers to. A page of another name that resolves to this machine gets nothing.
#[derive(Debug, Clone)]
pub struct Hosts {
    names: HashSet<String>,
    /// Whether it listens on every address that the machine has.
    everywhere: bool,
}

impl Hosts {
    /// The names of a server that listens on `address`, and `more` that were configured.
    #[must_use]
    pub fn of(address: SocketAddr, more: &[String]) -> Self {
        let mut names: HashSet<String> = ["localhost", "127.0.0.1", "[::1]"].map(String::from).into();
        match address.ip() {
            IpAddr::V4(ip) if !ip.is_unspecified() => {
                names.insert(ip.to_string());
            }
            IpAddr::V6(ip) if !ip.is_unspecified() => {
                names.insert(format!("[{ip}]"));
            }
            IpAddr::V4(_) | IpAddr::V6(_) => {}
        }
        names.extend(more.iter().map(|name| name.to_ascii_lowercase()));
        Self { names, everywhere: address.ip().is_unspecified() }
    }

    /// Whether a `Host` header, with or without a port, names this server.
    pub(crate) fn allow(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            // The colons inside an IPv6 literal are no port.
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !port.is_empty() => name,
            Some(_) | None => host,
        };
        self.names.contains(name)
            || self.names.contains(&name.to_ascii_lowercase())
            || self.everywhere && is_address(name)
    }
}

/// An address is whose it is: only a name can be pointed elsewhere by whoever owns it.
fn is_address(name: &str) -> bool {
    let version_6 = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    version_6.map_or_else(|| name.parse::<Ipv4Addr>().is_ok(), |inner| inner.parse::<Ipv6Addr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_listens_everywhere_is_found_by_any_address_but_by_no_other_name() {
        let hosts = Hosts::of("0.0.0.0:7447".parse().unwrap(), &[]);
        for yes in ["192.0.2.2:7447", "192.0.2.2", "[2001:db8::1]:7447", "localhost"] {
            assert!(hosts.allow(yes), "{yes}");
        }
        for no in ["evil.example:7447", "192.0.2.2.nip.io", "[evil]", "3221225986", "2001:db8::1", ""] {
            assert!(!hosts.allow(no), "{no}");
        }
        assert!(!Hosts::of("127.0.0.1:7447".parse().unwrap(), &[]).allow("192.0.2.2"));
    }

    #[test]
    fn only_our_own_names() {
        let hosts = Hosts::of("127.0.0.1:7447".parse().unwrap(), &["banksman.example".into()]);
        for yes in ["localhost", "LOCALHOST:7447", "127.0.0.1:1", "[::1]", "[::1]:7447", "banksman.example"] {
            assert!(hosts.allow(yes), "{yes}");
        }
        for no in [
            "",
            "evil.example",
            "evil.example:7447",
            "localhost.evil.example",
            "localhost:",
            "127.0.0.1.nip.io",
            "::1",
        ] {
            assert!(!hosts.allow(no), "{no}");
        }
    }
}
