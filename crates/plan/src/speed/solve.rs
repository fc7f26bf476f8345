//! The rates of a medium out of what a drive does: somebody who says that a stick reads 20 MB/s has
//! seen what commands and bus leave of it.
//!
//! What they take away is a time for each byte, which hardly depends on the medium. So each round
//! moves the medium's time for a byte by what the drive's is off, and two or three rounds are
//! enough.

use shoal_sim::{HostModel, Medium, PerDirection};

use super::{Scene, SpeedError};
use crate::drives::Inventory;

/// Rounds of moving closer.
const ROUNDS: u32 = 4;
/// A medium is taken to be at most so many times as fast as its drive: beyond that the bus does not
/// let it be seen.
const FASTEST: f64 = 8.0;

/// Sets the medium's rates of all drives, of one model and flash, so that one alone reads and
/// writes as fast as is said.
pub fn solve_rates(
    inventory: &mut Inventory,
    said: PerDirection<Option<u64>>,
    host: &HostModel,
    seed: u64,
) -> Result<(), SpeedError> {
    for _ in 0..ROUNDS {
        let scene = Scene { inventory, host: host.clone(), seed };
        let speeds = scene.drive(0)?;
        let Medium::Flash(flash) = &inventory.drives[0].model.medium else { return Ok(()) };
        let mut rates = flash.bytes_per_s;
        if let Some(said) = said.read {
            rates.read = closer(rates.read, speeds.sequential_read_bytes_per_s, said);
        }
        if let Some(said) = said.write {
            rates.write = closer(rates.write, speeds.sequential_write_bytes_per_s, said);
        }
        for drive in &mut inventory.drives {
            if let Medium::Flash(flash) = &mut drive.model.medium {
                flash.bytes_per_s = rates;
            }
        }
    }
    Ok(())
}

/// A rate with which the drive should come closer to what is said.
fn closer(rate: u64, seen: u64, said: u64) -> u64 {
    let per_byte = |rate: u64| 1.0 / rate.max(1) as f64;
    let wanted = per_byte(rate) + per_byte(said) - per_byte(seen);
    let fastest = FASTEST * said as f64;
    let rate = if wanted > 0.0 { (1.0 / wanted).min(fastest) } else { fastest };
    (rate as u64).max(1)
}
