//! `shoal bench`

mod access;
mod directory;
mod remote;
mod running;
mod target;
mod text;
mod whose;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use shoal_bench::{Bench, BenchError, Limit, Measurement, Pattern, Watch, Workload, check_fit, probe_unwritten};
use shoal_labbook::Recorder;

use crate::args::{BenchArgs, Cli};
use crate::documents::BenchDocument;
use crate::exit::Failure;
use crate::labbook;
use crate::output;
use crate::progress::{interrupt_flag, per_mille_bar};
use target::Target;

const NS_PER_S: u64 = 1_000_000_000;

/// Measures each target in turn, or the array that the targets are members of.
pub(crate) fn run(cli: &Cli, args: &BenchArgs) -> Result<(), Failure> {
    let workload = workload(args)?;
    let interrupt = interrupt_flag()?;
    let directories = if directory::are_directories(args)? { args.targets.as_slice() } else { &[] };
    let targets = if directories.is_empty() { target::open(cli, args, &workload)? } else { Vec::new() };
    let mut recorder = labbook::begin(&args.keep, "bench");
    let mut measure = |target| measure(cli, args, target, (&workload, &interrupt), &mut recorder);
    let measured = measure_all(cli, args, targets, directories, (&workload, &interrupt), &mut measure);
    let ended = if interrupt.load(Ordering::Relaxed) { Err(labbook::stopped()) } else { Ok(()) };
    match &measured {
        Ok(_) => labbook::end(recorder, &ended),
        failed => labbook::end(recorder, failed),
    }
    let document = measured?;
    output::document(cli, &document, text::text)?;
    ended?;
    let failed = document.results.iter().any(|result| errors(result) > 0);
    if failed { Err(Failure::Shown("some requests failed: see the results".to_owned())) } else { Ok(()) }
}

/// All targets, or files in all directories, one after the other.
fn measure_all(
    cli: &Cli,
    args: &BenchArgs,
    targets: Vec<Target>,
    directories: &[PathBuf],
    (workload, interrupt): (&Workload, &AtomicBool),
    measure: &mut dyn FnMut(Target) -> Result<Vec<Measurement>, Failure>,
) -> Result<BenchDocument, Failure> {
    let mut document = BenchDocument { results: Vec::new(), directories: Vec::new() };
    for directory in directories {
        let file = directory::lay_out(args, directory, workload.seed, interrupt)?;
        let results = measure(target::in_directory(cli, &file, workload)?)?;
        document.directories.push(file.account(results.iter().map(written_bytes).sum()));
        document.results.extend(results);
    }
    for target in targets {
        document.results.extend(measure(target)?);
    }
    Ok(document)
}

fn written_bytes(measurement: &Measurement) -> u64 {
    measurement.write.as_ref().map_or(0, |direction| direction.bytes)
}

fn errors(measurement: &Measurement) -> u64 {
    [&measurement.read, &measurement.write].into_iter().flatten().map(|direction| direction.errors).sum()
}

/// What the arguments ask for, with defaults that suit the pattern.
fn workload(args: &BenchArgs) -> Result<Workload, Failure> {
    let pattern = if args.random { Pattern::Random } else { Pattern::Sequential };
    let (block_size_bytes, depth) = match pattern {
        Pattern::Sequential => (1 << 20, 4),
        Pattern::Random => (4096, 32),
    };
    let read_percent = match args.mix {
        Some(percent) => percent,
        None if args.write => 0,
        None => 100,
    };
    let seed = match args.seed {
        Some(seed) if seed < shoal_study::model::SEED_LIMIT => seed,
        Some(seed) => return Err(Failure::Usage(format!("seed {seed} is too large: give one below 2^53"))),
        None => crate::seed::fresh(),
    };
    Ok(Workload {
        pattern,
        read_percent,
        block_size_bytes: args.block_size.unwrap_or(block_size_bytes),
        depth: args.depth.unwrap_or(depth),
        limit: args.bytes.map_or(Limit::DurationNs(args.seconds * NS_PER_S), Limit::Bytes),
        warm_up_ns: args.warm_up * NS_PER_S,
        range_offset: args.offset,
        range_bytes: args.length.unwrap_or(0),
        visit_once: false,
        seed,
    })
}

fn measure(
    cli: &Cli,
    args: &BenchArgs,
    mut target: Target,
    (workload, interrupt): (&Workload, &AtomicBool),
    recorder: &mut Recorder<'_>,
) -> Result<Vec<Measurement>, Failure> {
    let (whose, description) = (target.whose.clone(), target.description.clone());
    recorder.add(&whose.target(&description, &[]));
    let blocks = check_fit(target.volume(), workload).map_err(Failure::usage)?;
    let mut conditions = target.conditions;
    // A model does not know what was written.
    if workload.read_percent > 0 && target.description.simulated.is_none() {
        let probe = probe_unwritten(target.volume_mut(), blocks, workload.seed).map_err(Failure::failed)?;
        conditions.unwritten = Some(probe);
    }
    let bench = Bench { target: description.clone(), workload: workload.clone(), repeats: args.repeat, conditions };
    let bar = per_mille_bar(cli, &target.description.name);
    let mut watch = Watch {
        interrupt,
        progress: &mut |progress| {
            bar.set_position(u64::from(progress.repeat - 1) * 1000 + u64::from(progress.done_per_mille));
            bar.set_length(u64::from(progress.repeats) * 1000);
        },
        observer: &mut (),
    };
    let measured = bench.run(target.volume_mut(), &mut watch);
    bar.finish_and_clear();
    let closed = target.close();
    let measurements = measured.map_err(|error| match error {
        BenchError::Workload(_) => Failure::usage(error),
        BenchError::Volume(_) => Failure::failed(error),
    })?;
    recorder.add(&whose.target(&description, &measurements));
    closed.map(|()| measurements)
}
