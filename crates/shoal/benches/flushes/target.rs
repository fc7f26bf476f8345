//! What blocks are written to, one after the other, each flushed before the next.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use shoal_attach::{Client, ClientOptions, Operation};

use crate::versus::Failure;

const BLOCK_BYTES: usize = 4096;

/// A file or a server.
pub(crate) enum Target {
    File(File),
    Server(Client),
}

/// What a block took.
#[derive(Clone, Copy)]
pub(crate) struct Spent {
    pub(crate) write_us: f64,
    pub(crate) flush_us: f64,
}

impl Spent {
    pub(crate) fn us(&self) -> f64 {
        self.write_us + self.flush_us
    }
}

impl Target {
    pub(crate) fn file(path: &Path, is_direct: bool) -> Result<Self, Failure> {
        let flags = if is_direct { OFlags::DIRECT } else { OFlags::empty() };
        let file = OpenOptions::new().write(true).custom_flags(flags.bits().cast_signed()).open(path)?;
        Ok(Self::File(file))
    }

    pub(crate) fn server(socket: &Path) -> Result<Self, Failure> {
        let options = ClientOptions { export: String::new(), deadline: Duration::from_secs(60), connections: 1 };
        Ok(Self::Server(Client::connect(socket, &options)?))
    }

    /// Writes so many blocks within the first `blocks`, each flushed.
    pub(crate) fn write(&self, count: u32, blocks: u64) -> Result<Vec<Spent>, Failure> {
        // Direct I/O wants whole blocks of aligned memory.
        let memory = vec![7; 2 * BLOCK_BYTES];
        let block = &memory[memory.as_ptr().align_offset(BLOCK_BYTES)..][..BLOCK_BYTES];
        let us = |duration: Duration| duration.as_secs_f64() * 1e6;
        let one = |number: u64| -> Result<Spent, Failure> {
            // All over the place, and the same for everybody.
            let offset = number * 0x9e37_79b1 % blocks * BLOCK_BYTES as u64;
            let start = Instant::now();
            self.write_block(block, offset)?;
            let written = Instant::now();
            self.flush()?;
            Ok(Spent { write_us: us(written - start), flush_us: us(written.elapsed()) })
        };
        (0..u64::from(count)).map(one).collect()
    }

    fn write_block(&self, block: &[u8], offset: u64) -> Result<(), Failure> {
        match self {
            Self::File(file) => Ok(file.write_all_at(block, offset)?),
            Self::Server(client) => ask(client, Operation::Write { offset, data: block.to_vec(), fua: false }),
        }
    }

    fn flush(&self) -> Result<(), Failure> {
        match self {
            Self::File(file) => Ok(file.sync_data()?),
            Self::Server(client) => ask(client, Operation::Flush),
        }
    }
}

fn ask(client: &Client, operation: Operation) -> Result<(), Failure> {
    let (sender, answers) = channel();
    client.submit(operation, Box::new(move |answer| sender.send(answer).unwrap_or_default()));
    Ok(answers.recv()?.map(drop)?)
}
