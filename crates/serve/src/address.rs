//! Where a server listens, as people write it.

use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

/// A place to listen at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A socket in the file system: `unix:PATH`.
    Unix(PathBuf),
    /// A host's port: `tcp:HOST:PORT`, and `tcp:[ADDRESS]:PORT` for IPv6.
    Tcp {
        /// Name or number.
        host: String,
        /// 0 for any that is free.
        port: u16,
    },
}

/// Why an address is none.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no address: use unix:PATH, tcp:HOST:PORT or tcp:[IPv6]:PORT")]
pub struct AddressError {
    text: String,
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = || AddressError { text: text.to_owned() };
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        let (host, port) = text.strip_prefix("tcp:").and_then(|rest| rest.rsplit_once(':')).ok_or_else(wrong)?;
        let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        if host.is_empty() || (bracketed.is_none() && host.contains(':')) {
            return Err(wrong());
        }
        let port = port.parse().map_err(|_| wrong())?;
        Ok(Self::Tcp { host: bracketed.unwrap_or(host).to_owned(), port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
            Self::Tcp { host, port } if host.contains(':') => write!(formatter, "tcp:[{host}]:{port}"),
            Self::Tcp { host, port } => write!(formatter, "tcp:{host}:{port}"),
        }
    }
}

/// What a host's name leads to.
pub(crate) fn resolve(host: &str, port: u16) -> std::io::Result<Vec<SocketAddr>> {
    match host.parse::<IpAddr>() {
        Ok(address) => Ok(vec![SocketAddr::new(address, port)]),
        Err(_) => Ok((host, port).to_socket_addrs()?.collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written_alike() {
        for text in ["unix:/run/pond.sock", "tcp:localhost:10809", "tcp:[::1]:10809", "tcp:127.0.0.1:0"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        for text in ["", "unix:", "tcp:", "tcp:host", "tcp::1", "tcp:::1:10809", "tcp:host:99999", "/run/pond.sock"] {
            assert_eq!(text.parse::<Address>(), Err(AddressError { text: text.to_owned() }));
        }
    }
}
