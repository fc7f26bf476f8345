//! Arguments of `shoal serve`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use shoal_serve::Address;
use shoal_text::{parse_size, whole_number};

use super::arrays::ArrayArgs;
use super::engine::EngineArgs;
use super::measure::SimulatedArrayArgs;
use super::run::{SpeedLimits, UnattendedArgs};
use super::write_back::WriteBackArgs;

/// `shoal serve`
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// Where to: unix:PATH or tcp:HOST:PORT, an IPv6 address in brackets. May be given several
    /// times; if left out, a socket beside the one at which the array is administered.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) nbd: Vec<Address>,
    /// What to serve: NAME for all of the array, NAME=OFFSET+SIZE for a part of it, and :ro after
    /// either if nobody may write there. May be given several times; if left out, all of the array
    /// under its own name.
    #[arg(long, value_name = "EXPORT")]
    pub(crate) export: Vec<ExportArg>,
    /// For `attach`: whoever starts the server so says where the array is, and tells on what it
    /// says.
    #[arg(long, hide = true)]
    pub(crate) launched: bool,
    /// Open the array for reading only; nothing is written to any member.
    #[arg(long, short)]
    pub(crate) read_only: bool,
    /// Demand TLS of every client, with server-cert.pem and server-key.pem (and ca-cert.pem) in
    /// this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) tls_certificates: Option<PathBuf>,
    /// Let only clients in whose certificate ca-cert.pem vouches for. An address that other
    /// machines reach needs this, keys, or --allow-strangers.
    #[arg(long, requires = "tls_certificates")]
    pub(crate) tls_verify_peer: bool,
    /// Serve at an address that other machines reach, over TLS, to clients that show no
    /// certificate: anybody who reaches it can read and write the array, though nobody can listen.
    #[arg(long, requires = "tls_certificates", conflicts_with = "tls_verify_peer")]
    pub(crate) allow_strangers: bool,
    /// Demand TLS of every client, with a user and key out of this file: lines of USER:HEXKEY, as
    /// psktool writes them.
    #[arg(long, value_name = "FILE", conflicts_with = "tls_certificates")]
    pub(crate) tls_psk: Option<PathBuf>,
    /// Serve at an address that other machines reach without TLS: anybody who reaches it can read
    /// and write the array.
    #[arg(long, conflicts_with_all = ["tls_certificates", "tls_psk"])]
    pub(crate) allow_plain_tcp: bool,
    /// Answer with an error (EIO) where drives have let nothing of a request move for so many
    /// seconds. A member that answers nothing for half as long is taken out, if the array can do
    /// without it.
    #[arg(long, value_name = "SECONDS", default_value_t = shoal_serve::DEADLINE.as_secs(), value_parser = whole_number(1_u64..=86_400))]
    pub(crate) deadline: u64,
    /// What answers writes before the members have them.
    #[command(flatten)]
    pub(crate) write_back: WriteBackArgs,
    /// Serve a degraded array that was not shut down cleanly, though some blocks may be wrong; or,
    /// for reading only, what is left of one that has lost more members than it survives.
    #[arg(long, short)]
    pub(crate) force: bool,
    /// Who runs it.
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    /// How fast background work goes.
    #[command(flatten)]
    pub(crate) speed: SpeedLimits,
    /// For arrays that nobody watches.
    #[command(flatten)]
    pub(crate) unattended: UnattendedArgs,
    /// Which array.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
    /// What simulated drives, given instead of members, are made into; they work at the pace of
    /// real ones.
    #[command(flatten)]
    pub(crate) simulated: SimulatedArrayArgs,
}

/// What to serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExportArg {
    /// Under which name.
    pub(crate) name: String,
    /// Which part: first byte and number of bytes; if none, all.
    pub(crate) part: Option<(u64, u64)>,
    /// Whether nobody may write.
    pub(crate) read_only: bool,
}

impl FromStr for ExportArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (rest, read_only) = text.strip_suffix(":ro").map_or((text, false), |rest| (rest, true));
        let Some((name, part)) = rest.split_once('=') else {
            return Ok(Self { name: rest.to_owned(), part: None, read_only });
        };
        let (offset, size) = part.split_once('+').ok_or_else(|| format!("`{part}` is no part: write OFFSET+SIZE"))?;
        Ok(Self { name: name.to_owned(), part: Some((parse_size(offset)?, parse_size(size)?)), read_only })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_are_read_as_people_write_them() {
        let export = |name: &str, part, read_only| Ok(ExportArg { name: name.to_owned(), part, read_only });
        assert_eq!("pond".parse(), export("pond", None, false));
        assert_eq!("pond:ro".parse(), export("pond", None, true));
        assert_eq!("ice=1M+64K:ro".parse(), export("ice", Some((1 << 20, 64 << 10)), true));
        assert!("ice=1M".parse::<ExportArg>().is_err());
        assert!("ice=1M+many".parse::<ExportArg>().is_err());
    }
}
