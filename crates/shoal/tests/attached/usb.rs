//! The same with USB sticks that are pulled out of the bus and plugged back, in an emulated machine: nobody plays the drive that is
//! gone, its driver finds it gone.

use std::fs::File;
use std::path::PathBuf;

use shoal_lab::usb::{Stick, UsbGuest, UsbLab};

use crate::nbd::{all_verified, load_words};
use crate::{needs, tell};

/// The program, at its place in the machine too.
const FIO: &str = "/usr/bin/fio";
const STICK_BYTES: u64 = 24 << 20;
/// Every instruction is emulated: a pass takes some seconds.
const PASS_BYTES: u64 = 2 << 20;
const PASS_BYTES_PER_S: u64 = 1 << 20;

const WORDS: &str = r#"
export SHOAL_RUNTIME_DIRECTORY=/run/shoal
shoal() { PROGRAM --quiet "$@"; }
status() { shoal --json status $(stick STICK0); }
server() { status | sed -n '/"running"/,$s/.*"process_id": \([0-9]*\).*/\1/p' | head -n 1; }
is() { status | grep -q "\"health\": \"$1\""; }
until_is() { until is "$1"; do sleep 0.2; done; }
until_there() { until stick $1 >/dev/null; do sleep 0.1; done; }
"#;

struct Machine(UsbGuest);

impl Machine {
    fn done(&mut self, text: &str) -> String {
        let words = WORDS.replace("PROGRAM", env!("CARGO_BIN_EXE_shoal"));
        let load = load_words(PASS_BYTES, PASS_BYTES_PER_S, "psync");
        self.0.shell().done(&format!("{words}{load}{text}")).unwrap_or_else(|error| panic!("{error}"))
    }
}

#[test]
fn needs_bus_sticks_are_pulled_and_the_server_is_killed_under_a_verified_load() {
    let lab = UsbLab::find().map_err(|missing| needs(&missing.to_string(), false));
    let (Ok(lab), true) = (lab, needs(FIO, std::path::Path::new(FIO).exists())) else { return };
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let stick = |number: usize| {
        let image = directory.path().join(format!("stick{number}"));
        File::create(&image).unwrap().set_len(STICK_BYTES).unwrap();
        Stick { image, bus: number % 2, limits: None }
    };
    let sticks: Vec<_> = (0..4).map(stick).collect();
    let programs = [PathBuf::from(env!("CARGO_BIN_EXE_shoal")), FIO.into()];
    let mut machine = Machine(lab.boot(&sticks, &programs).unwrap_or_else(|error| panic!("{error}")));
    machine.done(
        "shoal create --level 5 --chunk 64K --assume-clean --consistency-policy ppl $(stick STICK0 STICK1 STICK2 STICK3)
         shoal attach --as nbd --deadline 200 $(stick STICK0 STICK1 STICK2 STICK3)
         load_on /dev/nbd0
         another_pass",
    );
    machine.0.pull(1).unwrap();
    machine.done(
        "until_is degraded
         another_pass
         kill -KILL $(server)
         sleep 2
         shoal attach $(stick STICK0 STICK2 STICK3) >/run/attached
         another_pass",
    );
    machine.0.plug(1).unwrap();
    machine.done(
        "until_there STICK1
         shoal speed --min 1G $(stick STICK0) >/run/speed
         shoal add --force --no-rebuild --drive $(stick STICK1) $(stick STICK0) >/run/added
         until_is optimal
         another_pass",
    );
    machine.0.pull(3).unwrap();
    let reports = machine.done(
        "until_is degraded
         another_pass
         enough
         shoal detach /dev/nbd0 >/run/detached",
    );
    tell("USB, stick pulled, server killed while degraded, stick added, another pulled", all_verified(&reports));
}
