//! Which addresses may be called.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// Which addresses may be called: those of the public internet, and the networks that the operator names.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    named: Vec<IpNet>,
}

impl Reach {
    /// The public internet and nothing else.
    #[must_use]
    pub fn public() -> Self {
        Self::default()
    }

    /// The public internet, and these networks.
    #[must_use]
    pub fn and(named: Vec<IpNet>) -> Self {
        Self { named }
    }

    /// Whether an address may be called.
    #[must_use]
    pub fn admits(&self, address: IpAddr) -> bool {
        self.names(address) || is_public(address.to_canonical())
    }

    /// Whether the operator named it.
    #[must_use]
    pub fn names(&self, address: IpAddr) -> bool {
        // `::ffff:127.0.0.1` is 127.0.0.1, in a form that a list of IPv4 networks would miss.
        let address = address.to_canonical();
        self.named.iter().any(|network| network.contains(&address))
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// The special-purpose registry of IANA, and what clouds keep for themselves elsewhere.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, d] = address.octets();
    !matches!(
        (a, b, c, d),
        // This network, private networks, our own machine.
        (0 | 10 | 127, ..) | (172, 16..=31, ..) | (192, 168, ..)
        // Behind a carrier's translation; some clouds have their metadata there.
        | (100, 64..=127, ..)
        // The link, and metadata.
        | (169, 254, ..)
        // Protocol assignments, documentation, the old relays, benchmarks.
        | (192, 0, 0 | 2, _) | (192, 88, 99, _) | (198, 18..=19, ..) | (198, 51, 100, _) | (203, 0, 113, _)
        // The wire server of one cloud has a public address.
        | (168, 63, 129, 16)
        // Multicast, reserved, broadcast.
        | (224..=255, ..)
    )
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    // Only 2000::/3 is given out as global; everything else (our own machine, the link, unique local, multicast,
    // addresses that carry an IPv4 address through a translator) stays out.
    (0x2000..=0x3fff).contains(&first)
        && !matches!(
            (first, second),
            // Protocol assignments, Teredo among them, and documentation.
            (0x2001, 0..=0x01ff | 0x0db8) | (0x3fff, 0..=0x0fff)
            // Carries any IPv4 address.
            | (0x2002, _)
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_public_internet_may_be_called() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.255.255",
            "100.128.0.1",
            "192.0.1.1",
            "169.253.0.1",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2001:4860:4860::8888",
            "2a00:1450::1",
        ] {
            assert!(Reach::public().admits(ip(address)), "{address}");
        }
    }

    #[test]
    fn nothing_else_may() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "127.0.0.1",
            "127.255.255.254",
            "100.64.0.1",
            "100.100.100.200",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "168.63.129.16",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::a00:1",
            "100::1",
            "2001::1",
            "2001:10::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!Reach::public().admits(ip(address)), "{address}");
        }
    }

    #[test]
    fn what_the_operator_names_may_be_called_in_any_spelling() {
        let reach = Reach::and(vec!["127.0.0.0/8".parse().unwrap(), "fd12::/16".parse().unwrap()]);
        for address in ["127.0.0.1", "::ffff:127.0.0.1", "fd12::7", "1.1.1.1"] {
            assert!(reach.admits(ip(address)), "{address}");
        }
        for address in ["10.0.0.1", "::1", "fd13::7", "::ffff:10.0.0.1"] {
            assert!(!reach.admits(ip(address)), "{address}");
        }
    }
}
