//! Banned code, matched on tokens so that comments and strings never count, each with its
//! replacement.

use super::code::{Code, Token};
use super::finding::Finding;
use super::sources::Source;

/// Whether a rule holds in tests too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Everywhere,
    OutsideTests,
}

/// A sequence of tokens that must not appear outside `allowed`.
struct Ban {
    tokens: &'static [&'static str],
    /// Paths, or beginnings of paths, in which the tokens are fine.
    allowed: &'static [&'static str],
    reach: Reach,
    why: &'static str,
    mend: &'static str,
}

const NOWHERE: &[&str] = &[];
const PROGRAMS: &[&str] = &["crates/shoal/", "xtask/"];
/// Programs, the harness that looks for them and waits for them, and who has mdadm, mkfs or servers
/// do its work.
const RUNS_PROGRAMS: &[&str] = &[
    "crates/filesystem/src/make.rs",
    "crates/lab/",
    "crates/mdadm/src/tools.rs",
    "crates/share/src/server/daemon.rs",
    "crates/shoal/",
    "xtask/",
];
/// The worlds in which volumes run, what times them, the harness that waits, the programs.
const CLOCKS: &[&str] = &[
    "crates/attach/src/", // a request to a server that may be gone has a deadline; what is asked of drivers takes a moment
    "crates/volume/src/world",
    "crates/volume/src/simulated/pace.rs",
    "crates/drive/src/",
    "crates/bench/src/null_volume.rs",
    "crates/attach/src/client/", // whoever asks is answered in time, by the machine's clock
    "crates/attach/src/kernel_nbd/", // the kernel's device is waited for
    "crates/attach/src/remote.rs", // a volume that is elsewhere
    "crates/lab/",
    "crates/network/src/",         // it times what real servers and clients do between two hosts
    "crates/memory/src/keeper.rs", // books are files, and their file system is given a time
    "crates/mdadm/src/",           // what is asked of the kernel is done a moment later, and waited for
    "crates/attaching/src/",       // processes and users of devices are given a time to end
    "crates/inventory/src/plugged.rs", // the same of all that are plugged in
    "crates/inventory/src/asked.rs", // since when a drive has been silent
    "crates/inventory/src/look.rs", // a drive that hangs is waited for, and not for ever
    "crates/running/src/",         // clients, drives and service managers are given a time, and news have one
    "crates/serve/src/transport.rs", // the same, of their TLS
    "crates/serve/src/handshakes.rs", // clients are given a time for the handshake, on a thread of their own
    "crates/shoal/",
    "crates/unattended/src/alert/channel/command.rs", // a program is given a time, on the thread of alerts
    "crates/unattended/src/alert/notifier.rs",        // the clock of that thread
    "xtask/",
];
/// The kernels and their bench against C, the memory and the ring, the one place where the two
/// meet, and what is asked of the kernel's loop and ublk drivers.
const UNSAFE: &[&str] = &[
    "crates/parity/src/",
    "crates/parity/benches/",
    "crates/drive/src/",
    "crates/volume/src/compute.rs",
    "crates/attach/src/loop_device/requests.rs",
    "crates/attach/src/ublk/kernel.rs",
    "xtask/purity-probe/",
];

const CLOCK_WHY: &str = "time is an argument, so that a simulated run and a real one are the same code";
const PRINT_WHY: &str = "libraries have no terminal";
const ENVIRONMENT_WHY: &str = "a result must not depend on what its arguments do not say";
const UNFINISHED_WHY: &str = "what is committed is finished";

const fn ban(
    tokens: &'static [&'static str],
    allowed: &'static [&'static str],
    reach: Reach,
    why: &'static str,
    mend: &'static str,
) -> Ban {
    Ban { tokens, allowed, reach, why, mend }
}

