//! What an attachment names is that array's device, or nobody's; and an array that is used is not
//! stopped by accident.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::files::pond::PATIENCE;
use crate::files::ponds::{Ponds, is_possible, kill, run};
use crate::running::server::Server;
use crate::support::{Bay, Ran, has};

#[test]
fn needs_root_fuse_a_loop_device_that_is_somebody_else_s_now_is_never_shown_or_formatted() {
    if !is_possible() {
        return;
    }
    let ponds = Ponds::new();
    let foreign = ponds.take(&ponds.attached());
    let before = std::fs::read(ponds.bay.path("copy")).unwrap();
    let status = ponds.bay.json("status d0 d1");
    assert_eq!(status["attached"]["standing"], "gone", "{status}");
    ponds.bay.refused_running("format --fs ext4 d0 d1", 3, &["left", "carries ext4"]);
    ponds.bay.done(&format!("mount d0 d1 {}", ponds.directory()));
    assert!(ponds.holds("left") && !ponds.holds("right"), "another array's files are shown");
    ponds.bay.done(&format!("unmount {}", ponds.directory()));
    ponds.bay.done("format --fs ext4 --force d0 d1");
    assert!(std::fs::read(ponds.bay.path("copy")).unwrap() == before, "another array is formatted");
    drop(foreign);
    ponds.bay.done(&format!("mount d2 d3 {}", ponds.directory()));
    assert!(ponds.holds("right"));
}

#[test]
fn needs_root_fuse_a_loop_device_that_was_let_go_of_is_made_anew() {
    if !is_possible() {
        return;
    }
    let ponds = Ponds::new();
    for way in ["its loop device", "its front", "its server"] {
        let attached = ponds.bay.json("attach --as fuse -b d0 d1");
        match way {
            "its front" => kill(&attached["front"]),
            "its server" => kill(&attached["server"]),
            _ => run("losetup", &["--detach".as_ref(), attached["device"].as_str().unwrap().as_ref()]),
        }
        ponds.bay.done(&format!("mount d0 d1 {}", ponds.directory()));
        assert!(ponds.holds("left"), "{way} is gone, and its file system is intact");
        ponds.bay.done(&format!("unmount {}", ponds.directory()));
        ponds.bay.run("detach d0");
    }
    // As a command of its own, too; and what is left of it is taken down in any case.
    let device = ponds.attached();
    run("losetup", &["--detach".as_ref(), &device]);
    ponds.bay.done("detach d0");
    assert!(ponds.bay.json("status d0 d1")["attached"].is_null());
}

#[test]
fn needs_root_fuse_what_is_attached_or_mounted_is_not_stopped_unless_forced() {
    if !is_possible() {
        return;
    }
    let ponds = Ponds::new();
    let directory = ponds.directory();
    ponds.bay.done(&format!("mount d0 d1 {directory}"));
    ponds.bay.refused_running("stop d0", 3, &["left", "mounted on", &directory, "shoal unmount"]);
    assert!(ponds.holds("left"));
    ponds.bay.done(&format!("unmount {directory}"));
    let device = ponds.attached();
    ponds.bay.refused_running("stop d0", 3, &["left", "attached", device.to_str().unwrap(), "shoal detach"]);
    let stopped = ponds.bay.done("stop --force d0");
    assert!(stopped.stderr.contains("attached") && stopped.stderr.contains("shoal attach"), "{}", stopped.stderr);
    // Nobody has it open, so there is nothing to be waited for.
    let begun = Instant::now();
    ponds.bay.done("detach d0");
    assert!(begun.elapsed() < Duration::from_secs(240), "it waited for the deadline: {:?}", begun.elapsed());
    assert!(ponds.bay.json("status d0 d1")["attached"].is_null());
}

#[test]
fn needs_root_fuse_what_waits_for_a_server_is_run_where_it_is_waited_for() {
    if !is_possible() {
        return;
    }
    let ponds = Ponds::new();
    let device = ponds.attached();
    kill(&ponds.bay.json("status d0")["running"]);
    let elsewhere = ponds.bay.runtime().with_file_name("elsewhere.sock");
    let elsewhere = format!("serve --wait 0 --nbd unix:{} d0 d1", elsewhere.display());
    let too_little = ["serve --wait 0 --read-only d0 d1", "serve --wait 0 --export part=0+64K d0 d1"];
    for line in ["run --wait 0 d0 d1", &elsewhere].into_iter().chain(too_little) {
        ponds.bay.refused_running(line, 3, &["left", device.to_str().unwrap(), "waits", "shoal attach"]);
    }
    let served = Server::start_as(&ponds.bay, "serve", "d0 d1");
    assert_eq!(ponds.bay.json("status d0")["attached"]["standing"], "served");
    ponds.bay.done("detach d0");
    ponds.bay.done("stop d0");
    assert_eq!(served.ended().code, 0);
}

