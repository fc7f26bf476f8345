//! What comparisons with other programs share: options, files of random bytes, medians.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

pub(crate) type Failure = Box<dyn std::error::Error>;

/// What was asked for.
pub(crate) struct Options {
    pub(crate) directory: PathBuf,
    pub(crate) rounds: usize,
    pub(crate) seconds: u32,
    /// Of content.
    pub(crate) mib: u64,
    /// Part of a point's name.
    pub(crate) only: String,
}

/// Compares, if the programs that it takes are there: each with the package that has it. `options`
/// are those that nobody asks for.
pub(crate) fn run(
    name: &str,
    programs: &[(&str, &str)],
    mut options: Options,
    compare: impl FnOnce(&Options) -> Result<(), Failure>,
) -> ExitCode {
    if let Err(message) = read(&mut options) {
        eprintln!("{name}: {message}");
        return ExitCode::from(2);
    }
    if let Some((program, package)) = programs.iter().find(|(program, _)| !is_there(program)) {
        println!("SKIPPED: {name} needs {program}: apt-get install {package}");
        return ExitCode::SUCCESS;
    }
    match compare(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn read(options: &mut Options) -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        if name == "--bench" {
            continue; // cargo passes it
        }
        let value = arguments.next().ok_or_else(|| format!("{name} wants a value"))?;
        let number = || value.parse::<u32>().map_err(|_| format!("{name} wants a number, not {value}"));
        match name.as_str() {
            "--directory" => options.directory = PathBuf::from(&value),
            "--rounds" => options.rounds = number()? as usize,
            "--seconds" => options.seconds = number()?,
            "--mib" => options.mib = u64::from(number()?),
            "--only" => options.only = value,
            _ => return Err(format!("{name} is no option: see the head of the benchmark's source")),
        }
    }
    if options.rounds == 0 || options.seconds == 0 || options.mib < 64 {
        return Err("at least one round of one second, and 64 MiB".to_owned());
    }
    Ok(())
}

/// Whether a program can be run.
fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// Random bytes, so that nobody can leave them out, written through so that nothing is left to be
/// written.
pub(crate) fn write_random(path: &Path, mib: u64) -> std::io::Result<()> {
    let mut random = File::open("/dev/urandom")?.take(mib << 20);
    let mut file = File::create(path)?;
    let mut bytes = vec![0; 1 << 20];
    for _ in 0..mib {
        random.read_exact(&mut bytes)?;
        file.write_all(&bytes)?;
    }
    file.sync_all()
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}
