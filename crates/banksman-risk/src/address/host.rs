//! Where a host is, with the spelling tricks undone.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Reach;
use crate::fact::Word;

/// Names under which clouds hand out credentials.
const METADATA: &[&str] = &[
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "metadata.azure.internal",
    "metadata.azure.com",
    "instance-data",
    "instance-data.ec2.internal",
    "metadata.tencentyun.com",
    "metadata.packet.net",
    "metadata.platformequinix.com",
];

/// Public names that resolve to this machine.
const LOOPBACK: &[&str] = &["localtest.me", "lvh.me", "vcap.me", "lacolhost.com", "fuf.me", "yoogle.com"];

/// Endings that only a private network resolves.
const PRIVATE: &[&str] = &[
    "local",
    "internal",
    "lan",
    "home",
    "corp",
    "intranet",
    "private",
    "localdomain",
    "home.arpa",
    "svc",
    "consul",
    "test",
    "mshome.net",
    "ts.net",
];

/// Services that answer with the address that is written in the name.
const ECHOING: &[&str] = &["nip.io", "sslip.io", "xip.io", "traefik.me", "backname.io"];

/// A host as it is talked to, and where it is.
pub(super) fn locate(written: &str) -> (String, Reach) {
    let host = spelled_out(written);
    if host.is_empty() {
        return (host, Reach::Unknown);
    }
    let reach = if let Some(address) = address_of(&host) {
        return (address.to_string(), reach_of(address));
    } else {
        reach_of_name(&host)
    };
    (host, reach)
}

/// In lower case, without escapes, brackets, scopes and the dot at the end.
fn spelled_out(written: &str) -> String {
    let mut host = written.trim().to_ascii_lowercase();
    if host.contains('%') && !host.starts_with('[') {
        host = super::decode_percent(&host).to_ascii_lowercase();
    }
    if !host.is_ascii() {
        // Full-width digits and letters, ideographic dots and the like become what a resolver would ask for.
        if let Ok(url::Host::Domain(ascii)) = url::Host::parse(&host) {
            host = ascii;
        } else if let Ok(other) = url::Host::parse(&host) {
            host = other.to_string();
        }
    }
    let inner = host.trim_start_matches('[').trim_end_matches(']');
    let inner = match inner.split_once('%') {
        Some((address, _scope)) if address.contains(':') => address,
        _ => inner,
    };
    inner.strip_suffix('.').unwrap_or(inner).to_owned()
}

fn address_of(host: &str) -> Option<IpAddr> {
    if host.contains(':') {
        return host.parse::<Ipv6Addr>().ok().map(unmapped);
    }
    // Only what could be a number is worth parsing: every other host ends in a letter.
    let last = host.rsplit('.').next()?;
    if !last.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    numeric_v4(host).map(IpAddr::V4)
}

/// An IPv4 address as C libraries read it: one to four numbers, each decimal, octal or hexadecimal.
fn numeric_v4(host: &str) -> Option<Ipv4Addr> {
    let mut parts = [0u64; 4];
    let mut count = 0usize;
    for text in host.split('.') {
        *parts.get_mut(count)? = number(text)?;
        count += 1;
    }
    let (leading, last) = match (count, parts) {
        (1, [last, ..]) => ([0, 0, 0], last),
        (2, [a, last, ..]) => ([a, 0, 0], last),
        (3, [a, b, last, _]) => ([a, b, 0], last),
        (4, [a, b, c, last]) => ([a, b, c], last),
        _ => return None,
    };
    // The last number fills all the bytes that are left.
    let bits_left = 8 * (5 - u32::try_from(count).ok()?);
    if leading.iter().any(|part| *part > 255) || last >= 1u64.checked_shl(bits_left)? {
        return None;
    }
    let [a, b, c] = leading;
    let address = (a << 24) | (b << 16) | (c << 8) | last;
    u32::try_from(address).ok().map(Ipv4Addr::from)
}

fn number(text: &str) -> Option<u64> {
    if let Some(hex) = text.strip_prefix("0x") {
        return if hex.is_empty() { Some(0) } else { u64::from_str_radix(hex, 16).ok() };
    }
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    if text.len() > 1 && text.starts_with('0') {
        // `08` is no octal number: some read it as decimal.
        return u64::from_str_radix(text, 8).ok().or_else(|| text.parse().ok());
    }
    text.parse().ok()
}

