//! Two hosts of this machine, joined by a link, and what goes over it. All of it takes root.

#![expect(clippy::unwrap_used, reason = "a test may fail by panic")]

mod link;
mod transfers;

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("SKIPPED: two hosts and their link need root");
    }
    is_root
}
