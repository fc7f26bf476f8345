//! An example of each command, for its help and its manual page. A test reads each as the program does.

/// By command.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("drives", &["shoal drives", "shoal drives --watch"]),
    ("list", &["shoal list", "shoal list --scan images"]),
    ("status", &["shoal status /dev/sdb", "shoal status --test --uuid 5eab8460:9c5f6321:728e9882:4d18099c"]),
    ("examine", &["shoal examine /dev/sdb /dev/sdc"]),
    ("bench", &["shoal bench /dev/sdb --random --seconds 10", "shoal bench sim:cruzer-titanium*6@usb2*2 --level 5"]),
    ("study", &["shoal study /dev/sdb /dev/sdc /dev/sdd --dry-run", "shoal study sim:cruzer-titanium*6@usb2*2"]),
    ("profile", &["shoal profile /dev/sdb --output stick.toml"]),
    ("demo", &["shoal demo"]),
    ("plan", &["shoal plan sim:stick-64g*6@usb3*2 --for capacity,survive=1"]),
    ("replay", &["shoal replay cruzer"]),
    ("create", &["shoal create --level 5 --name pond /dev/sdb /dev/sdc /dev/sdd"]),
    ("format", &["shoal format --fs ext4 --label pond /dev/sdb", "shoal format --fs ext4 /dev/sdb --dry-run"]),
    ("grow", &["shoal grow --raid-devices 4 --drive /dev/sde /dev/sdb --scan /dev"]),
    ("rename", &["shoal rename /dev/sdb /dev/sdc /dev/sdd lake"]),
    ("wipe", &["shoal wipe --dry-run /dev/sdb", "shoal wipe /dev/sdb /dev/sdc"]),
    ("run", &["shoal run /dev/sdb /dev/sdc /dev/sdd"]),
    ("serve", &["shoal serve --nbd unix:/tmp/pond.sock /dev/sdb /dev/sdc /dev/sdd"]),
    ("attach", &["shoal attach /dev/sdb /dev/sdc /dev/sdd"]),
    ("detach", &["shoal detach /dev/sdb"]),
    ("stop", &["shoal stop /dev/sdb"]),
    ("speed", &["shoal speed --max 20M /dev/sdb"]),
    ("service", &["shoal service install --mount /srv/pond /dev/sdb /dev/sdc /dev/sdd"]),
    ("hot-plug", &["shoal hot-plug /dev/sdb"]),
    ("mount", &["shoal mount /dev/sdb /dev/sdc /dev/sdd /mnt/pond"]),
    ("unmount", &["shoal unmount /mnt/pond"]),
    ("read", &["shoal read /dev/sdb /dev/sdc /dev/sdd --length 1G > content"]),
    ("write", &["shoal write /dev/sdb /dev/sdc /dev/sdd < content"]),
    ("share", &["shoal share --smb --user anna /mnt/pond", "shoal share --status"]),
    ("unshare", &["shoal unshare /mnt/pond"]),
    ("network", &["shoal network --level 5 /dev/sdb /dev/sdc /dev/sdd", "shoal network /mnt/pond"]),
    ("fail", &["shoal fail --member /dev/sdc /dev/sdb"]),
    ("add", &["shoal add --drive /dev/sde /dev/sdb"]),
    ("remove", &["shoal remove --member /dev/sdc /dev/sdb"]),
    ("replace", &["shoal replace --member /dev/sdc --drive /dev/sde /dev/sdb"]),
    ("re-add", &["shoal re-add --drive /dev/sdc /dev/sdb"]),
    ("rebuild", &["shoal rebuild /dev/sdb /dev/sdc /dev/sdd"]),
    ("scrub", &["shoal scrub /dev/sdb", "shoal scrub --repair /dev/sdb"]),
    ("recover", &["shoal recover images", "shoal recover images --save content"]),
    ("trust", &["shoal trust /dev/sdb /dev/sdc"]),
    ("alert", &["shoal alert --test /etc/shoal/alerts.toml"]),
    ("man", &["shoal man pages"]),
    ("completions", &["shoal completions bash"]),
    ("schemas", &["shoal schemas schemas"]),
    ("sim", &["shoal sim swarm --seeds 0..1000"]),
];

/// Examples of a command, as they are typed.
pub(crate) fn examples_of(command: &str) -> &'static [&'static str] {
    EXAMPLES.iter().find(|(name, _)| *name == command).map_or(&[], |(_, examples)| examples)
}
