//! A drive that does not answer: a file on a file system that stands still.

use std::io::{BufRead, BufReader, Read};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::attached::stick::Stick;
use crate::attached::{Attached, CONTENT_BYTES, Ended, PATIENCE, Pond, Served, copy, has_fuse};
use crate::support::{Bay, Ran, pattern};

impl Pond {
    fn write(&self, device: &str, seed: u64) -> Ended {
        std::fs::write(self.bay.path("content"), pattern(CONTENT_BYTES, seed)).unwrap();
        copy(&self.bay, &format!("if=content of={device} bs=1M oflag=direct conv=notrunc"))
    }

    fn holds(&self, device: &str, seed: u64) {
        assert_eq!(copy(&self.bay, &format!("if={device} of=read bs=1M count=8 iflag=direct")), Ended::Done);
        assert!(std::fs::read(self.bay.path("read")).unwrap() == pattern(CONTENT_BYTES, seed), "wrong bytes");
    }

    /// Runs a command line that must not wait for the drive.
    fn done_soon(&self, line: &str) {
        let mut command = Command::new("timeout");
        command.arg(PATIENCE.as_secs().to_string());
        let shoal = self.bay.command(line.split_whitespace());
        command.arg(shoal.get_program()).args(shoal.get_args());
        command.envs(shoal.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let ran = command.current_dir(self.bay.path("")).output().unwrap();
        assert!(ran.status.success(), "shoal {line}: {:?}: {}", ran.status, String::from_utf8_lossy(&ran.stderr));
    }
}

/// The array goes on without it, before its clients lose patience; and takes it back when it
/// answers again.
#[test]
fn needs_fuse_a_redundant_array_goes_on_while_a_drive_hangs() {
    if !has_fuse() {
        return;
    }
    for (options, rest) in [("--level 1 --bitmap internal", 1), ("--level 5 --chunk 64K --bitmap internal", 3)] {
        let pond = Pond::with(&format!("{options} --assume-clean"), rest);
        let served = Served::start(&pond.bay, &format!("serve --deadline 3 {}", pond.all()));
        let attached = Attached::new(&pond.bay, &pond.all());
        let device = attached.device.display().to_string();
        assert_eq!(pond.write(&device, 1), Ended::Done);
        pond.stick.hang();
        for seed in 2..4 {
            assert_eq!(pond.write(&device, seed), Ended::Done, "{options}");
            pond.holds(&device, seed);
        }
        let status = pond.bay.json("status d0");
        assert_eq!(status["health"], "degraded", "{status}");
        assert!(status["running"]["left_behind"].as_u64().is_some_and(|count| count > 0), "{status}");
        pond.stick.wake();
        pond.wait_until("it has answered", |status| status["running"]["left_behind"].is_null());
        let stick = pond.stick.path().display().to_string();
        pond.bay.done(&format!("re-add --no-rebuild --drive {stick} d0"));
        pond.wait_until("the array is whole again", |status| status["health"] == "optimal");
        pond.holds(&device, 3);
        attached.detach();
        served.stopped(&pond.bay);
        pond.is_consistent();
    }
}

/// Whoever knows better than the array takes the drive out, long before the array would.
#[test]
fn needs_fuse_a_drive_that_hangs_is_failed_and_the_array_stopped() {
    if !has_fuse() {
        return;
    }
    let pond = Pond::with("--level 1 --assume-clean", 1);
    let mut served = Served::start(&pond.bay, &format!("serve --deadline 1000 {}", pond.all()));
    let attached = Attached::new(&pond.bay, &pond.all());
    let device = attached.device.display().to_string();
    assert_eq!(pond.write(&device, 1), Ended::Done);
    pond.stick.hang();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| pond.write(&device, 2));
        let stick = pond.stick.path().display().to_string();
        pond.done_soon("status d0");
        pond.done_soon(&format!("fail --member {stick} d0"));
        assert_eq!(writer.join().unwrap(), Ended::Done);
        pond.done_soon("status d0");
        pond.done_soon(&format!("remove --member {stick} d0"));
    });
    pond.holds(&device, 2);
    pond.done_soon("detach d0");
    pond.done_soon("stop d0");
    // The kernel keeps a process that asked a drive for something until it has answered.
    pond.stick.wake();
    assert!(served.0.wait().unwrap().success());
    assert_eq!(pond.bay.json("status d0")["health"], "degraded");
    drop(attached);
}

