//! The kernels against ISA-L, on the same buffers, in turns.
//!
//! `cargo bench -p shoal-parity --bench versus_isal -- [--isal PATH] [--rounds N]`
//!
//! ISA-L is loaded when this runs: from PATH, else from the environment's `ISAL_LIBRARY`, else as
//! `libisal.so.2`. Each cell of the tables is a median over the rounds; in a round every contender
//! runs for half a millisecond, and ratios are of speeds of the same round, so that whatever else
//! the machine does meets all of them alike.

use std::error::Error;
use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::time::{Duration, Instant};

use shoal_parity::{Block, Kernel, Parity};

const BLOCK_SIZES: [usize; 5] = [4 << 10, 16 << 10, 64 << 10, 128 << 10, 512 << 10];
const DATA_BLOCKS: [usize; 5] = [4, 6, 8, 10, 14];

/// How long a contender runs in a round: shorter than a scheduler's time slice, so that most turns
/// are undisturbed.
const TURN: Duration = Duration::from_micros(500);

/// ISA-L's generators take the number of vectors, their length, and their addresses with those of
/// the results last.
type Generator = unsafe extern "C" fn(vectors: c_int, length: c_int, addresses: *mut *mut c_void) -> c_int;

struct Isal {
    xor_gen: Generator,
    pq_gen: Generator,
}

impl Isal {
    fn load(path: &str) -> Result<Self, libloading::Error> {
        // SAFETY: ISA-L runs no code of its own when loaded, the two symbols have had this type in
        // all its versions, and the library is leaked, so that they stay.
        unsafe {
            let library = Box::leak(Box::new(libloading::Library::new(path)?));
            Ok(Self { xor_gen: *library.get(b"xor_gen")?, pq_gen: *library.get(b"pq_gen")? })
        }
    }
}

/// The blocks of one stripe, each aligned to a page, one after another as in an arena of buffers.
struct Buffers {
    memory: Vec<Page>,
    block_size: usize,
}

#[derive(Clone, Copy)]
#[repr(C, align(4096))]
struct Page([u8; 4096]);

impl Buffers {
    fn new(block_size: usize, blocks: usize) -> Self {
        let mut memory = vec![Page([0; 4096]); block_size / 4096 * blocks];
        let mut state: u32 = 1;
        for byte in memory.iter_mut().flat_map(|page| &mut page.0) {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *byte = (state >> 24) as u8;
        }
        Self { memory, block_size }
    }

    fn blocks(&mut self) -> Vec<&mut [u8]> {
        bytes(&mut self.memory).chunks_exact_mut(self.block_size).collect()
    }
}

/// Pages as the bytes they are.
fn bytes(pages: &mut [Page]) -> &mut [u8] {
    // SAFETY: a page is 4096 bytes without padding, and pages follow each other without gaps.
    unsafe { std::slice::from_raw_parts_mut(pages.as_mut_ptr().cast(), size_of_val(pages)) }
}

/// One who computes the same thing; does it this many times.
type Contender<'a> = Box<dyn FnMut(u32) + 'a>;

