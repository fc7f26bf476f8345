//! Listening: a socket in the file system for this machine, or a port.

use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use openssl::ssl::SslContext;
use rustix::fs::Mode;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with};

use crate::address::{Address, resolve};
use crate::handshakes::{Handshakes, prepare_tcp, prepare_unix};
use crate::tls::{Clients, TlsError, TlsFiles};

/// Clients that the kernel keeps waiting.
const BACKLOG: i32 = 64;
/// Where connections cannot be taken (too many open files), they are tried again after so long.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// What keeps strangers out.
#[derive(Clone, Debug)]
pub enum Protection {
    /// A socket's permissions, or that only this machine can reach the port.
    Local,
    /// TLS, which every client has to begin with; [`Clients`] says whom certificates let in.
    Tls(TlsFiles),
    /// Nothing: whoever reaches the port reads and writes the array.
    None,
}

impl Protection {
    /// Why an address that other machines reach is not listened at.
    fn refusal(&self, address: &Address) -> Option<ListenError> {
        match self {
            Self::None => None,
            Self::Local => Some(ListenError::Unprotected(address.clone())),
            Self::Tls(TlsFiles::Certificates { clients: Clients::Anybody, .. }) => None,
            Self::Tls(files) => (!files.keep_strangers_out()).then(|| ListenError::Strangers(address.clone())),
        }
    }
}

/// Why it cannot be listened.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// What is at the path is no socket.
    #[error("{} is no socket: name another place", .0.display())]
    NoSocket(PathBuf),
    /// Somebody else listens there.
    #[error("{}: somebody listens there already: name another place", .0.display())]
    Taken(PathBuf),
    /// A port for the world without TLS.
    #[error(
        "{0} can be reached from other machines, and without TLS anybody could read and write the array: let in who has a certificate \
         (--tls-certificates with --tls-verify-peer) or a key (--tls-psk), listen at 127.0.0.1, or allow it (--allow-plain-tcp)"
    )]
    Unprotected(Address),
    /// A port for the world with TLS that keeps nobody out.
    #[error(
        "{0} can be reached from other machines, and a server's certificate keeps nobody out: anybody could read and write the array: let in who \
         has a certificate (--tls-verify-peer) or a key (--tls-psk), listen at 127.0.0.1, or say that strangers may write (--allow-strangers)"
    )]
    Strangers(Address),
    /// The certificates.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The system says no.
    #[error("{address}: {source}")]
    System {
        /// Where.
        address: Address,
        /// The error.
        source: io::Error,
    },
}

impl ListenError {
    /// Whether it was refused for safety.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Unprotected(_) | Self::Strangers(_) | Self::NoSocket(_) | Self::Taken(_))
    }
}

/// A socket that clients can connect to. A path is removed when this is dropped.
#[derive(Debug)]
pub struct Listener {
    address: Address,
    socket: Socket,
    tls: Option<SslContext>,
}

#[derive(Debug)]
enum Socket {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Listener {
    /// Listens at an address, if that is safe with the protection that there is.
    pub fn open(address: &Address, protection: &Protection) -> Result<Self, ListenError> {
        let system = |source: io::Error| ListenError::System { address: address.clone(), source };
        let all = match address {
            Address::Unix(_) => Vec::new(),
            Address::Tcp { host, port } => resolve(host, *port).map_err(system)?,
        };
        let is_local = all.iter().all(|it| it.ip().is_loopback());
        if let Some(refusal) = protection.refusal(address).filter(|_| !is_local) {
            return Err(refusal);
        }
        let tls = match protection {
            Protection::Tls(files) => Some(files.load()?),
            Protection::Local | Protection::None => None,
        };
        let (address, socket) = match address {
            Address::Unix(path) => {
                clear(path).map_err(|error| error.unwrap_or_else(system))?;
                (address.clone(), Socket::Unix(listen_at_path(path).map_err(system)?))
            }
            Address::Tcp { host, .. } => {
                let listener = TcpListener::bind(&all[..]).map_err(system)?;
                let port = listener.local_addr().map_err(system)?.port();
                (Address::Tcp { host: host.clone(), port }, Socket::Tcp(listener))
            }
        };
        Ok(Self { address, socket, tls })
    }

    /// Where it listens, with the port that was found.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Lets clients in for as long as the process lives, on a thread of its own.
    pub fn start(&self, handshakes: Handshakes) -> io::Result<()> {
        let tls = self.tls.clone();
        let mut accept: Box<dyn FnMut() -> io::Result<OwnedFd> + Send> = match &self.socket {
            Socket::Unix(listener) => {
                let listener = listener.try_clone()?;
                Box::new(move || {
                    let (stream, _) = listener.accept()?;
                    prepare_unix(&stream);
                    Ok(stream.into())
                })
            }
            Socket::Tcp(listener) => {
                let listener = listener.try_clone()?;
                Box::new(move || {
                    let (stream, _) = listener.accept()?;
                    prepare_tcp(&stream)?;
                    Ok(stream.into())
                })
            }
        };
        let thread = std::thread::Builder::new().name("shoal-nbd".to_owned());
        thread.spawn(move || {
            loop {
                match accept() {
                    Ok(socket) => handshakes.let_in(socket, tls.clone()),
                    Err(_) => std::thread::sleep(ACCEPT_AGAIN),
                }
            }
        })?;
        Ok(())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Address::Unix(path) = &self.address {
            // One that stays behind leads to nobody, which clients understand.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Makes room for a socket: one that a killed process left behind is removed. Without an own error,
/// it is the system's.
fn clear(path: &Path) -> Result<(), Result<ListenError, io::Error>> {
    let there = match path.symlink_metadata() {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Err(error)),
    };
    if !there.file_type().is_socket() {
        return Err(Ok(ListenError::NoSocket(path.to_owned())));
    }
    if UnixStream::connect(path).is_ok() {
        return Err(Ok(ListenError::Taken(path.to_owned())));
    }
    std::fs::remove_file(path).map_err(Err)
}

/// Only the user who runs this can connect, from the first moment on: a socket's mode is its
/// file's.
fn listen_at_path(path: &Path) -> io::Result<UnixListener> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who may come in at an address: refused, or let past that to files that are not there.
    fn is_refused(address: &str, protection: &Protection) -> bool {
        match Listener::open(&address.parse().unwrap(), protection) {
            Err(error) if error.is_refusal() => true,
            Ok(_) | Err(ListenError::Tls(_)) => false,
            Err(error) => panic!("{address}: {error}"),
        }
    }

    #[test]
    fn who_comes_from_another_machine_shows_who_it_is_or_is_a_stranger_by_name() {
        let certificates = |clients| {
            let directory = PathBuf::from("/there/are/no/such/files");
            Protection::Tls(TlsFiles::Certificates { directory, clients })
        };
        let keys = Protection::Tls(TlsFiles::Keys("/there/are/no/such/files".into()));
        for (protection, far) in [
            (Protection::Local, true),
            (Protection::None, false),
            (certificates(Clients::Local), true),
            (certificates(Clients::Certified), false),
            (certificates(Clients::Anybody), false),
            (keys, false),
        ] {
            assert!(!is_refused("tcp:127.0.0.1:0", &protection), "{protection:?}");
            assert_eq!(is_refused("tcp:0.0.0.0:0", &protection), far, "{protection:?}");
        }
        let refusal = Listener::open(&"tcp:0.0.0.0:0".parse().unwrap(), &certificates(Clients::Local)).unwrap_err();
        let said = refusal.to_string();
        assert!(["--tls-verify-peer", "--tls-psk", "--allow-strangers"].iter().all(|it| said.contains(it)), "{said}");
    }
}
