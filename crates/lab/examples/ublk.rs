//! Runs a shell script on a machine whose kernel has ublk, and prints what it printed:
//! `cargo run -p shoal-lab --example ublk -- SCRIPT PROGRAM,...`, for whoever writes a new test.

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;

use shoal_lab::ublk::UblkLab;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [script, programs] = &arguments[..] else { return Err("SCRIPT PROGRAM,...".into()) };
    let programs: Vec<_> = programs.split(',').filter(|name| !name.is_empty()).map(PathBuf::from).collect();
    let mut machine = UblkLab::find()?.boot(&programs)?;
    let ran = machine.shell().run(&std::fs::read_to_string(script)?)?;
    writeln!(std::io::stdout(), "{}\nstatus {}\n{}", ran.output, ran.status, machine.kernel_log())?;
    Ok(())
}
