//! Two hosts, and a link between them.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::host::{HostError, IsolatedHost};
use crate::link::{BUCKET_BYTES, LinkSpeed, QUEUE_MS};
use crate::result::Calibration;

/// Where the server is, on the link.
pub const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 77, 1));
/// Where the client is.
pub const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 77, 2));
/// Each host's end of the link.
const INTERFACE: &str = "shoal0";
/// How often a byte goes there and back.
const TURNS: usize = 200;
/// What a stream is written and read in.
const BLOCK_BYTES: usize = 1 << 20;

/// Why a link could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// One of the hosts.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A stream over the link.
    #[error("a stream over the link: {0}")]
    Stream(#[from] std::io::Error),
}

/// Two hosts with a link between them, whose rate and delay can be set.
#[derive(Debug)]
pub struct Pair {
    /// Has the array.
    pub server: IsolatedHost,
    /// Wants its content.
    pub client: IsolatedHost,
}

impl Pair {
    /// Starts two hosts and joins them by a link without bounds; these directories go when the
    /// server goes, and so does the first of those `bound`, which the server finds at the second.
    ///
    /// # Errors
    /// Without root, or if a tool is missing or fails.
    pub fn start(vanishing: &[&Path], bound: Option<(&Path, &Path)>) -> Result<Self, HostError> {
        let pair = Self {
            server: IsolatedHost::start("server", vanishing, bound)?,
            client: IsolatedHost::start("client", &[], None)?,
        };
        let client = pair.client.first_process().to_string();
        let words = ["link", "add", INTERFACE, "type", "veth", "peer", "name", INTERFACE, "netns", &client];
        pair.server.configure("ip", &words)?;
        for (host, address) in [(&pair.server, SERVER), (&pair.client, CLIENT)] {
            host.configure("ip", &["address", "add", &format!("{address}/30"), "dev", INTERFACE])?;
            host.configure("ip", &["link", "set", INTERFACE, "up"])?;
        }
        Ok(pair)
    }

    /// Gives the link this speed, both ways.
    ///
    /// # Errors
    /// If `tc` is missing or fails.
    pub fn shape(&self, speed: LinkSpeed) -> Result<(), HostError> {
        let (rate, bucket) = (format!("{}bit", speed.counted_bits_per_s()), BUCKET_BYTES.to_string());
        let (latency, at) = (format!("{QUEUE_MS}ms"), ["qdisc", "replace", "dev", INTERFACE, "root", "tbf"]);
        let queue = ["rate", &rate, "burst", &bucket, "latency", &latency];
        for host in [&self.server, &self.client] {
            host.configure("tc", &[&at[..], &queue[..]].concat())?;
        }
        Ok(())
    }

    /// What the link really is: a plain TCP stream each way for so long, and the time of a byte
    /// there and back.
    ///
    /// # Errors
    /// If no stream comes through.
    pub fn calibrate(&self, speed: LinkSpeed, duration: Duration) -> Result<Calibration, LinkError> {
        let (from_client, to_server) = self.connect()?;
        let round_trip_ns = round_trip(from_client, to_server)?;
        let (from_client, to_server) = self.connect()?;
        let to_server_bytes_per_s = stream(from_client, to_server, duration)?;
        let (to_client, from_server) = self.connect()?;
        let to_client_bytes_per_s = stream(from_server, to_client, duration)?;
        Ok(Calibration {
            link_bits_per_s: speed.bits_per_s(),
            expected_bytes_per_s: speed.payload_bytes_per_s(),
            to_server_bytes_per_s,
            to_client_bytes_per_s,
            round_trip_ns,
        })
    }

    /// A connection: the client's end, and the server's.
    fn connect(&self) -> Result<(TcpStream, TcpStream), LinkError> {
        let listener = self.server.within(|| TcpListener::bind(SocketAddr::new(SERVER, 0)))??;
        let address = listener.local_addr()?;
        let patience = Duration::from_secs(60);
        let client = self.client.within(|| TcpStream::connect_timeout(&address, patience))??;
        let server = listener.accept()?.0;
        for end in [&client, &server] {
            end.set_nodelay(true)?;
            end.set_read_timeout(Some(patience))?;
            end.set_write_timeout(Some(patience))?;
        }
        Ok((client, server))
    }
}

/// The median time of a byte to the other host and back.
fn round_trip(mut near: TcpStream, mut far: TcpStream) -> Result<u64, LinkError> {
    let echo = thread::spawn(move || {
        let mut byte = [0];
        while far.read_exact(&mut byte).is_ok() && far.write_all(&byte).is_ok() {}
    });
    let mut turns = Vec::with_capacity(TURNS);
    for _ in 0..TURNS {
        let start = Instant::now();
        near.write_all(&[1])?;
        near.read_exact(&mut [0])?;
        turns.push(start.elapsed());
    }
    drop(near);
    // It ends with the connection, and has nothing to tell.
    let _ = echo.join();
    turns.sort_unstable();
    Ok(u64::try_from(turns[TURNS / 2].as_nanos()).unwrap_or(u64::MAX))
}

/// The rate at which one end gets what the other sends for so long, in bytes a second. The clock
/// runs from before the first byte is sent to the end of the stream: where the machine is busy,
/// what waits to be received is not taken for fast.
fn stream(mut from: TcpStream, mut to: TcpStream, duration: Duration) -> Result<u64, LinkError> {
    let (mut block, start) = (vec![0x5a; BLOCK_BYTES], Instant::now());
    let content = block.clone();
    let sender = thread::spawn(move || {
        while start.elapsed() < duration {
            from.write_all(&content)?;
        }
        Ok::<(), std::io::Error>(())
    });
    let mut bytes = 0_u128;
    loop {
        match to.read(&mut block)? {
            0 => break,
            got => bytes += got as u128,
        }
    }
    let elapsed = start.elapsed().as_nanos().max(1);
    if let Ok(sent) = sender.join() {
        sent?;
    }
    Ok(u64::try_from(bytes * 1_000_000_000 / elapsed).unwrap_or(u64::MAX))
}
