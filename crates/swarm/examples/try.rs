fn main() {
    let args: Vec<u64> = std::env::args().skip(1).map(|a| a.parse().unwrap()).collect();
    let trace = args.len() > 2;
    let t = std::time::Instant::now();
    let mut bad = 0;
    for seed in args[0]..args[1] {
        let s = shoal_swarm::sample(seed);
        let t0 = std::time::Instant::now();
        let p = std::panic::catch_unwind(|| shoal_swarm::play(&s, trace).unwrap());
        match p {
            Ok(p) => {
                if trace { println!("{s}\n{}", p.lines); }
                if let Some(f) = &p.failure { bad += 1; println!("{seed} {} {}: {f}", s.level.name(), t0.elapsed().as_millis()); }
                if trace { println!("{:?} {:x}", p.counts, p.trace_hash); }
            }
            Err(_) => { bad += 1; println!("{seed} {} panic", s.level.name()); }
        }
    }
    println!("{} bad, {:?}", bad, t.elapsed());
}
