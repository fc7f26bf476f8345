//! QEMU's control socket: one JSON object a line. What is said here is so little that it is written
//! out.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long QEMU may take to make the socket, or to answer.
const PATIENCE: Duration = Duration::from_secs(300);

/// A connection over which commands are given.
#[derive(Debug)]
pub(super) struct Control {
    reader: BufReader<UnixStream>,
}

impl Control {
    /// Connects as soon as QEMU has made the socket.
    pub(super) fn connect(socket: &Path) -> io::Result<Self> {
        let deadline = Instant::now() + PATIENCE;
        let stream = loop {
            match UnixStream::connect(socket) {
                Ok(stream) => break stream,
                Err(error) if Instant::now() > deadline => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut control = Self { reader: BufReader::new(stream) };
        control.line()?; // a greeting
        control.command(r#"{"execute":"qmp_capabilities"}"#)?;
        Ok(control)
    }

    /// Gives a command, and waits for its answer.
    pub(super) fn command(&mut self, command: &str) -> io::Result<()> {
        writeln!(self.reader.get_mut(), "{command}")?;
        loop {
            let line = self.line()?;
            if line.starts_with(r#"{"return""#) {
                return Ok(());
            } else if line.starts_with(r#"{"error""#) {
                return Err(io::Error::other(format!("QEMU answers {} to {command}", line.trim_end())));
            } // else something that happened by itself
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "QEMU is gone"));
        }
        Ok(line)
    }
}
