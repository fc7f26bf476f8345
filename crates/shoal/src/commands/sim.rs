//! `shoal sim swarm`

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use shoal_swarm::{Counts, Find, Waits, Watch, hunt, play, sample, shrink};
use shoal_text::format_ns;

use crate::args::{Cli, SimArgs, SimCommand, SwarmArgs};
use crate::documents::{SwarmDocument, SwarmFailureDocument};
use crate::exit::Failure;
use crate::output;
use crate::progress::{count_bar, interrupt_flag};

/// A seed that takes longer hangs: one takes a few hundredths of a second.
const HANG: Duration = Duration::from_secs(120);

/// Does what was asked of simulated worlds.
pub(crate) fn run(cli: &Cli, args: &SimArgs) -> Result<(), Failure> {
    match &args.command {
        SimCommand::Swarm(args) if args.trace => trace(cli, args),
        SimCommand::Swarm(args) => swarm(cli, args),
    }
}

/// Plays one seed, and prints all that happens: in what is left of it when it has been made
/// smaller, if it fails.
fn trace(cli: &Cli, args: &SwarmArgs) -> Result<(), Failure> {
    let seed = args.seeds.start;
    if args.seeds.end - seed > 1 || cli.json {
        return Err(Failure::usage("--trace is for one seed, as --seeds 17..18, and has no --json"));
    }
    let mut scenario = sample(seed);
    let mut played = play(&scenario, true).map_err(Failure::failed)?;
    if let Some(failure) = played.failure.take_if(|_| !args.no_shrink) {
        scenario = shrink(scenario, failure).map_err(Failure::failed)?.scenario;
        played = play(&scenario, true).map_err(Failure::failed)?;
    }
    let verdict = played.failure.as_ref().map_or("all is well".to_owned(), |failure| format!("fails: {failure}"));
    let text = format!("seed {seed}: {scenario}\n{}\nseed {seed} {verdict}\n", played.lines);
    output::document(cli, &(), |()| text)?;
    played.failure.map_or(Ok(()), |failure| Err(Failure::Shown(format!("seed {seed} fails: {failure}"))))
}

fn swarm(cli: &Cli, args: &SwarmArgs) -> Result<(), Failure> {
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
    let watch = Watch::new(args.threads.map_or(processors, usize::from));
    let (began, stop, is_over) = (Instant::now(), interrupt_flag()?, AtomicBool::new(false));
    let bar = count_bar(cli, args.seeds.end - args.seeds.start, "seeds");
    // What panics is found like anything else; it need not tell by itself.
    std::panic::set_hook(Box::new(|_| {}));
    let hunted = std::thread::scope(|scope| {
        scope.spawn(|| keep_watch(&watch, &bar, &stop, &is_over));
        let hunted = hunt(args.seeds.clone(), &watch);
        is_over.store(true, Ordering::Relaxed);
        hunted
    });
    bar.finish_and_clear();
    let hunted = hunted.map_err(Failure::failed)?;
    let duration = began.elapsed();
    let failures = hunted.finds.iter().map(|find| failure(find, args)).collect::<Result<Vec<_>, _>>()?;
    let document = SwarmDocument {
        first_seed: args.seeds.start,
        seeds: hunted.seeds,
        trace_hash: format!("{:016x}", hunted.trace_hash),
        duration_ns: u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX),
        counts: hunted.counts,
        failures,
    };
    output::document(cli, &document, text)?;
    match document.failures.len() {
        0 => Ok(()),
        count => Err(Failure::Shown(format!("{count} of {} seeds fail", document.seeds))),
    }
}

/// Moves the bar, passes Ctrl-C on, and tells of a seed that does not end: its thread cannot be
/// stopped from outside.
fn keep_watch(watch: &Watch, bar: &ProgressBar, stop: &AtomicBool, is_over: &AtomicBool) {
    let mut since: Vec<_> = watch.playing.iter().map(|_| (Watch::IDLE, Instant::now())).collect();
    while !is_over.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(50));
        bar.set_position(watch.done.load(Ordering::Relaxed));
        if stop.load(Ordering::Relaxed) {
            watch.stop.store(true, Ordering::Relaxed);
        }
        for (playing, since) in watch.playing.iter().zip(&mut since) {
            let seed = playing.load(Ordering::Relaxed);
            if since.0 != seed {
                *since = (seed, Instant::now());
            } else if seed != Watch::IDLE && since.1.elapsed() > HANG {
                output::warn(&format!("seed {seed} does not end: {}", replay(seed)));
                since.1 = Instant::now();
            }
        }
    }
}