const BANS: &[Ban] = &[
    ban(
        &["Instant", "::", "now"],
        CLOCKS,
        Reach::OutsideTests,
        CLOCK_WHY,
        "take the time from the world or the caller",
    ),
    ban(&["SystemTime", "::", "now"], CLOCKS, Reach::OutsideTests, CLOCK_WHY, "take the time from the caller"),
    ban(&["println", "!"], PROGRAMS, Reach::OutsideTests, PRINT_WHY, "return the text or the value"),
    ban(&["print", "!"], PROGRAMS, Reach::OutsideTests, PRINT_WHY, "return the text or the value"),
    ban(
        &["eprintln", "!"],
        PROGRAMS,
        Reach::OutsideTests,
        PRINT_WHY,
        "return an error, or report progress to the caller",
    ),
    ban(
        &["eprint", "!"],
        PROGRAMS,
        Reach::OutsideTests,
        PRINT_WHY,
        "return an error, or report progress to the caller",
    ),
    ban(&["dbg", "!"], NOWHERE, Reach::Everywhere, "left over from a hunt", "remove it"),
    ban(&["process", "::", "exit"], NOWHERE, Reach::Everywhere, "skips every destructor", "return ExitCode from main"),
    ban(&["env", "::"], RUNS_PROGRAMS, Reach::OutsideTests, ENVIRONMENT_WHY, "pass it as an argument from the program"),
    ban(&["todo", "!"], NOWHERE, Reach::Everywhere, UNFINISHED_WHY, "write it, or leave the function out"),
    ban(&["unimplemented", "!"], NOWHERE, Reach::Everywhere, UNFINISHED_WHY, "write it, or return an error"),
    ban(
        &["#", "[", "ignore"],
        NOWHERE,
        Reach::Everywhere,
        "a test that nobody runs proves nothing",
        "mend or remove the test",
    ),
    ban(
        &["unsafe"],
        UNSAFE,
        Reach::Everywhere,
        "unsafe lives in the parity kernels and below the I/O loop",
        "find a safe way",
    ),
];

/// Every banned sequence in the file.
pub(super) fn check(file: &Source, code: &Code) -> Vec<Finding> {
    let mut findings = Vec::new();
    for ban in BANS {
        if ban.allowed.iter().any(|prefix| file.path.starts_with(prefix)) {
            continue;
        }
        for window in code.tokens.windows(ban.tokens.len()).filter(|window| matches(window, ban.tokens)) {
            let line = window[0].line;
            if ban.reach == Reach::OutsideTests && (file.is_test() || code.is_test_line(line)) {
                continue;
            }
            findings.push(Finding {
                path: file.path.clone(),
                line,
                what: format!("`{}`", ban.tokens.concat()),
                why: ban.why.to_owned(),
                mend: ban.mend.to_owned(),
            });
        }
    }
    findings
}

fn matches(window: &[Token], tokens: &[&str]) -> bool {
    window.iter().zip(tokens).all(|(token, wanted)| token.text == *wanted)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::code;
    use super::super::sources::sample;

    fn found(path: &str, content: &str) -> Vec<String> {
        let file = sample(path, content);
        let code = code::parse(&file).unwrap();
        super::check(&file, &code).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn every_ban_catches_a_planted_sample() {
        let samples = [
            ("fn f() { let t = std::time::Instant::now(); }", "`Instant::now`"),
            ("fn f() { let t = SystemTime::now(); }", "`SystemTime::now`"),
            ("fn f() { println!(\"x\"); }", "`println!`"),
            ("fn f() { print!(\"x\"); }", "`print!`"),
            ("fn f() { eprintln!(\"x\"); }", "`eprintln!`"),
            ("fn f() { eprint!(\"x\"); }", "`eprint!`"),
            ("fn f() { dbg!(1); }", "`dbg!`"),
            ("fn f() { std::process::exit(1); }", "`process::exit`"),
            ("use std::env::var;", "`env::`"),
            ("fn f() { todo!() }", "`todo!`"),
            ("fn f() { unimplemented!() }", "`unimplemented!`"),
            ("#[test]\n#[ignore = \"slow\"]\nfn f() {}", "`#[ignore`"),
            ("fn f() { unsafe { g() } }", "`unsafe`"),
        ];
        assert_eq!(samples.len(), super::BANS.len(), "one sample per ban");
        for (content, what) in samples {
            assert_eq!(found("crates/array/src/a.rs", content), [what], "{content}");
        }
    }

    #[test]
    fn comments_strings_and_allowed_places_are_left_alone() {
        assert!(found("crates/array/src/a.rs", "// println!\nconst A: &str = \"println!\";").is_empty());
        assert!(found("crates/shoal/src/a.rs", "fn f() { println!(\"x\"); }").is_empty());
        assert!(found("crates/parity/src/kernels.rs", "unsafe fn f() {}").is_empty());
    }

    #[test]
    fn tests_may_print_but_not_be_ignored() {
        let printing = "#[cfg(test)]\nmod tests {\n    fn f() { println!(\"x\"); }\n}";
        assert!(found("crates/array/src/a.rs", printing).is_empty());
        assert!(found("crates/array/tests/a.rs", "fn f() { println!(\"x\"); }").is_empty());
        assert_eq!(found("crates/array/tests/a.rs", "#[ignore]\nfn f() {}"), ["`#[ignore`"]);
    }

    #[test]
    fn a_ban_is_seen_inside_a_macro_call() {
        assert_eq!(found("crates/md/src/a.rs", "fn f() { assert!(Instant::now() > t); }"), ["`Instant::now`"]);
    }
}
