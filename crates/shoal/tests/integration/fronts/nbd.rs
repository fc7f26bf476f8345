//! The kernel's nbd driver, in the lab: fronts are killed under a mounted file system and a load
//! that verifies every byte, and nobody types anything.

use shoal_lab::{Guest, Lab};

use crate::support::has;

/// Words for the scripts: there is no AVX in the guest, whatever the processor says of itself.
/// Waiting has no bound but one for hangs.
const WORDS: &str = r#"
export SHOAL_STATE_DIRECTORY=/run/state SHOAL_RUNTIME_DIRECTORY=/run/shoal
shoal() { PROGRAM --quiet --parity-kernel scalar --io-engine threads "$@"; }
# who front|successor: the number of a process that keeps the device, by what is written down.
who() { sed -n "/\"$1\"/,/}/s/.*\"process_id\": \([0-9]*\).*/\1/p" /run/shoal/*.front; }
# until_it_is COMMAND...
until_it_is() {
    tries=1200
    until "$@" 2>/dev/null; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || { echo "it never is: $*"; cat /run/shoal/*.front /run/shoal/*.log; return 1; }
        sleep 0.1
    done
}
is_other() { [ -n "$(who $1)" ] && [ "$(who $1)" != "$2" ] && [ -e /proc/$(who $1) ]; }
is_gone() { [ ! -e /proc/$1 ]; }
# written MIB: whether so much was written to the device.
written() { [ $(awk '$3 == "nbd0" { print $10 }' /proc/diskstats) -ge $(($1 * 2048)) ]; }
# followed: kills the front, and waits for the one that follows, and for its successor.
followed() {
    front=$(who front); successor=$(who successor)
    kill -KILL $front
    until_it_is is_other front $front
    [ $(who front) = $successor ]
    until_it_is is_other successor $successor
}
"#;

struct Story(Guest);

impl Story {
    fn done(&mut self, text: &str) -> String {
        let script = format!("{}{text}", WORDS.replace("PROGRAM", env!("CARGO_BIN_EXE_shoal")));
        self.0.done(&script).unwrap_or_else(|error| panic!("{error}"))
    }

    fn an_array_is_mounted(&mut self) {
        self.done(
            "truncate -s 48M d0 d1 d2
             shoal create --level 5 --chunk 64K --assume-clean d0 d1 d2 2>/dev/null
             shoal attach --as nbd --deadline 100 d0 d1 d2
             mkfs.ext4 -q /dev/nbd0
             mkdir -p /run/pond
             mount -n -i -t ext4 /dev/nbd0 /run/pond",
        );
    }

    fn fronts_are_followed_under_a_load(&mut self) {
        self.done(
            "cd /run
             fio --name=load --filename=/run/pond/load --rw=randwrite --bs=16k --ioengine=libaio --iodepth=8 --direct=1 --thread \
                --size=12M --rate=2M --verify=crc32c --verify_fatal=1 --fsync=50 >/run/report 2>&1 & load=$!
             cd /run/shared
             begun=$(awk '$3 == \"nbd0\" { print int($10 / 2048) }' /proc/diskstats)
             until_it_is written $((begun + 2))
             followed
             until_it_is written $((begun + 5))
             followed
             wait $load || { cat /run/report; false; }",
        );
    }

    /// A successor is started anew, and follows; and the front may be killed while there is no
    /// server to talk with.
    fn any_of_them_may_be_killed(&mut self) {
        self.done(
            "successor=$(who successor)
             kill -KILL $successor
             until_it_is is_other successor $successor
             cp /run/pond/load /run/before
             server=$(sed -n '/\"server\"/,/}/s/.*\"process_id\": \\([0-9]*\\).*/\\1/p' /run/shoal/*.attached)
             kill -KILL $server
             dd if=/run/before of=/run/pond/after bs=64k oflag=direct 2>/run/dd & writer=$!
             followed
             shoal attach d0 d1 d2 >/dev/null
             wait $writer
             echo 3 >/proc/sys/vm/drop_caches
             cmp /run/before /run/pond/load
             cmp /run/before /run/pond/after",
        );
    }

    /// Though nothing of it shows in the table of mounts.
    fn what_is_used_is_not_detached(&mut self) {
        let told = self.done(
            "umount /run/pond
             e2fsck -fn /dev/nbd0 >/dev/null 2>&1
             unshare --mount sh -c 'mount -n -i -t ext4 /dev/nbd0 /run/pond; touch /run/hidden; until [ -e /run/enough ]; do sleep 0.1; done' &
             until_it_is [ -e /run/hidden ]
             shoal detach d0 2>&1 && exit 1
             touch /run/enough
             wait
             mkswap /dev/nbd0 >/dev/null 2>&1
             swapon /dev/nbd0
             shoal detach d0 2>&1 && exit 1
             swapoff /dev/nbd0",
        );
        assert!(told.contains("/dev/nbd0 is claimed") && told.contains("/dev/nbd0 is swapped to"), "{told}");
    }

    /// Both at once: then somebody has to say what is to become of the device, which must be the
    /// right one.
    fn a_device_without_fronts_is_taken_away_if_it_is_ours(&mut self) {
        let told = self.done(
            "front=$(who front); successor=$(who successor)
             kill -KILL $successor $front
             until_it_is is_gone $front
             until_it_is is_gone $successor
             shoal attach d0 d1 d2 >/dev/null
             dd if=/dev/nbd0 of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null
             [ $(who front) != $front ]
             front=$(who front); successor=$(who successor)
             kill -KILL $successor $front
             until_it_is is_gone $front
             until_it_is is_gone $successor
             cp /run/shoal/*.front /run/kept
             sed -i 's/\"description\": .*/\"description\": \"another array\"/' /run/shoal/*.front
             shoal detach d0 2>&1 && exit 1
             [ -e /sys/block/nbd0/pid ]
             cp /run/kept /run/shoal/*.front
             shoal detach d0
             [ ! -e /sys/block/nbd0/pid ]
             ls /run/shoal
             pgrep shoal || true",
        );
        assert!(told.contains("is of \"array ") && told.contains("left alone"), "{told}");
        assert!(told.contains("is no longer /dev/nbd0"), "{told}");
        assert_eq!(told.lines().last(), Some("attaching.lock"), "something is left behind: {told}");
    }
}

#[test]
fn needs_kernel_nbd_fronts_that_are_killed_are_followed_by_themselves() {
    let lab = match Lab::find() {
        Ok(lab) => lab,
        Err(missing) => return println!("SKIPPED: nbd: needs {missing}"),
    };
    if !has("fio") {
        return println!("SKIPPED: nbd: needs fio");
    }
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut story = Story(lab.boot(directory.path()).unwrap());
    story.an_array_is_mounted();
    story.fronts_are_followed_under_a_load();
    story.any_of_them_may_be_killed();
    story.what_is_used_is_not_detached();
    story.a_device_without_fronts_is_taken_away_if_it_is_ours();
}