fn replay(seed: u64) -> String {
    format!("shoal sim swarm --seeds {seed}..{} --trace", seed + 1)
}

fn failure(find: &Find, args: &SwarmArgs) -> Result<SwarmFailureDocument, Failure> {
    let shrunk = if args.no_shrink {
        None
    } else {
        let shrunk = shrink(sample(find.seed), find.failure.clone()).map_err(Failure::failed)?;
        Some(format!("{}\n{}", shrunk.failure, shrunk.scenario))
    };
    Ok(SwarmFailureDocument {
        seed: find.seed,
        checker: find.failure.checker.to_owned(),
        problem: find.failure.what.clone(),
        replay: replay(find.seed),
        shrunk,
    })
}

fn text(document: &SwarmDocument) -> String {
    let mut text = String::new();
    for failure in &document.failures {
        let SwarmFailureDocument { seed, checker, problem, replay, shrunk } = failure;
        text += &format!("seed {seed} fails: {checker}: {problem}\nreplay: {replay}\n");
        if let Some(shrunk) = shrunk {
            text += &format!("shrunk to: {shrunk}");
        }
        text += "\n";
    }
    let seconds = document.duration_ns as f64 / 1e9;
    text += &format!(
        "{} seeds in {seconds:.1} s, {} of them fail; trace {}\n",
        document.seeds,
        document.failures.len(),
        document.trace_hash,
    );
    text + &counted(&document.counts)
}

/// The longest waits of requests.
fn waited(waits: &Waits) -> String {
    let Waits { unhurt_ns, errors_ns, stalls_ns, hubs_ns, hangs_ns } = *waits;
    let [unhurt, errors, stalls, hubs, hangs] = [unhurt_ns, errors_ns, stalls_ns, hubs_ns, hangs_ns].map(format_ns);
    format!(
        "longest waits: {unhurt} unhurt, {errors} after errors, {stalls} after stalls, {hubs} after outages of hubs, \
         {hangs} after drives hung"
    )
}

/// What happened, and how often.
fn counted(counts: &Counts) -> String {
    let Counts { requests, member_ios, virtual_ns, vast, power_cuts, cut_short, forced, away, unplugged, .. } = *counts;
    let Counts { hubs_lost, revived, hung, hung_at_start, apart, apart_refused, split, replaced, .. } = *counts;
    let Counts { stalls, errors, marred, lies, latent, last_copies, misused, strangers, passed_over, .. } = *counts;
    let Counts { journals, grown, grown_on, flipped, stranded, doubted, .. } = *counts;
    let Counts { write_hole_blocks, silent_wrong_blocks, silent, silent_found_bytes, .. } = *counts;
    format!(
        "{requests} requests, {member_ios} member I/Os, {:.1} h of virtual time, {vast} worlds of drives of GiB and TiB\n\
         {power_cuts} power cuts ({cut_short} in the midst of opening, {forced} arrays forced), {away} drives away at a \
         start, {unplugged} pulled\n\
         {hubs_lost} hubs without power, {revived} arrays opened anew after they had lost too much, {hung} drives hung \
         ({hung_at_start} from a start on)\n\
         {apart} starts with any of the drives ({apart_refused} refused, {split} after two hosts had gone on apart)\n\
         {stalls} stalls, {errors} errors, {latent} latent ranges ({last_copies} of both where there is no other copy), \
         {marred} faults in metadata, {flipped} bits of bitmaps and logs flipped, {lies} flushes that were lies ({doubted} starts that wanted a word for it), {replaced} replacements\n\
         {journals} journals of a killed Linux, {grown} growths begun, gone on with {grown_on} times at a start\n\
         {misused} orders that had to be refused, {strangers} strangers\n\
         {passed_over} faults passed over: the array could not have survived them\n\
         {}\n\
         by the format's design: {write_hole_blocks} blocks in the write hole of a lost member, \
         {stranded} inner arrays that lost there what they are members of; {silent_wrong_blocks} blocks wrong by {silent} silent faults, of which scrubs found {silent_found_bytes} bytes\n",
        virtual_ns as f64 / 3.6e12,
        waited(&counts.waits),
    )
}
