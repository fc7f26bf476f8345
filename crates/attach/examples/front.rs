//! An array that a server offers at a Unix socket, in the kernel of this machine, until standard
//! input ends: `cargo run -p shoal-attach --example front -- fuse SOCKET SECONDS
//! DIRECTORY`, or `ublk SOCKET SECONDS`, with a device behind it that is to be taken over: for
//! tests, and for whoever writes one.
//!
//! It prints the path of the file or device when it is there. SECONDS is the deadline of a request.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use shoal_attach::fuse::{self, Access, FileOptions};
use shoal_attach::ublk::{self, UblkOptions};
use shoal_attach::{Client, ClientOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [kind, socket, seconds, rest @ ..] = &arguments[..] else { return Err("KIND SOCKET SECONDS ...".into()) };
    shoal_attach::stay_out_of_reclaim();
    let deadline = Duration::from_secs(seconds.parse()?);
    let client =
        Client::connect(Path::new(socket), &ClientOptions { export: String::new(), deadline, connections: 1 })?;
    let ready = |path: &Path| {
        let _ = writeln!(std::io::stdout(), "{}", path.display());
    };
    match (&kind[..], rest) {
        ("fuse", [directory]) => {
            let options = FileOptions { name: "array".to_owned(), access: Access::Owner };
            fuse::run(&client, Path::new(directory), &options, ready, end_of_input())?;
        }
        ("ublk", recovered @ ([] | [_])) => {
            let recovered = recovered.first().map(PathBuf::from);
            let options = UblkOptions { logical_block_bytes: 512, recovered };
            ublk::run(&client, &options, ready, end_of_input())?;
        }
        _ => return Err("fuse SOCKET SECONDS DIRECTORY, or ublk SOCKET SECONDS [DEVICE]".into()),
    }
    Ok(())
}

/// A message when nothing more can be read.
fn end_of_input() -> Receiver<()> {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = tell.send(());
        // Not dropped: that would be a second message, and who has the file open is to be served.
        std::thread::park();
    });
    told
}