/// The IPv4 address inside of an IPv6 one: mapped, compatible, NAT64, 6to4.
fn unmapped(address: Ipv6Addr) -> IpAddr {
    let bytes = address.octets();
    let embedded = match address.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, _] if high != 0 => bytes.last_chunk::<4>().copied(),
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] => bytes.last_chunk::<4>().copied(),
        [0x2002, _, _, _, _, _, _, _] => bytes.get(2..6).and_then(|part| part.first_chunk::<4>().copied()),
        [0, 0, 0, 0, 0, 0xffff, _, _] => bytes.last_chunk::<4>().copied(),
        _ => None,
    };
    embedded.map_or(IpAddr::V6(address), |v4| IpAddr::V4(Ipv4Addr::from(v4)))
}

fn reach_of(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(v4) => reach_of_v4(v4),
        IpAddr::V6(v6) => reach_of_v6(v6),
    }
}

fn reach_of_v4(address: Ipv4Addr) -> Reach {
    match address.octets() {
        // Link-local metadata: AWS, Azure, GCP (169.254), ECS and EKS (170), then Alibaba, Azure's wire server, Oracle.
        [169, 254, 169 | 170, _] | [100, 100, 100, 200] | [168, 63, 129, 16] | [192, 0, 0, 192] => {
            Reach::Metadata
        }
        [0 | 127, ..] => Reach::Loopback,
        [10, ..]
        | [192, 168, ..]
        | [169, 254, ..]
        | [198, 18 | 19, ..]
        | [192, 0, 0, _]
        | [224..=255, ..] => Reach::Private,
        [172, second, ..] if (16..32).contains(&second) => Reach::Private,
        // Carriers' own, and the networks of Tailscale.
        [100, second, ..] if (64..128).contains(&second) => Reach::Private,
        _ => Reach::Public,
    }
}

fn reach_of_v6(address: Ipv6Addr) -> Reach {
    match address.segments() {
        [0xfd00, 0xec2, ..] | [0xfd20, 0xce, ..] => Reach::Metadata,
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Reach::Loopback,
        [first, ..] if first & 0xfe00 == 0xfc00 || first & 0xff80 == 0xfe80 || first & 0xff00 == 0xff00 => {
            Reach::Private
        }
        _ => Reach::Public,
    }
}

fn reach_of_name(host: &str) -> Reach {
    let ends_in = |suffix: &str| {
        host.strip_suffix(suffix).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    if METADATA.contains(&host) {
        return Reach::Metadata;
    }
    if ends_in("localhost") || host == "localhost.localdomain" || LOOPBACK.iter().any(|name| ends_in(name)) {
        return Reach::Loopback;
    }
    if let Some(suffix) = ECHOING.iter().find(|suffix| ends_in(suffix)) {
        let named = host.get(..host.len().saturating_sub(suffix.len() + 1)).unwrap_or_default();
        return echoed_address(named).map_or(Reach::Public, reach_of);
    }
    if host.contains(Word::HOLE) {
        // The end of a name decides, if enough of it is known: `$BUCKET.example.com`.
        let known = host.rsplit(Word::HOLE).next().unwrap_or_default();
        return if known.matches('.').count() >= 2 && known.starts_with('.') {
            Reach::Public
        } else {
            Reach::Unknown
        };
    }
    if PRIVATE.iter().any(|name| ends_in(name)) || !host.contains('.') {
        return Reach::Private;
    }
    Reach::Public
}

/// The address in `10-0-0-1.nip.io`, `app.10.0.0.1.nip.io`, `7f000001.nip.io`.
fn echoed_address(named: &str) -> Option<IpAddr> {
    let words: Vec<&str> = named.split(['.', '-']).collect();
    if let Some(four) = words.last_chunk::<4>()
        && let Ok(address) = four.join(".").parse::<Ipv4Addr>()
    {
        return Some(IpAddr::V4(address));
    }
    let last = words.last()?;
    (last.len() == 8)
        .then(|| u32::from_str_radix(last, 16).ok())
        .flatten()
        .map(|bits| IpAddr::V4(bits.into()))
}
