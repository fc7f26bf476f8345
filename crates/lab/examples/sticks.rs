//! Runs a shell script on a machine with USB sticks, and prints what it printed: `cargo run -p
//! shoal-lab --example sticks -- SCRIPT PROGRAM,... READ:WRITE BUS:IMAGE...`, for whoever writes a
//! new test.
//!
//! READ and WRITE are bytes per second, 0 for as fast as it goes; the list of programs may be empty
//! (`''`).

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};

use shoal_lab::usb::{Limits, Stick, UsbLab};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [script, programs, limits, images @ ..] = &arguments[..] else {
        return Err("SCRIPT PROGRAM,... READ:WRITE BUS:IMAGE...".into());
    };
    let limits = match limits.split_once(':').ok_or("READ:WRITE")? {
        ("0", "0") => None,
        (read, write) => Some(Limits { read_bytes_per_s: read.parse()?, write_bytes_per_s: write.parse()? }),
    };
    let mut sticks = Vec::new();
    for image in images {
        let (bus, path) = image.split_once(':').ok_or("BUS:IMAGE")?;
        sticks.push(Stick { image: Path::new(path).canonicalize()?, bus: bus.parse()?, limits });
    }
    let programs: Vec<_> = programs.split(',').filter(|name| !name.is_empty()).map(PathBuf::from).collect();
    let mut machine = UsbLab::find()?.boot(&sticks, &programs)?;
    let printed = machine.shell().done(&std::fs::read_to_string(script)?)?;
    writeln!(std::io::stdout(), "{printed}")?;
    Ok(())
}
