//! Runs a shell script in a guest that shares the present directory, and prints what it printed:
//! `cargo run -p shoal-lab --example guest -- SCRIPT`, for whoever writes a new test.

use std::error::Error;
use std::io::Write;

use shoal_lab::Lab;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("which script?")?;
    let mut guest = Lab::find()?.boot(&std::env::current_dir()?)?;
    let printed = guest.done(&std::fs::read_to_string(path)?)?;
    writeln!(std::io::stdout(), "{printed}")?;
    Ok(())
}
