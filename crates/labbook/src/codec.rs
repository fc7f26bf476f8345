//! Histograms and series as bytes: a format number, then integers in groups of seven bits, smallest
//! first (LEB128). What ascends is stored as differences, so that a histogram of a hundred thousand
//! requests takes a kilobyte or so.

use shoal_bench::{Bucket, Interval};

/// The first byte: how the others are to be read.
const FORMAT: u8 = 1;

/// The bytes are none that were written here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damaged;

pub(crate) fn write_histogram(buckets: &[Bucket]) -> Vec<u8> {
    let mut bytes = vec![FORMAT];
    let mut before_ns = 0;
    for bucket in buckets {
        put(&mut bytes, bucket.up_to_ns.wrapping_sub(before_ns));
        put(&mut bytes, bucket.count);
        before_ns = bucket.up_to_ns;
    }
    bytes
}

pub(crate) fn read_histogram(bytes: &[u8]) -> Result<Vec<Bucket>, Damaged> {
    let mut bytes = checked(bytes)?;
    let (mut buckets, mut before_ns) = (Vec::new(), 0_u64);
    while !bytes.is_empty() {
        let up_to_ns = before_ns.checked_add(take(&mut bytes)?).ok_or(Damaged)?;
        buckets.push(Bucket { up_to_ns, count: take(&mut bytes)? });
        before_ns = up_to_ns;
    }
    Ok(buckets)
}

pub(crate) fn write_series(intervals: &[Interval]) -> Vec<u8> {
    let mut bytes = vec![FORMAT];
    let mut before_ns = 0;
    for interval in intervals {
        put(&mut bytes, interval.start_ns.wrapping_sub(before_ns));
        let Interval { start_ns, read_bytes, write_bytes, ios, latency_max_ns } = *interval;
        [read_bytes, write_bytes, ios, latency_max_ns].into_iter().for_each(|value| put(&mut bytes, value));
        before_ns = start_ns;
    }
    bytes
}

pub(crate) fn read_series(bytes: &[u8]) -> Result<Vec<Interval>, Damaged> {
    let mut bytes = checked(bytes)?;
    let (mut intervals, mut before_ns) = (Vec::new(), 0_u64);
    while !bytes.is_empty() {
        let start_ns = before_ns.checked_add(take(&mut bytes)?).ok_or(Damaged)?;
        intervals.push(Interval {
            start_ns,
            read_bytes: take(&mut bytes)?,
            write_bytes: take(&mut bytes)?,
            ios: take(&mut bytes)?,
            latency_max_ns: take(&mut bytes)?,
        });
        before_ns = start_ns;
    }
    Ok(intervals)
}

/// Whether they ascend, which is what can be stored.
pub(crate) fn ascend(values: impl Iterator<Item = u64>) -> bool {
    values.is_sorted()
}

fn checked(bytes: &[u8]) -> Result<&[u8], Damaged> {
    match bytes.split_first() {
        Some((&FORMAT, rest)) => Ok(rest),
        _ => Err(Damaged),
    }
}

fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn take(bytes: &mut &[u8]) -> Result<u64, Damaged> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(Damaged)?;
        *bytes = rest;
        let group = u64::from(byte & 0x7f);
        // The tenth byte has room for one bit.
        if shift == 63 && group > 1 {
            return Err(Damaged);
        }
        value |= group << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Damaged)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buckets() -> Vec<Bucket> {
        [(1, 1), (127, 128), (128, u64::MAX), (1 << 40, 3), (u64::MAX, 1)]
            .map(|(up_to_ns, count)| Bucket { up_to_ns, count })
            .to_vec()
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(read_histogram(&write_histogram(&buckets())), Ok(buckets()));
        assert_eq!(read_histogram(&write_histogram(&[])), Ok(Vec::new()));
        let interval = |start_ns| Interval { start_ns, read_bytes: 1 << 30, write_bytes: 0, ios: 7, latency_max_ns: 9 };
        let series: Vec<_> = (0..50).map(|number| interval(number * 100_000_000)).collect();
        assert_eq!(read_series(&write_series(&series)), Ok(series));
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let good = write_histogram(&buckets());
        for length in 0..good.len() {
            let _ = read_histogram(&good[..length]);
            let _ = read_series(&good[..length]);
            for byte in [0, 0x7f, 0x80, 0xff] {
                let mut bytes = good.clone();
                bytes[length] = byte;
                let _ = read_histogram(&bytes);
                let _ = read_series(&bytes);
            }
        }
        assert_eq!(read_histogram(&[]), Err(Damaged));
        assert_eq!(read_histogram(&[2]), Err(Damaged));
        assert_eq!(read_histogram(&[FORMAT, 0x80]), Err(Damaged));
        assert_eq!(read_histogram(&[&[FORMAT][..], &[0xff; 10]].concat()), Err(Damaged));
        // Two differences that go beyond what there is.
        let beyond = [&[FORMAT][..], &[0xff; 9], &[1, 0], &[1, 0]].concat();
        assert_eq!(read_histogram(&beyond), Err(Damaged));
    }
}