impl Pond {
    /// Runs a command line while the drive hangs, and waits until it has said each of `words`. A
    /// process is not gone before the kernel has answered all of its threads, so that is waited for
    /// when the drive is awake again.
    fn says_while_it_hangs(&self, line: &str, words: &[&str]) -> i32 {
        self.stick.hang();
        let mut child = self.bay.command(line.split_whitespace()).spawn().unwrap();
        let (sender, said) = std::sync::mpsc::channel();
        let out: [Box<dyn Read + Send>; 2] =
            [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
        for stream in out {
            let sender = sender.clone();
            std::thread::spawn(move || {
                BufReader::new(stream).lines().map_while(Result::ok).for_each(|line| drop(sender.send(line)));
            });
        }
        let (begun, mut text) = (Instant::now(), String::new());
        while !words.iter().all(|word| text.contains(word)) && begun.elapsed() < PATIENCE {
            text += &said.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
        }
        self.stick.wake();
        let code = child.wait().unwrap().code().unwrap();
        assert!(words.iter().all(|word| text.contains(word)), "shoal {line} says, while a drive hangs: {text}");
        code
    }
}

/// Whoever names the drive first is told so, and sees the array all the same.
#[test]
fn needs_fuse_a_drive_that_hangs_holds_up_no_command_that_names_it_first() {
    if !has_fuse() {
        return;
    }
    let pond = Pond::with("--level 1 --assume-clean", 1);
    let stick = pond.stick.path().display().to_string();
    let silent = format!("{stick} has not answered for");
    let both = format!("{stick} d0");
    let here = pond.bay.path("").display().to_string();
    assert_eq!(pond.says_while_it_hangs(&format!("status {both}"), &[&silent, "health degraded"]), 0);
    assert_eq!(pond.says_while_it_hangs(&format!("status --scan {here} {both}"), &[&silent, "health degraded"]), 0);
    // It would miss what is written: somebody has to say so.
    assert_eq!(pond.says_while_it_hangs(&format!("write {both}"), &[&silent, "--degraded"]), 1);
    assert_eq!(pond.bay.json(&format!("status {both}"))["health"], "optimal");
    let served = Served::start(&pond.bay, &format!("serve {both}"));
    assert_eq!(pond.says_while_it_hangs(&format!("status {both}"), &[&silent, "health "]), 0);
    served.stopped(&pond.bay);
    pond.is_consistent();
}

/// Without redundancy nobody can go on: whatever needs the drive ends by an error, in time, and
/// works when it answers.
#[test]
fn needs_fuse_a_drive_hangs_for_longer_than_the_deadline() {
    if !has_fuse() {
        return;
    }
    let pond = Pond::with("--level 0 --chunk 64K", 2);
    let served = Served::start(&pond.bay, &format!("serve --deadline 2 {}", pond.all()));
    let attached = Attached::new(&pond.bay, &pond.all());
    let device = attached.device.display().to_string();
    assert_eq!(pond.write(&device, 1), Ended::Done);
    pond.stick.hang();
    for seed in 2..4 {
        assert_eq!(pond.write(&device, seed), Ended::Failed, "of a drive that does not answer");
        assert_eq!(pond.bay.json("status d0")["health"], "optimal", "it has not failed");
    }
    pond.stick.wake();
    assert_eq!(pond.write(&device, 4), Ended::Done);
    pond.holds(&device, 4);
    attached.detach();
    served.stopped(&pond.bay);
}

/// `stop` ends while a drive of an array without redundancy hangs, and says why the array is not at
/// rest.
#[test]
fn needs_fuse_an_array_is_stopped_while_a_drive_hangs_that_it_needs() {
    if !has_fuse() {
        return;
    }
    let pond = Pond::with("--level 0 --chunk 64K", 2);
    let mut served = Served::start(&pond.bay, &format!("serve --deadline 2 {}", pond.all()));
    let attached = Attached::new(&pond.bay, &pond.all());
    let device = attached.device.display().to_string();
    assert_eq!(pond.write(&device, 1), Ended::Done);
    pond.stick.hang();
    assert_eq!(pond.write(&device, 2), Ended::Failed);
    pond.done_soon("detach d0");
    let began = Instant::now();
    let refused = pond.bay.run("stop d0");
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(began.elapsed() < PATIENCE, "it waits for the drive");
    pond.stick.wake();
    assert!(!served.0.wait().unwrap().success(), "it was not brought to rest");
    drop(attached);
}

/// A file system that hangs answers not even whether there is a file. Whoever is led there says so,
/// and ends.
#[test]
fn needs_fuse_a_file_system_that_hangs_holds_up_no_command() {
    if !has_fuse() {
        return;
    }
    let bay = Bay::new(2);
    let stick = Stick::new(16 << 20);
    let (file, directory) = (stick.path().display(), stick.path().parent().unwrap().display());
    stick.hang_with_its_file_system();
    let lines = [
        format!("list --scan {directory}"),
        format!("status --scan {directory}"),
        format!("status {file}"),
        format!("examine {file}"),
        format!("read {file}"),
        format!("recover {directory}"),
        format!("recover {file}"),
        format!("bench {directory}"),
        format!("bench {file}"),
        format!("create --level 1 {file} d0"),
        format!("wipe --yes {file}"),
    ];
    let begun = Instant::now();
    let mut children: Vec<_> = lines.iter().map(|line| bay.command(line.split_whitespace()).spawn().unwrap()).collect();
    let mut are_gone = false;
    while !are_gone && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(100));
        are_gone = children.iter_mut().all(|child| child.try_wait().unwrap().is_some());
    }
    stick.wake_with_its_file_system();
    for (line, child) in lines.iter().zip(children) {
        let ran = Ran::of(child.wait_with_output().unwrap());
        assert!(ran.code != 0 && ran.stderr.contains("has not answered for"), "shoal {line}: {}", ran.stderr);
    }
    assert!(are_gone, "one of them waited");
}
