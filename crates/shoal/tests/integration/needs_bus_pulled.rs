//! Sticks are pulled and plugged back while shoal runs an array on them, under a real kernel: the
//! array goes on without the stick, which comes back under another name, is known by what is on it,
//! and gets only what it missed.

use std::fs::File;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use shoal_lab::usb::{Limits, Stick, UsbGuest, UsbLab};

const PROGRAM: &str = env!("CARGO_BIN_EXE_shoal");
const STICK_BYTES: u64 = 48 << 20;
/// Slow enough to be pulled in the middle of something.
const LIMITS: Limits = Limits { read_bytes_per_s: 6_000_000, write_bytes_per_s: 3_000_000 };
const CONTENT_BYTES: u64 = 30 << 20;
const PULLED: usize = 1;

/// Words for the scripts of this test.
const WORDS: &str = "
shoal() { PROGRAM --quiet \"$@\"; }
# until_gone SERIAL, until_there SERIAL: waits for a hand.
until_gone() { while stick $1 >/dev/null; do sleep 0.1; done; }
until_there() { until stick $1 >/dev/null; do sleep 0.1; done; }
# told FILE COMMAND...: puts what it prints into FILE and FILE.errors, and its status into FILE.status, whatever it is.
told() {
    file=$1
    shift
    status=0
    \"$@\" >$file 2>$file.errors || status=$?
    echo $status >$file.status
}
# ended FILE: waits for its end.
ended() { until [ -e $1.status ]; do sleep 0.1; done; }
# sectors_read SERIAL
sectors_read() { awk '{ print $3 }' /sys/block/$(basename $(stick $1))/stat; }
";

#[test]
fn needs_bus_sticks_are_pulled_and_plugged_back_while_an_array_runs() {
    let lab = UsbLab::find().map_err(|missing| eprintln!("SKIPPED: sticks pulled from an array: needs {missing}"));
    let Ok(lab) = lab else { return };
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let stick = |(number, bus)| {
        let image = directory.path().join(format!("stick{number}"));
        File::create(&image).unwrap().set_len(STICK_BYTES).unwrap();
        Stick { image, bus, limits: Some(LIMITS) }
    };
    let sticks: Vec<_> = [0, 1, 0, 1].into_iter().enumerate().map(stick).collect();
    let guest = lab.boot(&sticks, &[PathBuf::from(PROGRAM)]).unwrap_or_else(|error| panic!("{error}"));
    let mut story = Story { guest };
    story.done(&format!(
        "head -c {CONTENT_BYTES} /dev/urandom >/tmp/content
         shoal create --level 5 --chunk 64K --bitmap internal --assume-clean $(stick STICK0 STICK1 STICK2 STICK3)"
    ));
    story.the_sticks_are_shown_where_they_are();
    story.a_running_array_goes_on();
    story.the_stick_comes_back();
    story.a_benchmark_goes_on();
    story.linux_agrees();
}

struct Story {
    guest: UsbGuest,
}

impl Story {
    fn the_sticks_are_shown_where_they_are(&mut self) {
        let found = self.json("drives");
        let is_stick = |drive: &&Value| drive["link"]["kind"] == "usb";
        let sticks: Vec<&Value> = found["drives"].as_array().unwrap().iter().filter(is_stick).collect();
        let mut serials: Vec<_> = sticks.iter().map(|stick| stick["serial"].as_str().unwrap()).collect();
        serials.sort_unstable();
        assert_eq!(serials, ["STICK0", "STICK1", "STICK2", "STICK3"], "{found}");
        for stick in &sticks {
            assert_eq!((&stick["size_bytes"], &stick["link"]["driver"]), (&STICK_BYTES.into(), &"usb-storage".into()));
            assert!(stick["holds"]["parts"][0]["array"]["uuid"].is_string(), "{stick}");
        }
        let bus = |serial: &str| {
            let stick = sticks.iter().find(|stick| stick["serial"] == serial).unwrap();
            let way = stick["way"].as_array().unwrap();
            way.iter().find(|station| station["kind"] == "usb-bus").unwrap()["name"].clone()
        };
        assert_eq!((bus("STICK0"), bus("STICK1")), (bus("STICK2"), bus("STICK3")), "{found}");
        assert_ne!(bus("STICK0"), bus("STICK1"), "{found}");
        let tree = self.done("shoal drives");
        assert_eq!(tree.matches(": 2 drives share it").count(), 2, "{tree}");
    }

    fn a_running_array_goes_on(&mut self) {
        self.done(
            "(told /tmp/run shoal run $(stick STICK0 STICK1 STICK2 STICK3)) &
             until shoal status $(stick STICK0) | grep -q 'runs as'; do sleep 0.2; done",
        );
        let is_pulled = (0..8).any(|number| {
            if number > 0 {
                self.guest.plug(PULLED).unwrap();
                // By then the array knows that it was gone.
                self.holds_the_content("$(stick STICK0)");
                self.done("until_there STICK1; shoal re-add --drive $(stick STICK1) $(stick STICK0)");
            }
            self.is_pulled_in_mid_write()
        });
        assert!(is_pulled, "every write was over before the stick was pulled");
        let status = self.json("status $(stick STICK0)");
        assert_eq!(
            (&status["health"], &status["members"][PULLED]["state"]),
            (&"degraded".into(), &"missing".into()),
            "{status}"
        );
        assert!(status["running"]["news"].to_string().contains("failed"), "{status}");
        self.holds_the_content("$(stick STICK0)");
    }

    /// A stick is pulled while the array is written to, which goes on. On a machine that does much
    /// else the write may have been over before: that says nothing.
    fn is_pulled_in_mid_write(&mut self) -> bool {
        self.done(
            "rm -f /tmp/write.status
             stick STICK1 >/tmp/name
             (told /tmp/write shoal write $(stick STICK0) </tmp/content) &",
        );
        self.pulled_after(Duration::from_millis(1500));
        let written = self.done(
            "[ -e /tmp/write.status ] || echo under way
             ended /tmp/write
             cat /tmp/write.status /tmp/write /tmp/write.errors",
        );
        let (is_under_way, rest) = written.strip_prefix("under way\n").map_or((false, &*written), |rest| (true, rest));
        assert!(rest == "0" || rest.starts_with("0\n"), "it goes on: {written}");
        is_under_way
    }

    fn the_stick_comes_back(&mut self) {
        self.guest.plug(PULLED).unwrap();
        let names = self.done("until_there STICK1; cat /tmp/name; stick STICK1");
        let names: Vec<_> = names.lines().collect();
        assert_ne!(names[0], names[1], "the old name is still in use");
        let status = self.json("re-add --drive $(stick STICK1) $(stick STICK0)");
        assert_eq!(status["health"], "optimal", "{status}");
        assert_eq!(status["members"][PULLED]["drive"], names[1], "{status}");
        let scrub = self.json("scrub $(stick STICK0)");
        assert_eq!((&scrub["complete"], &scrub["mismatched_bytes"]), (&true.into(), &0.into()), "{scrub}");
        self.holds_the_content("$(stick STICK0)");
        self.done("shoal stop $(stick STICK0); ended /tmp/run; [ $(cat /tmp/run.status) = 0 ]");
    }

    /// An array that nobody runs is opened by the benchmark itself.
    fn a_benchmark_goes_on(&mut self) {
        // On a machine that does much else it may have been over before.
        assert!((0..8).any(|_| self.is_pulled_in_mid_benchmark()), "no benchmark says that the array was degraded");
    }

    fn is_pulled_in_mid_benchmark(&mut self) -> bool {
        // On a busy machine it takes its time to begin.
        self.done(
            "rm -f /tmp/bench.status
             enough=$(($(sectors_read STICK1) + 8192))
             (told /tmp/bench shoal --json bench --seconds 8 --warm-up 0 --repeat 1 \
                  $(stick STICK0 STICK1 STICK2 STICK3)) &
             until [ $(sectors_read STICK1) -gt $enough ] || [ -e /tmp/bench.status ]; do sleep 0.1; done",
        );
        self.pulled_after(Duration::ZERO);
        let document = self.done("ended /tmp/bench; cat /tmp/bench /tmp/bench.errors");
        let document: Value = serde_json::from_str(&document).unwrap_or_else(|error| panic!("{error}: {document}"));
        let result = &document["results"][0];
        assert_eq!(result["read"]["errors"], 0);
        let is_degraded = result["validity"].to_string().contains("degraded");
        self.guest.plug(PULLED).unwrap();
        self.done("until_there STICK1");
        is_degraded
    }

    /// The array holds what was written, and a stick that was away for a while is taken back by
    /// mdadm.
    fn linux_agrees(&mut self) {
        let printed = self.done(&format!(
            "mdadm --assemble --quiet /dev/md0 $(stick STICK0 STICK1 STICK2 STICK3)
             settle md0
             mdadm --detail /dev/md0 | grep 'State : '
             cmp -n {CONTENT_BYTES} /tmp/content /dev/md0
             echo check >/sys/block/md0/md/sync_action
             settle md0
             cat /sys/block/md0/md/mismatch_cnt
             mdadm --stop --quiet /dev/md0"
        ));
        assert_eq!(printed, "             State : clean \n0");
    }

    fn pulled_after(&mut self, delay: Duration) {
        thread::sleep(delay);
        self.guest.pull(PULLED).unwrap();
        self.done("until_gone STICK1");
    }

    fn holds_the_content(&mut self, array: &str) {
        self.done(&format!("shoal read --length {CONTENT_BYTES} {array} | cmp - /tmp/content"));
    }

    fn json(&mut self, line: &str) -> Value {
        let document = self.done(&format!("shoal --json {line} 2>/tmp/errors || {{ cat /tmp/errors; false; }}"));
        serde_json::from_str(&document).unwrap_or_else(|error| panic!("{error}: {document}"))
    }

    fn done(&mut self, script: &str) -> String {
        let script = format!("{}\n{script}", WORDS.replace("PROGRAM", PROGRAM));
        self.guest.shell().done(&script).unwrap_or_else(|error| panic!("{error}"))
    }
}
