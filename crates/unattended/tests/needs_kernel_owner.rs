//! Who owns an array, by mdadm's own judgement under a real kernel: what mdadm is told to ignore it
//! leaves alone, whoever hands it the members, and what it is told to run it runs under the name
//! that it is given.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

use std::fs::File;

use shoal_lab::{Guest, Lab};
use shoal_unattended::{ArrayName, mdadm_conf};

#[test]
fn needs_kernel_mdadm_leaves_alone_what_shoal_runs() {
    let lab = Lab::find().map_err(|missing| eprintln!("SKIPPED: who owns an array: needs {missing}"));
    let Ok(lab) = lab else { return };
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for name in ["d0", "d1"] {
        File::create(directory.path().join(name)).unwrap().set_len(16 << 20).unwrap();
    }
    let mut guest = lab.boot(directory.path()).unwrap_or_else(|error| panic!("{error}"));
    let drives = done(&mut guest, "attach_all 512 d0 d1; echo $DRIVES");
    let (first, _) = drives.split_once(' ').unwrap();
    let uuid = done(
        &mut guest,
        &format!(
            "mdadm --create --quiet /dev/md7 --run --level 1 -n 2 --metadata 1.2 --name pond --assume-clean {drives}
         mdadm --stop --quiet /dev/md7
         mount -t tmpfs none /etc/mdadm
         mkdir /etc/mdadm/mdadm.conf.d
         mdadm --examine {first} | sed -n 's/.*Array UUID : //p'"
        ),
    );
    let array = [ArrayName { uuid: uuid.trim().parse().unwrap(), name: "pond".to_owned() }];
    let left_alone = done(&mut guest, &handed_over(&drives, &mdadm_conf::left_alone(&array)));
    assert!(left_alone.contains("explicitly ignored") && !left_alone.contains("md127"), "{left_alone}");
    assert!(!left_alone.contains("active raid1"), "{left_alone}");
    let run = done(&mut guest, &handed_over(&drives, &mdadm_conf::run_by_kernel(&array)));
    assert!(run.contains("active raid1") && run.contains("/dev/md/pond"), "{run}");
}

/// Hands both members to mdadm, as udev does, and shows what came of it.
fn handed_over(drives: &str, configuration: &str) -> String {
    format!(
        "printf '%s' '{configuration}' >/etc/mdadm/mdadm.conf.d/shoal.conf
         for drive in {drives}; do mdadm --incremental $drive || true; done
         cat /proc/mdstat
         ls /dev/md/* 2>/dev/null || true"
    )
}

fn done(guest: &mut Guest, script: &str) -> String {
    guest.done(script).unwrap_or_else(|error| panic!("{error}"))
}
