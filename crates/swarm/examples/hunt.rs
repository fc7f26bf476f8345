//! Plays a range of seeds, and prints those that fail; the small sister of `shoal sim swarm`, for
//! those who build it often. `hunt A B`, `hunt A B first` to stop at the first that fails,
//! `hunt SEED trace` for all that passes.

use std::sync::atomic::Ordering;

use shoal_swarm::{Watch, hunt, play, sample, shrink};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let first = arguments.first().ok_or("give two seeds, or one and `trace`")?.parse()?;
    let second = arguments.get(1).ok_or("give a second seed, or `trace`")?;
    if second == "trace" {
        let scenario = sample(first);
        let played = play(&scenario, true)?;
        println!("{scenario}{}{:#?}", played.lines, played.counts);
        let Some(failure) = played.failure else { return Ok(()) };
        let shrunk = shrink(scenario, failure)?;
        println!("{}\n\nshrunk:\n{}{}", shrunk.failure, shrunk.scenario, play(&shrunk.scenario, true)?.lines);
        return Ok(());
    }
    std::panic::set_hook(Box::new(|_| {}));
    let (watch, end) = (Watch::new(std::thread::available_parallelism()?.get()), second.parse()?);
    let stops_at_first = arguments.get(2).is_some_and(|argument| argument == "first");
    let mut start = first;
    let mut is_clean = true;
    while start < end {
        let next = if stops_at_first { (start + 100).min(end) } else { end };
        let hunted = hunt(start..next, &watch)?;
        for find in &hunted.finds {
            println!("{}: {}", find.seed, find.failure);
        }
        is_clean &= hunted.finds.is_empty();
        if !stops_at_first {
            println!("{:#?}, trace {:016x}", hunted.counts, hunted.trace_hash);
        }
        start = if stops_at_first && !is_clean { end } else { next };
    }
    println!("{} seeds", watch.done.load(Ordering::Relaxed));
    if is_clean { Ok(()) } else { Err("some seeds fail".into()) }
}
