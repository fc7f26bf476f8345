//! The same through the nbd driver of a real kernel, in the lab. Drives are targets of the device
//! mapper's there: one that is pulled has an error for every request, one that hangs is suspended.

use shoal_lab::{Guest, Lab};

use crate::attached::fio::{Verified, arguments, verified};
use crate::attached::{needs, tell};
use crate::support::has;

/// The guest is slow: a pass takes some seconds.
const PASS_BYTES: u64 = 2 << 20;
const PASS_BYTES_PER_S: u64 = 2 << 20;

/// Words for the scripts: there is no AVX in the guest, whatever the processor says of itself.
const WORDS: &str = r#"
export SHOAL_STATE_DIRECTORY=/run/state SHOAL_RUNTIME_DIRECTORY=/run/shoal DM_DISABLE_UDEV=1
shoal() { PROGRAM --quiet --parity-kernel scalar --io-engine threads "$@"; }
status() { shoal --json status $D0; }
server() { status | sed -n '/"running"/,$s/.*"process_id": \([0-9]*\).*/\1/p' | head -n 1; }
# is WORD: whether the array has this health.
is() { status | grep -q "\"health\": \"$1\""; }
until_is() { until is "$1"; do sleep 0.1; done; }

# As devices: drives that can be pulled, plugged back, and hang.
D0=/dev/mapper/d0 D1=/dev/mapper/d1 D2=/dev/mapper/d2 D3=/dev/mapper/d3
table() { echo "0 $(blockdev --getsz "$(cat "/run/$1.loop")") linear $(cat "/run/$1.loop") 0"; }
drive() {
    truncate -s 48M "$1"
    attach "$1" >"/run/$1.loop"
    dmsetup create "$1" --table "$(table "$1")"
}
pull() { dmsetup wipe_table --force --noflush "$1"; }
plug() { dmsetup load "$1" --table "$(table "$1")"; dmsetup resume "$1"; }
hang() { dmsetup suspend --noflush --nolockfs "$1"; }
wake() { dmsetup resume "$1"; }
"#;

/// Words for loads, which any shell understands: fio on TARGET again and again, as in `fio.rs`.
const LOAD: &str = r#"
load_on() {
    echo 0 >/run/passes
    (
        cd /run
        while [ ! -e /run/enough ]; do
            pass=$(($(cat /run/passes) + 1))
            fio --filename="$1" ARGUMENTS --randseed=$pass --output=/run/report$pass || { cat /run/report$pass; exit 1; }
            echo $pass >/run/passes.new
            mv /run/passes.new /run/passes
        done
    ) >/run/load.out 2>&1 &
    echo $! >/run/load
}
another_pass() {
    wanted=$(($(cat /run/passes) + 2))
    until [ "$(cat /run/passes)" -ge $wanted ]; do
        kill -0 "$(cat /run/load)" || { cat /run/load.out; exit 1; }
        sleep 0.1
    done
}
# The reports of all passes, one after the other.
enough() {
    : >/run/enough
    while kill -0 "$(cat /run/load)" 2>/dev/null; do sleep 0.1; done
    [ -e "/run/report$(cat /run/passes)" ] && ! grep -q 'verify: bad' /run/load.out || { cat /run/load.out; exit 1; }
    pass=0
    while [ $pass -lt "$(cat /run/passes)" ]; do pass=$((pass + 1)); cat /run/report$pass; echo; echo "end of report"; done
}
"#;

/// `LOAD` with passes of so many bytes, by this engine of fio's.
fn load_words(bytes: u64, rate_bytes_per_s: u64, engine: &str) -> String {
    LOAD.replace(
        "ARGUMENTS",
        &format!("--ioengine={engine} --direct=1 {}", arguments(bytes, rate_bytes_per_s).join(" ")),
    )
}

/// What all reports that `enough` gives come to.
fn all_verified(reports: &str) -> Verified {
    let reports = reports.split("end of report").filter(|report| report.contains('{'));
    reports.map(verified).fold(Verified::default(), Verified::and)
}

fn done(guest: &mut Guest, text: &str) -> String {
    let words = WORDS.replace("PROGRAM", env!("CARGO_BIN_EXE_shoal"));
    let load = load_words(PASS_BYTES, PASS_BYTES_PER_S, "psync");
    guest.done(&format!("{words}{load}{text}")).unwrap_or_else(|error| panic!("{error}"))
}

