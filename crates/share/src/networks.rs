//! Networks: who is answered.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// Addresses that begin with the same bits, as 192.168.1.0/24.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix_bits: u8,
}

/// Why a text is no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no network: write ADDRESS/BITS, as 192.168.1.0/24 or fd00:1234::/64")]
pub struct NetworkError(String);

impl Network {
    /// The network of that many bits in which an address is; `None` if an address has fewer bits.
    pub fn around(address: IpAddr, prefix_bits: u8) -> Option<Self> {
        let address = match address {
            IpAddr::V4(four) if prefix_bits <= 32 => {
                let mask = u32::MAX.checked_shl(32 - u32::from(prefix_bits)).unwrap_or(0);
                IpAddr::V4((four.to_bits() & mask).into())
            }
            IpAddr::V6(six) if prefix_bits <= 128 => {
                let mask = u128::MAX.checked_shl(128 - u32::from(prefix_bits)).unwrap_or(0);
                IpAddr::V6((six.to_bits() & mask).into())
            }
            _ => return None,
        };
        Some(Self { address, prefix_bits })
    }

    /// Whether an address is in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        Self::around(address, self.prefix_bits).is_some_and(|network| network == *self)
    }

    /// Whether all of it is for private use: no packet to it or from it crosses the internet (RFC
    /// 1918, 4193, 3927, 4291).
    pub fn is_private(&self) -> bool {
        const PRIVATE: [&str; 8] = [
            "10.0.0.0/8",
            "172.16.0.0/12",
            "192.168.0.0/16",
            "169.254.0.0/16",
            "127.0.0.0/8",
            "fc00::/7",
            "fe80::/10",
            "::1/128",
        ];
        PRIVATE.iter().any(|text| {
            let private: Self = text.parse().expect("written here");
            private.prefix_bits <= self.prefix_bits && private.contains(self.address)
        })
    }

    /// Whether it holds addresses that every cable has (RFC 4291), and that are told apart by the
    /// name of an interface alone.
    pub fn is_link_local_6(&self) -> bool {
        matches!(self.address, IpAddr::V6(six) if six.is_unicast_link_local())
    }

    /// The first address.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// How many bits all of its addresses begin with.
    pub fn prefix_bits(&self) -> u8 {
        self.prefix_bits
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let refused = || NetworkError(text.to_owned());
        let (address, bits) = text.split_once('/').ok_or_else(refused)?;
        let address = address.parse().map_err(|_| refused())?;
        let bits = bits.parse().map_err(|_| refused())?;
        Self::around(address, bits).ok_or_else(refused)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_bits)
    }
}

/// An address of this machine, with the network that it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The interface's name.
    pub name: String,
    /// Its address there.
    pub address: IpAddr,
    /// Who else is there.
    pub network: Network,
}

/// The addresses that `ip -oneline address show` lists, without those of the machine's talk with
/// itself. Link-local ones of IPv6 are left out: they mean nothing without the name of an
/// interface.
pub fn interfaces(listing: &str) -> Vec<Interface> {
    listing.lines().filter_map(interface).collect()
}

/// A line: number, interface, family, ADDRESS/BITS, and more.
fn interface(line: &str) -> Option<Interface> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let (name, family, place) = (words.next()?, words.next()?, words.next()?);
    let (address, bits) = place.split_once('/').filter(|_| family.starts_with("inet"))?;
    let address: IpAddr = address.parse().ok()?;
    let link_local = matches!(address, IpAddr::V6(six) if six.is_unicast_link_local());
    let network = Network::around(address, bits.parse().ok()?)?;
    let counts = !address.is_loopback() && !link_local;
    counts.then(|| Interface { name: name.to_owned(), address, network })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail by panic")]
mod tests {
    use super::*;

    fn network(text: &str) -> Network {
        text.parse().unwrap()
    }

    #[test]
    fn a_network_is_told_by_its_bits() {
        assert_eq!(network("192.168.1.77/24").to_string(), "192.168.1.0/24");
        assert!(network("192.168.1.0/24").contains("192.168.1.200".parse().unwrap()));
        assert!(!network("192.168.1.0/24").contains("192.168.2.1".parse().unwrap()));
        assert!(!network("192.168.1.0/24").contains("fd00::1".parse().unwrap()));
        assert!(network("0.0.0.0/0").contains("8.8.8.8".parse().unwrap()));
        assert!(network("fd00::5/64").contains("fd00::ffff".parse().unwrap()));
        for wrong in ["192.168.1.0", "192.168.1.0/33", "fd00::/129", "pond/8", "192.168.1.0/24 0.0.0.0/0", ""] {
            assert!(wrong.parse::<Network>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_network_is_private_if_all_of_it_is() {
        for private in ["10.0.0.0/8", "192.168.7.0/24", "172.31.0.0/16", "fd12::/48", "169.254.0.0/16", "127.0.0.0/8"] {
            assert!(network(private).is_private(), "{private}");
        }
        for public in
            ["0.0.0.0/0", "10.0.0.0/7", "172.32.0.0/16", "192.0.2.0/24", "8.8.8.8/32", "2001:db8::/32", "::/0"]
        {
            assert!(!network(public).is_private(), "{public}");
        }
    }

    #[test]
    fn interfaces_are_read_as_ip_lists_them() {
        let listing = "1: lo    inet 127.0.0.1/8 scope host lo\\       valid_lft forever preferred_lft forever\n\
                       4: eth0    inet 192.168.1.7/24 brd 192.168.1.255 scope global eth0\\       valid_lft forever\n\
                       4: eth0    inet6 fd00::2/64 scope global nodad \\       valid_lft forever preferred_lft forever\n\
                       4: eth0    inet6 fe80::fc:ff:fe00:1/64 scope link \\       valid_lft forever\nnonsense\n";
        let found: Vec<_> = interfaces(listing).into_iter().map(|it| (it.name, it.network.to_string())).collect();
        assert_eq!(
            found,
            [("eth0".to_owned(), "192.168.1.0/24".to_owned()), ("eth0".to_owned(), "fd00::/64".to_owned())]
        );
    }
}
