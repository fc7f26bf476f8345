//! The same through the nbd driver of a real kernel, in the lab: a file system on /dev/nbd0 is mounted all the while.

use std::time::Duration;

use shoal_lab::{Guest, Lab};

use crate::fio::verified;
use crate::support::has;
use crate::{needs, tell};

/// The guest is slow: a small load, which takes some seconds.
const LOAD_BYTES: u64 = 8 << 20;
const LOAD_BYTES_PER_S: u64 = 1 << 20;

/// Words for the scripts: there is no AVX in the guest, whatever the processor says of itself.
const WORDS: &str = r#"
export SHOAL_RUNTIME_DIRECTORY=/run/shoal
shoal() { PROGRAM --quiet --parity-kernel scalar --io-engine threads "$@"; }
server() { shoal --json status d0 | sed -n '/"running"/,$s/.*"process_id": \([0-9]*\).*/\1/p' | head -n 1; }
"#;

fn script(text: &str) -> String {
    format!("{}{text}", WORDS.replace("PROGRAM", env!("CARGO_BIN_EXE_shoal")))
}

fn done(guest: &mut Guest, text: &str) -> String {
    guest.done(&script(text)).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn needs_kernel_nbd_keeps_a_mount_while_a_member_and_the_server_are_killed() {
    let lab = Lab::find().map_err(|missing| needs(&missing.to_string(), false));
    let (Ok(lab), true) = (lab, needs("fio", has("fio"))) else { return };
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut guest = lab.boot(directory.path()).unwrap();
    mount(&mut guest);
    let refused = guest.run(&script("shoal detach /dev/nbd0")).unwrap();
    assert!(refused.status == 3 && refused.output.contains("is mounted on /run/pond"), "{refused:?}");
    let report = outage(&mut guest);
    let verified = verified(&report);
    tell("kernel nbd and ext4, degraded, server killed", verified);
    assert!(verified.outage >= Duration::from_secs(2), "nobody has noticed that the server was gone");
    let said = the_front_is_killed_too(&mut guest);
    assert!(said.contains("is no longer /dev/nbd0"), "{said}");
    assert_eq!(said.lines().last(), Some("attaching.lock"), "something is left behind: {said}");
}

/// Makes an array, attaches it, and mounts a file system on it.
fn mount(guest: &mut Guest) {
    done(
        guest,
        "truncate -s 48M d0 d1 d2 d3
         shoal create --level 5 --chunk 64K --consistency-policy ppl d0 d1 d2 d3 2>/dev/null
         shoal attach --as nbd --deadline 100 d0 d1 d2 d3
         mkfs.ext4 -q /dev/nbd0
         mkdir -p /run/pond
         mount -n -i -t ext4 /dev/nbd0 /run/pond",
    );
}

/// A load, and what happens meanwhile; fio's report.
fn outage(guest: &mut Guest) -> String {
    let load = [
        "fio --name=load --filename=/run/pond/load --rw=randwrite --bs=16k --ioengine=psync --direct=1 --thread"
            .to_owned(),
        format!("--size={LOAD_BYTES} --rate={LOAD_BYTES_PER_S} --verify=crc32c --verify_fatal=1 --fsync=50"),
        "--output-format=json --output=/run/report".to_owned(),
    ];
    done(
        guest,
        &format!(
            "cd /run; {} & load=$!; cd /run/shared
             sleep 1
             shoal fail --member d1 d0 >/dev/null
             sleep 1
             kill -KILL $(server)
             sleep 2
             shoal attach d0 d1 d2 d3 >/dev/null
             wait $load
             cat /run/report",
            load.join(" ")
        ),
    )
}

/// It is followed by another, and the mount lives; then all is undone.
fn the_front_is_killed_too(guest: &mut Guest) -> String {
    done(
        guest,
        "cp /run/pond/load /run/before
         front=$(pgrep -f 'shoal front')
         kill -KILL $front
         shoal attach d0 d1 d2 d3
         echo 3 >/proc/sys/vm/drop_caches
         cmp /run/before /run/pond/load
         umount /run/pond
         e2fsck -fn /dev/nbd0 >/dev/null 2>&1
         shoal detach /dev/nbd0
         ls /run/shoal
         pgrep shoal || true",
    )
}