/// Who uses the device writes to it, whatever whoever starts the server again is about to do.
#[test]
fn needs_root_fuse_a_server_that_is_started_for_reading_serves_a_writable_device_for_writing() {
    if !is_possible() || !has("dd") {
        return;
    }
    let ponds = Ponds::new();
    let device = ponds.attached();
    kill(&ponds.bay.json("status d0")["running"]);
    ponds.bay.done("attach --read-only d0 d1");
    let arguments = ["if=/dev/zero", "bs=4096", "count=1", "oflag=direct", "conv=fsync", "status=none"];
    let written = Command::new("dd").arg(format!("of={}", device.display())).args(arguments).status().unwrap();
    assert!(written.success(), "{written}");
    ponds.bay.done("detach d0");
}

/// Other arrays' commands look which loop devices lie on what files; they ask no file system for
/// that which does not answer.
#[test]
fn needs_root_fuse_a_front_that_stands_still_holds_up_nobody_else() {
    if !is_possible() {
        return;
    }
    let ponds = Ponds::new();
    ponds.attached();
    let front = ponds.bay.json("status d0")["attached"]["front"]["process_id"].to_string();
    for fresh in ["fresh0", "fresh1"] {
        std::fs::File::create(ponds.bay.path(fresh)).unwrap().set_len(16 << 20).unwrap();
    }
    run("kill", &["-STOP".as_ref(), front.as_ref()]);
    let create = ["create", "--quiet", "--level", "1", "--name", "other", "fresh0", "fresh1"];
    let mut created = ponds.bay.command(create).spawn().unwrap();
    let begun = Instant::now();
    let ended = loop {
        let ended = created.try_wait().unwrap();
        if ended.is_some() || begun.elapsed() > PATIENCE {
            break ended;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    run("kill", &["-CONT".as_ref(), front.as_ref()]);
    assert!(ended.is_some(), "create waits for another array's front");
    assert!(created.wait().unwrap().success());
    ponds.bay.done("detach d0");
}

/// What was written cannot be flushed through it, and who waits for that cannot be ended.
#[test]
fn needs_root_fuse_a_front_that_stands_still_is_told_by_whatever_would_wait_for_it() {
    if !is_possible() {
        return;
    }
    let ponds = Ponds::new();
    ponds.bay.done(&format!("mount d0 d1 {}", ponds.directory()));
    let unmount = format!("unmount {}", ponds.directory());
    let front = ponds.bay.json("status d0")["attached"]["front"]["process_id"].to_string();
    run("kill", &["-STOP".as_ref(), front.as_ref()]);
    let mend = format!("kill -CONT {front}");
    let refused = [unmount.as_str(), "unmount d0", "attach d0"];
    let told: Vec<_> = refused.iter().map(|line| (*line, ponds.bay.run(line))).collect();
    let status = ponds.bay.run("status d0");
    run("kill", &["-CONT".as_ref(), front.as_ref()]);
    for (line, ran) in told {
        assert!(ran.code == 3 && ran.stderr.contains(&mend), "{line}: {} {}", ran.code, ran.stderr);
    }
    assert!(String::from_utf8_lossy(&status.stdout).contains(&mend), "{}", String::from_utf8_lossy(&status.stdout));
    ponds.bay.done(&unmount);
    ponds.attached();
    let front = ponds.bay.json("status d0")["attached"]["front"]["process_id"].to_string();
    run("kill", &["-STOP".as_ref(), front.as_ref()]);
    let ran = ponds.bay.run("detach d0");
    run("kill", &["-CONT".as_ref(), front.as_ref()]);
    assert!(ran.code == 3 && ran.stderr.contains(&format!("kill -CONT {front}")), "{} {}", ran.code, ran.stderr);
    ponds.bay.done("detach d0");
}

/// A file of FUSE goes with its front, and what is mounted of it can only be taken down.
#[test]
fn needs_root_fuse_what_is_mounted_of_a_front_that_is_gone_is_unmounted() {
    if !is_possible() {
        return;
    }
    let ponds = Ponds::new();
    ponds.bay.done(&format!("mount d0 d1 {}", ponds.directory()));
    kill(&ponds.bay.json("status d0")["attached"]["front"]);
    let told = String::from_utf8(ponds.bay.run("status d0 d1").stdout).unwrap();
    let line = told.split('`').find_map(|word| word.strip_prefix("shoal unmount ")).unwrap();
    let ran = ponds.bay.run(&format!("unmount {line}"));
    assert!(ran.code == 1 && ran.stderr.contains("not flushed is lost"), "{} {}", ran.code, ran.stderr);
    assert!(ponds.bay.json("status d0 d1")["attached"].is_null());
    ponds.bay.done(&format!("mount d0 d1 {}", ponds.directory()));
    assert!(ponds.holds("left"));
    ponds.bay.done(&format!("unmount {}", ponds.directory()));
}

#[test]
fn needs_root_fuse_a_server_that_is_gone_is_told_and_all_that_waits_fails_at_one_moment() {
    if !is_possible() || !has("dd") {
        return;
    }
    let ponds = Ponds::new();
    let device: PathBuf = ponds.bay.json("attach --as fuse -b --deadline 4 d0 d1")["device"].as_str().unwrap().into();
    kill(&ponds.bay.json("status d0")["running"]);
    let told = ponds.bay.run("status d0 d1");
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(told.contains("nobody runs it") && told.contains("shoal attach"), "{told}");
    // A hundred requests, one after the other: each would have waited for its own deadline.
    let begun = Instant::now();
    let read = |block: usize| {
        let skip = format!("skip={block}");
        let arguments = ["bs=4096", "count=1", "iflag=direct", "status=none", "of=/dev/null", &skip];
        Command::new("dd").arg(format!("if={}", device.display())).args(arguments).output().unwrap()
    };
    let answered = (0..100).find(|block| read(*block).status.success());
    assert_eq!(answered, None, "a read of this block succeeds, and nobody can answer it");
    assert!(begun.elapsed() < Duration::from_secs(200), "each had a deadline of its own: {:?}", begun.elapsed());
    // Whoever starts it again finds all of it.
    ponds.bay.done("attach d0 d1");
    let begun = Instant::now();
    while !read(0).status.success() {
        assert!(begun.elapsed() < PATIENCE, "the device does not come back");
    }
    let ran: Ran = ponds.bay.run("detach d0");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

#[test]
fn needs_root_fuse_the_line_that_runs_an_array_again_does_so() {
    if !is_possible() {
        return;
    }
    let ponds = Ponds::new();
    let served = Server::start_as(&ponds.bay, "serve", "d0 d1");
    // Of an array that runs one drive will do, and does not once nobody runs it.
    ponds.bay.done("attach --as fuse d0");
    served.kill();
    let told = String::from_utf8(ponds.bay.run("status d0 d1").stdout).unwrap();
    let line = told.split('`').find_map(|word| word.strip_prefix("shoal attach ")).unwrap();
    assert!(line.contains("d0") && line.contains("d1"), "{told}");
    ponds.bay.done(&format!("attach {line}"));
    ponds.bay.done("detach d0");
    assert!(ponds.bay.json("status d0 d1")["running"].is_null(), "it was run to be attached");
}

#[test]
fn needs_root_fuse_the_line_that_runs_an_array_again_names_the_drives_that_it_has_now() {
    if !is_possible() {
        return;
    }
    let ponds = Ponds::new();
    ponds.bay.add("new", 40 << 20);
    ponds.bay.done("attach --as fuse d0 d1");
    ponds.bay.done("replace --member d1 --with new d0");
    ponds.bay.done("rebuild d0");
    ponds.bay.done("remove --drive d1 d0");
    let line = |drive: &str| {
        let told = String::from_utf8(ponds.bay.run(&format!("status {drive}")).stdout).unwrap();
        told.split('`').find_map(|word| word.strip_prefix("shoal attach ")).map(str::to_owned).ok_or(told)
    };
    kill(&ponds.bay.json("status d0")["running"]);
    std::fs::remove_file(ponds.bay.path("d1")).unwrap();
    let line = line("d0").unwrap();
    assert!(line.contains("/d0") && line.contains("/new") && !line.contains("/d1"), "{line}");
    ponds.bay.done(&format!("attach {line}"));
    ponds.bay.done("detach d0");
}

#[test]
fn needs_root_fuse_what_is_attached_or_mounted_is_not_overwritten() {
    if !is_possible() {
        return;
    }
    let ponds = Ponds::new();
    let directory = ponds.directory();
    let overwriting = |words: &[&str]| {
        let bench = "bench --write --force --bytes 64K --block-size 64K --warm-up 0 --repeat 1 d0 d1";
        for line in ["write d0 d1", "write --force d0", bench] {
            let ran = ponds.bay.run_with(line, b"these bytes must not be written");
            assert_eq!(ran.code, 3, "{line}: {}", ran.stderr);
            ran.is_one_line(line, words);
        }
    };
    ponds.bay.done(&format!("mount d0 d1 {directory}"));
    let mount = format!("`shoal unmount {directory}` first");
    overwriting(&["left", &format!("mounted on {directory}"), &mount]);
    // Nobody runs it, and what is mounted waits for whoever does.
    kill(&ponds.bay.json("status d0")["running"]);
    overwriting(&["left", &format!("mounted on {directory}"), &mount]);
    // Nor are its members made anything else.
    for line in ["create --level 0 --force d1 d2", "add --force --drive d0 d2 d3", "bench --write --force --raw d0"] {
        let ran = ponds.bay.run(line);
        assert_eq!(ran.code, 3, "{line}: {}", ran.stderr);
        ran.is_one_line(line, &["is a member of array", "left", &format!("mounted on {directory}"), &mount]);
    }
    ponds.bay.done("attach d0 d1");
    assert!(ponds.holds("left"));
    ponds.bay.done(&format!("unmount {directory}"));
    let device = ponds.attached().display().to_string();
    overwriting(&["left", &format!("attached as {device}"), &format!("`shoal detach {device}` first")]);
    ponds.bay.done("detach d0");
    ponds.bay.write("write --force --offset 8M d0 d1", b"nobody uses it");
}

#[test]
fn needs_root_fuse_a_device_that_lost_what_was_written_last_is_taken_down_all_the_same() {
    if !is_possible() {
        return;
    }
    let ponds = Ponds::new();
    let attached = ponds.bay.json("attach --as fuse -b --deadline 4 d0 d1");
    ponds.bay.done(&format!("mount d0 d1 {}", ponds.directory()));
    kill(&attached["server"]);
    let lost = std::fs::write(ponds.place.path().join("lost"), vec![1; 1 << 20]);
    let flushed = lost.and_then(|()| std::fs::File::open(ponds.place.path())?.sync_all());
    assert!(flushed.is_err(), "nobody can have taken it");
    ponds.bay.done("attach d0 d1");
    // It is told once that what was written could not be flushed.
    let begun = Instant::now();
    while ponds.bay.run(&format!("unmount {}", ponds.directory())).code != 0 {
        assert!(begun.elapsed() < PATIENCE, "it stays mounted");
    }
    let ran = ponds.bay.run("detach d0");
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    ran.is_one_line("detach", &["is detached", "written to it last is lost", "check its file system"]);
    let status = ponds.bay.json("status d0 d1");
    assert!(status["attached"].is_null() && status["running"].is_null(), "{status}");
}

/// Image files as loop devices, which lose what they have in flight when they are made anew: as
/// drives that lose their power under a machine that goes on.
struct Sticks<'a> {
    bay: &'a Bay,
    devices: Vec<PathBuf>,
}

impl<'a> Sticks<'a> {
    fn plugged(bay: &'a Bay) -> Self {
        let mut sticks = Self { bay, devices: Vec::new() };
        for name in ["d0", "d1"] {
            let output = Command::new("losetup").args(["--find", "--show"]).arg(bay.path(name)).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            sticks.devices.push(String::from_utf8(output.stdout).unwrap().trim().into());
        }
        sticks
    }

    fn names(&self) -> String {
        self.devices.iter().map(|device| device.display().to_string()).collect::<Vec<_>>().join(" ")
    }

    /// The array's server is killed, and with it all that the drives have not flushed may be gone.
    fn kill_the_server(&self) {
        kill(&self.bay.json(&format!("status {}", self.names()))["running"]);
    }
}

impl Drop for Sticks<'_> {
    fn drop(&mut self) {
        self.bay.run(&format!("detach {}", self.names()));
        for device in &self.devices {
            let _ = Command::new("losetup").arg("--detach").arg(device).status();
        }
    }
}

#[test]
fn needs_root_fuse_a_flush_fails_once_after_drives_lost_their_power() {
    use std::os::unix::fs::FileExt;
    if !is_possible() {
        return;
    }
    let bay = Bay::new(2);
    let sticks = Sticks::plugged(&bay);
    bay.done(&format!("create --level 1 --assume-clean --name pond {}", sticks.names()));
    let attached = bay.json(&format!("attach --as fuse {}", sticks.names()));
    let file = std::fs::File::options().write(true).open(attached["device"].as_str().unwrap()).unwrap();
    file.write_all_at(&[1; 4096], 0).unwrap();
    sticks.kill_the_server();
    bay.done(&format!("attach {}", sticks.names()));
    file.sync_all().expect("the drives went on: nothing is lost");
    file.write_all_at(&[2; 4096], 0).unwrap();
    sticks.kill_the_server();
    let mut before = sticks;
    for device in before.devices.drain(..) {
        run("losetup", &["--detach".as_ref(), &device]);
    }
    let sticks = Sticks::plugged(&bay);
    bay.done(&format!("attach {}", sticks.names()));
    let failed = file.sync_all().unwrap_err();
    assert_eq!(failed.raw_os_error(), Some(rustix::io::Errno::IO.raw_os_error()), "{failed}");
    file.sync_all().expect("it is told once");
    drop(file);
    bay.done(&format!("detach {}", sticks.names()));
}