/// The speeds of each contender, in bytes of data per nanosecond, round by round.
fn race(contenders: &mut [Contender<'_>], data_bytes: usize, rounds: usize) -> Vec<Vec<f64>> {
    let repeats: Vec<u32> = contenders.iter_mut().map(calibrate).collect();
    let mut speeds = vec![Vec::with_capacity(rounds); contenders.len()];
    for round in 0..rounds {
        for turn in 0..contenders.len() {
            let index = (turn + round) % contenders.len();
            contenders[index](1); // brings the blocks into the cache
            let start = Instant::now();
            contenders[index](repeats[index]);
            let duration_ns = start.elapsed().as_nanos().max(1) as f64;
            speeds[index].push(data_bytes as f64 * f64::from(repeats[index]) / duration_ns);
        }
    }
    speeds
}

/// How many repeats fill a turn.
fn calibrate(contender: &mut Contender<'_>) -> u32 {
    let mut repeats = 1;
    loop {
        let start = Instant::now();
        contender(repeats);
        let elapsed = start.elapsed();
        if elapsed >= TURN {
            return repeats;
        }
        let scale = TURN.as_nanos() / elapsed.as_nanos().max(1);
        repeats = repeats.saturating_mul(u32::try_from(scale.clamp(2, 100)).expect("at most 100"));
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Prints a line: the speed of the first contender, and of each other one its speed and its ratio
/// to the first.
fn report(block_size: usize, data_blocks: usize, speeds: &[Vec<f64>], has_reference: bool) {
    print!("{:>5}K {data_blocks:>3}", block_size >> 10);
    for (index, own) in speeds.iter().enumerate() {
        print!(" {:>9.1}", median(own.clone()));
        if has_reference && index > 0 {
            let ratios = own.iter().zip(&speeds[0]).map(|(own, reference)| own / reference);
            print!(" {:>6.2}x", median(ratios.collect()));
        }
    }
    println!();
}

fn heading(title: &str, kernels: &[Parity], has_reference: bool) {
    println!("\n{title}, GB/s of data{}", if has_reference { ", and ratio to ISA-L" } else { "" });
    print!("{:>6} {:>3}", "block", "k");
    if has_reference {
        print!(" {:>9}", "ISA-L");
    }
    for parity in kernels {
        let name = parity.kernel().name();
        if has_reference { print!(" {name:>17}") } else { print!(" {name:>11}") }
    }
    println!();
}

/// Runs one of ISA-L's generators over the blocks, results last.
fn isal_contender(generator: Generator, blocks: &mut [&mut [u8]]) -> Contender<'static> {
    let length = c_int::try_from(blocks[0].len()).expect("blocks are small");
    let vectors = c_int::try_from(blocks.len()).expect("blocks are few");
    let mut addresses: Vec<*mut c_void> = blocks.iter_mut().map(|block| block.as_mut_ptr().cast()).collect();
    Box::new(move |repeats| {
        for _ in 0..repeats {
            // SAFETY: the addresses are of `vectors` blocks of this length, aligned to a page, that
            // outlive the race.
            let refused = unsafe { generator(vectors, length, black_box(addresses.as_mut_ptr())) };
            assert_eq!(refused, 0, "ISA-L takes these blocks");
        }
    })
}

/// XOR and P+Q against ISA-L, every block size and number of data blocks.
fn generation(isal: Option<&Isal>, kernels: &[Parity], rounds: usize) {
    for with_q in [false, true] {
        heading(if with_q { "P+Q generation" } else { "XOR generation" }, kernels, isal.is_some());
        for block_size in BLOCK_SIZES {
            for data_blocks in DATA_BLOCKS {
                let mut buffers = Buffers::new(block_size, data_blocks + 2);
                let speeds = race_generation(isal, kernels, rounds, &mut buffers, with_q);
                report(block_size, data_blocks, &speeds, isal.is_some());
            }
        }
    }
}

fn race_generation(
    isal: Option<&Isal>,
    kernels: &[Parity],
    rounds: usize,
    buffers: &mut Buffers,
    with_q: bool,
) -> Vec<Vec<f64>> {
    let mut blocks = buffers.blocks();
    let count = blocks.len();
    let data_bytes = (count - 2) * blocks[0].len();
    let used = if with_q { count } else { count - 1 };
    let reference = isal.map(|isal| {
        let generator = if with_q { isal.pq_gen } else { isal.xor_gen };
        isal_contender(generator, &mut blocks[..used])
    });
    let (data, results) = blocks.split_at_mut(count - 2);
    let [p, q] = results else { unreachable!("two results") };
    let sources: Vec<&[u8]> = data.iter().map(|block| &**block).collect();
    let present: Vec<Option<&[u8]>> = sources.iter().copied().map(Some).collect();
    let results = std::cell::RefCell::new((p, q));
    let mut contenders: Vec<Contender<'_>> = reference.into_iter().collect();
    for &parity in kernels {
        let (sources, present, results) = (&sources, &present, &results);
        contenders.push(Box::new(move |repeats| {
            let (p, q) = &mut *results.borrow_mut();
            for _ in 0..repeats {
                if with_q {
                    parity.pq(black_box(present), p, q);
                } else {
                    parity.xor(p, black_box(sources));
                }
            }
        }));
    }
    race(&mut contenders, data_bytes, rounds)
}

/// Recovery: which blocks of a stripe are lost. The numbers are of data blocks.
const LOSSES: [(&str, &[usize], bool, bool); 5] = [
    ("one data block, from P", &[1], false, false),
    ("one data block, from Q (and P)", &[1], true, false),
    ("one data block (and Q), from P", &[1], false, true),
    ("two data blocks", &[1, 2], false, false),
    ("P and Q, by solve", &[], true, true),
];

fn recovery(kernels: &[Parity], rounds: usize) {
    for (title, lost, p_lost, q_lost) in LOSSES {
        heading(&format!("Recovery of {title}"), kernels, false);
        for block_size in [4 << 10, 64 << 10, 512 << 10] {
            for data_blocks in [4, 8, 14] {
                let mut buffers = Buffers::new(block_size, data_blocks + 2);
                let blocks = std::cell::RefCell::new(buffers.blocks());
                let contender = |&parity: &Parity| -> Contender<'_> {
                    let blocks = &blocks;
                    Box::new(move |repeats| {
                        let mut blocks = blocks.borrow_mut();
                        (0..repeats).for_each(|_| solve(parity, &mut blocks, lost, p_lost, q_lost));
                    })
                };
                let mut contenders: Vec<Contender<'_>> = kernels.iter().map(contender).collect();
                let speeds = race(&mut contenders, block_size * data_blocks, rounds);
                report(block_size, data_blocks, &speeds, false);
            }
        }
    }
}

fn solve(parity: Parity, blocks: &mut [&mut [u8]], lost: &[usize], p_lost: bool, q_lost: bool) {
    let data_blocks = blocks.len() - 2;
    let known_or_lost = |(index, block)| {
        let is_lost = lost.contains(&index) || index == data_blocks && p_lost || index == data_blocks + 1 && q_lost;
        let block: &mut &mut [u8] = block;
        if is_lost { Block::Lost(block) } else { Block::Known(block) }
    };
    let mut stripe: Vec<Block<'_>> = blocks.iter_mut().enumerate().map(known_or_lost).collect();
    let (Some(q), Some(p)) = (stripe.pop(), stripe.pop()) else { unreachable!("a stripe has P and Q") };
    parity.solve(black_box(&mut stripe), p, q).expect("two blocks are lost at most");
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut path = std::env::var("ISAL_LIBRARY").unwrap_or_else(|_| "libisal.so.2".to_owned());
    let mut rounds = 51;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--isal" => path = arguments.next().ok_or("--isal needs the path of a library")?,
            "--rounds" => rounds = arguments.next().ok_or("--rounds needs a number")?.parse::<usize>()?.max(1),
            "--bench" => {} // cargo says so
            _ => return Err(format!("unknown argument {argument}; there are --isal PATH and --rounds N").into()),
        }
    }
    let isal = match Isal::load(&path) {
        Ok(isal) => Some(isal),
        Err(error) => {
            eprintln!("SKIPPED: the comparison needs ISA-L as a shared library ({path}: {error}).");
            eprintln!("Debian's package libisal2 has one; or build the newest, and give its path by --isal.");
            None
        }
    };
    let fast = Kernel::available().filter(|&kernel| kernel != Kernel::Scalar);
    let kernels: Vec<Parity> = fast.map(Parity::with_kernel).collect::<Result<_, _>>()?;
    generation(isal.as_ref(), &kernels, rounds);
    recovery(&kernels, rounds);
    Ok(())
}
