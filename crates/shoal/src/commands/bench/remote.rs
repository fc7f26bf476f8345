//! Exports of NBD servers as targets: `nbd+unix:///NAME?socket=PATH` and `nbd://HOST:PORT/NAME`, as
//! libnbd writes them.

use std::path::PathBuf;
use std::time::Duration;

use shoal_attach::{Client, ClientOptions, Remote};
use shoal_serve::Address;

use crate::exit::Failure;

/// NBD's own port.
const PORT: u16 = 10_809;
/// A request that nobody answers fails after so long, and is counted as an error.
const DEADLINE: Duration = Duration::from_secs(60);

/// An export, as it is named.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named {
    address: Address,
    export: String,
}

impl Named {
    /// What a server gives to whoever names nothing.
    pub(super) fn first_export(address: Address) -> Self {
        Self { address, export: String::new() }
    }
}

/// The exports that the targets name: all of them, or none.
pub(super) fn named(targets: &[PathBuf]) -> Result<Option<Vec<Named>>, Failure> {
    let parsed: Vec<_> = targets.iter().map(|target| target.to_str().and_then(parse)).collect();
    if parsed.iter().all(Option::is_none) {
        return Ok(None);
    }
    let named = parsed.into_iter().collect::<Option<Result<Vec<_>, String>>>();
    let named =
        named.ok_or_else(|| Failure::usage("exports of NBD servers are measured without other targets beside them"))?;
    named.map(Some).map_err(Failure::Usage)
}

/// Connects to one. Over a Unix socket a server may be restarted meanwhile, over TCP not.
pub(super) fn open(named: &Named, requests: u32, request_bytes: u32) -> Result<Remote, Failure> {
    let options = ClientOptions { export: named.export.clone(), deadline: DEADLINE, connections: 1 };
    let client = Client::open(&named.address, &options).map_err(Failure::failed)?;
    Remote::new(client, requests, request_bytes).map_err(Failure::failed)
}

/// Nothing if it is no name of an export; else the export, or what is wrong with it.
fn parse(text: &str) -> Option<Result<Named, String>> {
    let wrong = || Err(format!("`{text}` names no export: use nbd+unix:///NAME?socket=PATH or nbd://HOST:PORT/NAME"));
    if let Some(rest) = text.strip_prefix("nbd+unix:///") {
        let parsed = rest.split_once("?socket=").map(|(name, path)| (decode(name), decode(path)));
        return Some(match parsed {
            Some((Some(export), Some(path))) if !path.is_empty() => {
                Ok(Named { address: Address::Unix(path.into()), export })
            }
            _ => wrong(),
        });
    }
    let rest = text.strip_prefix("nbd://")?;
    let (authority, name) = rest.split_once('/').unwrap_or((rest, ""));
    let with_port = match authority.rsplit_once(':') {
        Some((_, port)) if !port.ends_with(']') => authority.to_owned(),
        _ => format!("{authority}:{PORT}"),
    };
    let address = format!("tcp:{with_port}").parse();
    Some(match (address, decode(name)) {
        (Ok(address), Some(export)) => Ok(Named { address, export }),
        _ => wrong(),
    })
}

/// Text with `%20` and the like for what may not stand in a URI.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_are_named_as_libnbd_names_them() {
        let good = |text: &str, address: &str, export: &str| {
            let named = Named { address: address.parse().expect("an address"), export: export.to_owned() };
            assert_eq!(parse(text), Some(Ok(named)), "{text}");
        };
        good("nbd+unix:///?socket=/run/a%20b.nbd", "unix:/run/a b.nbd", "");
        good("nbd+unix:///pond?socket=pond.nbd", "unix:pond.nbd", "pond");
        good("nbd://host/ice", "tcp:host:10809", "ice");
        good("nbd://10.0.0.1:99", "tcp:10.0.0.1:99", "");
        good("nbd://[::1]/pond", "tcp:[::1]:10809", "pond");
        assert_eq!(parse("/dev/sdb"), None);
        for text in ["nbd+unix:///pond", "nbd+unix:///?socket=", "nbd:///pond", "nbd://host:x/", "nbd://host/%zz"] {
            assert!(parse(text).is_some_and(|named| named.is_err()), "{text}");
        }
    }
}