/// A guest with an array of four drives, as `options` say, attached by its nbd driver.
fn attached(options: &str, serve: &str) -> Option<(tempfile::TempDir, Guest)> {
    let lab = Lab::find().map_err(|missing| needs(&missing.to_string(), false));
    let (Ok(lab), true, true) = (lab, needs("fio", has("fio")), needs("dmsetup", has("dmsetup"))) else { return None };
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut guest = lab.boot(directory.path()).unwrap();
    done(
        &mut guest,
        &format!(
            "insmod /usr/lib/uml/modules/$(uname -r)/kernel/drivers/md/dm-mod.ko
             for name in d0 d1 d2 d3; do drive $name; done
             shoal create --level 5 --chunk 64K --assume-clean {options} $D0 $D1 $D2 $D3 2>/dev/null
             {serve}
             shoal attach --as nbd --deadline 100 $D0 $D1 $D2 $D3"
        ),
    );
    Some((directory, guest))
}

#[test]
fn needs_kernel_nbd_keeps_a_mount_while_drives_are_pulled_and_the_server_is_killed() {
    let Some((_directory, mut guest)) = attached("--consistency-policy ppl", "") else { return };
    done(
        &mut guest,
        "mkfs.ext4 -q /dev/nbd0
         mkdir -p /run/pond
         mount -n -i -t ext4 /dev/nbd0 /run/pond
         code=0
         shoal detach /dev/nbd0 2>/run/refusal || code=$?
         cat /run/refusal
         [ $code = 3 ] && grep -q 'is mounted on /run/pond' /run/refusal",
    );
    let reports = outages(&mut guest);
    tell(
        "kernel nbd and ext4, drive pulled, server killed while degraded, drive added, another pulled",
        all_verified(&reports),
    );
    let said = the_front_is_killed_too(&mut guest);
    assert!(said.contains("is no longer /dev/nbd0"), "{said}");
    assert_eq!(said.lines().last(), Some("attaching.lock"), "something is left behind: {said}");
}

/// What happens under the load; what that reports.
fn outages(guest: &mut Guest) -> String {
    done(
        guest,
        "load_on /run/pond/load
         another_pass
         pull d1
         until_is degraded
         another_pass
         kill -KILL $(server)
         sleep 2
         shoal attach $D0 $D2 $D3 >/run/attached
         another_pass",
    );
    done(
        guest,
        "plug d1
         shoal speed --min 1G $D0 >/run/speed
         shoal add --force --no-rebuild --drive $D1 $D0 >/run/added
         until_is optimal
         another_pass",
    );
    done(
        guest,
        "pull d2
         until_is degraded
         another_pass
         enough",
    )
}

/// It is followed by another, and the mount lives; then all is undone.
fn the_front_is_killed_too(guest: &mut Guest) -> String {
    done(
        guest,
        "cp /run/pond/load /run/before
         front=$(pgrep -f 'shoal front')
         kill -KILL $front
         shoal attach $D0 $D1 $D3
         echo 3 >/proc/sys/vm/drop_caches
         cmp /run/before /run/pond/load
         umount /run/pond
         e2fsck -fn /dev/nbd0 >/dev/null 2>&1
         shoal detach /dev/nbd0
         ls /run/shoal
         pgrep shoal || true",
    )
}

/// A drive is suspended for longer than clients wait: the array goes on without it before they
/// notice, and takes it back when it answers again.
#[test]
fn needs_kernel_nbd_a_drive_hangs_for_longer_than_the_deadline() {
    let serve = "shoal serve --deadline 2 $D0 $D1 $D2 $D3 >/run/serve.out 2>/run/serve.err &
                 until grep -q 'is served at' /run/serve.err; do sleep 0.1; done";
    let Some((_directory, mut guest)) = attached("--bitmap internal", serve) else { return };
    let said = done(
        &mut guest,
        "head -c 4M /dev/urandom >/run/content
         write() { timeout 200 dd if=/run/content of=/dev/nbd0 bs=1M oflag=direct 2>/run/dd; }
         write
         hang d1
         for time in 1 2; do write || { cat /run/dd; exit 1; }; done
         is degraded
         wake d1
         until shoal re-add --no-rebuild --drive $D1 $D0 >/run/again 2>&1; do sleep 0.1; done
         until_is optimal
         write
         echo 3 >/proc/sys/vm/drop_caches
         cmp -n 4194304 /run/content /dev/nbd0
         load_on /dev/nbd0
         another_pass
         enough
         shoal detach /dev/nbd0 >/run/detached
         shoal --json scrub $D0",
    );
    assert!(said.contains("\"mismatched_bytes\": 0"), "{said}");
    let (reports, _) = said.rsplit_once("end of report").unwrap();
    tell("kernel nbd, after a drive hung", all_verified(reports));
}
