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

    /// Whether all of it is for private use: no packet to it or from it crosses the internet (RFC 1918, 4193, 3927, 4291).
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
