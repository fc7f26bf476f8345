//! Files that are filled, copied, compared and made durable.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// What is read and written at once.
pub(crate) const BLOCK_BYTES: usize = 1 << 20;

/// Fills a file with what no compression makes smaller.
pub(crate) fn fill(path: &Path, size_bytes: u64, seed: u64) -> io::Result<()> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut file, mut block, mut left) = (File::create(path)?, vec![0; BLOCK_BYTES], size_bytes);
    while left > 0 {
        let length = usize::try_from(left).unwrap_or(BLOCK_BYTES).min(BLOCK_BYTES);
        random.fill_bytes(&mut block);
        file.write_all(&block[..length])?;
        left -= length as u64;
    }
    Ok(())
}

/// Copies a file, as `cp` does where files cannot share blocks; returns the copy.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<File> {
    let (mut from, mut to, mut block) = (File::open(from)?, File::create(to)?, vec![0; BLOCK_BYTES]);
    loop {
        match from.read(&mut block)? {
            0 => return Ok(to),
            got => to.write_all(&block[..got])?,
        }
    }
}

/// Whether two files hold the same.
pub(crate) fn same(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut left, mut right) = (vec![0; BLOCK_BYTES], vec![0; BLOCK_BYTES]);
    loop {
        let got = one.read(&mut left)?;
        other.read_exact(&mut right[..got])?;
        if left[..got] != right[..got] {
            return Ok(false);
        }
        if got == 0 {
            return Ok(true);
        }
    }
}

/// Makes what was put durable, on the server; returns how long that took.
pub(crate) fn settle(path: &Path) -> io::Result<Duration> {
    let start = Instant::now();
    File::open(path)?.sync_all()?;
    Ok(start.elapsed())
}

/// Removes a file, if it is there.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
