//! ublk, in an emulated machine with a kernel that has it: one machine for the whole story, as
//! starting it takes most of the time.

use std::path::PathBuf;

use shoal_lab::Guest;
use shoal_lab::ublk::UblkLab;

/// What runs in the guest, by name.
const PROGRAMS: [&str; 3] = ["fio", "mkfs.ext4", "e2fsck"];

/// The words of the story. A script ends at its first command that fails, and forgets everything
/// but files.
const WORDS: &str = r#"
cd /run/memory
export SHOAL_STATE_DIRECTORY=/run/state SHOAL_RUNTIME_DIRECTORY=/run/shoal

# until_said WORDS FILE: waits for them, half a minute at most.
until_said() {
    tries=300
    until grep -q "$1" "$2" 2>/dev/null; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || { cat "$2"; return 1; }
        sleep 0.1
    done
}

# serve: the array, as a process of its own.
serve() {
    rm -f /run/served
    $SHOAL serve --nbd unix:/run/nbd d0 d1 d2 >/run/served 2>&1 &
    echo $! >/run/server
    until_said 'is served at' /run/served
}

# front NAME [DEVICE]: as a process of its own, for a device of its own or one that is to be taken over.
front() {
    rm -f /run/$1.out
    $SHOAL front --method=ublk --socket=/run/nbd --directory=/run/nowhere --name=array --logical-block-bytes=512 --deadline-s=20 \
        --record=/run/$1.record ${2:+--recovered=$2} >/run/$1.out 2>&1 &
}

# who front|successor: the number of a process that keeps the device, by what is written down.
who() { sed -n "/\"$1\"/,/}/s/.*\"process_id\": \([0-9]*\).*/\1/p" /run/first.record; }
# followed: kills the front, and waits for the one that follows, and for its successor.
followed() {
    front=$(who front)
    successor=$(who successor)
    kill -9 $front
    tries=300
    until [ "$(who front)" = $successor ] && [ "$(who successor)" != $successor ]; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || { cat /run/first.record /run/first.out; return 1; }
        sleep 0.1
    done
}

# load NAME: a load that checks every byte, in the background; loaded NAME: waits for it.
load() {
    rm -f /run/$1.ended
    (fio --name=$1 --filename=/mnt/$1 --thread --rw=randwrite --bs=4k --size=2M --ioengine=libaio --direct=1 --iodepth=8 --rate_iops=150 \
        --verify=crc32c --verify_fatal=1 >/run/$1.load 2>&1; echo "ended $?" >/run/$1.ended) &
}
loaded() {
    until_said 'ended' /run/$1.ended
    grep -q 'ended 0' /run/$1.ended || { cat /run/$1.load; return 1; }
}
"#;

#[test]
fn needs_kernel_ublk_carries_a_file_system_through_the_deaths_of_front_and_server() {
    let lab = match UblkLab::find() {
        Ok(lab) => lab,
        Err(missing) => return println!("SKIPPED: ublk: needs {missing}"),
    };
    let found: Option<Vec<_>> = PROGRAMS.iter().map(|name| place_of(name)).collect();
    let Some(mut programs) = found else {
        return println!("SKIPPED: ublk: needs {}", PROGRAMS.join(", "));
    };
    let shoal = PathBuf::from(env!("CARGO_BIN_EXE_shoal"));
    programs.push(shoal.clone());
    let mut machine = lab.boot(&programs).unwrap_or_else(|error| panic!("{error}"));
    let mut story = Story { guest: machine.shell(), words: format!("SHOAL={}\n{WORDS}", shoal.display()) };

    story.a_device_is_made_as_the_array_is();
    story.a_front_that_is_killed_is_followed_by_itself();
    story.a_server_that_is_killed_comes_back();
    story.what_was_written_is_there();
    story.without_a_server_requests_fail_by_their_deadline();
    story.nothing_is_left();
    let said = machine.kernel_log();
    assert!(!said.contains("BUG:") && !said.contains("blocked for more than"), "{said}");
}

struct Story<'a> {
    guest: &'a mut Guest,
    words: String,
}

impl Story<'_> {
    fn done(&mut self, script: &str) -> String {
        self.guest.done(&format!("{}\n{script}", self.words)).unwrap_or_else(|error| panic!("{error}"))
    }

    fn a_device_is_made_as_the_array_is(&mut self) {
        let told = self.done(
            "for drive in d0 d1 d2; do truncate -s 48M $drive; done
             $SHOAL create --level 5 --chunk 64K --assume-clean d0 d1 d2 >/dev/null
             serve
             front first
             until_said '^/dev/ublkb0' /run/first.out
             cd /sys/block/ublkb0/queue
             cat ../size logical_block_size physical_block_size write_cache fua discard_max_bytes",
        );
        let told: Vec<_> = told.lines().map(str::trim).collect();
        let sectors: u64 = told[0].parse().unwrap();
        assert!((90 << 20..96 << 20).contains(&(sectors * 512)), "{told:?}");
        assert_eq!(told[1..], ["512", "4096", "write back", "1", "33554432"]);
        self.done(
            "blkdiscard -o 1048576 -l 2097152 /dev/ublkb0
             mkfs.ext4 -q /dev/ublkb0
             mount -t ext4 /dev/ublkb0 /mnt
             dd if=/dev/urandom of=/mnt/kept bs=1M count=4 2>/dev/null
             md5sum /mnt/kept >/run/sum",
        );
    }

    fn a_front_that_is_killed_is_followed_by_itself(&mut self) {
        // While it lives nobody takes its place.
        self.done("front second /dev/ublkb0; until_said 'still served by process' /run/second.out");
        self.done(
            "load one
             sleep 1
             followed
             loaded one",
        );
    }

    fn a_server_that_is_killed_comes_back(&mut self) {
        self.done(
            "load two
             sleep 1
             kill -9 $(cat /run/server)
             sleep 1
             followed
             serve
             loaded two",
        );
    }

    fn what_was_written_is_there(&mut self) {
        self.done(
            "echo 3 >/proc/sys/vm/drop_caches
             md5sum -c /run/sum
             umount /mnt
             e2fsck -f -n /dev/ublkb0",
        );
    }

    fn without_a_server_requests_fail_by_their_deadline(&mut self) {
        let took = self.done(
            "kill -9 $(cat /run/server)
             followed
             before=$(cut -d . -f 1 /proc/uptime)
             dd if=/dev/ublkb0 of=/dev/null bs=4k count=1 iflag=direct 2>/run/read & reader=$!
             ! dd if=/dev/zero of=/dev/ublkb0 bs=4k count=1 oflag=direct 2>/run/write
             ! wait $reader
             grep -q 'timed out' /run/read
             grep -q 'timed out' /run/write
             echo $(($(cut -d . -f 1 /proc/uptime) - before))",
        );
        let took_s: u64 = took.trim().parse().unwrap();
        // However slow the machine: not before, and not never.
        assert!((19..200).contains(&took_s), "the requests took {took_s} s, their deadline is 20 s");
    }

    fn nothing_is_left(&mut self) {
        let left = self.done(
            "kill $(who front)
             tries=300
             while [ -e /proc/$(who front) ] && [ $tries -gt 0 ]; do tries=$((tries - 1)); sleep 0.1; done
             [ ! -e /proc/$(who successor) ]
             ls -d /dev/ublk* /sys/block/ublk* 2>/dev/null || true",
        );
        assert_eq!(left.trim(), "/dev/ublk-control");
    }
}

fn place_of(program: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin:/usr/bin:/bin";
    path.split(':').map(|directory| PathBuf::from(directory).join(program)).find(|path| path.exists())
}
