//! Arrays that are shared by naming their members, through what befalls them: a server that is
//! killed, a member that fails, unmounting.

use super::machine::Machine;

/// Three drives, and a file system that belongs to nobody of this machine.
const ARRAY: &str = "
truncate -s 48M d1 d2 d3
shoal create --level 5 --chunk 64K --assume-clean --name pond d1 d2 d3
shoal format --fs ext4 d1 d2 d3
mkdir pond
printf 'anna:otter\\n' >passwords
head -c 2000000 /dev/urandom >sent
";
const SHARE: &str = "shoal share --smb --user anna --owner 612345:612345 --password-file passwords";
const SMB: &str = "far smbclient //10.77.0.1/pond -U anna%otter";

#[test]
fn needs_root_shares_follow_their_array() {
    let Some(machine) = Machine::start(&["smbd", "smbclient", "fusermount3"]) else { return };
    machine.done(ARRAY);
    refused(&machine, &format!("{SHARE} d1 d2 d3"), 2, "the array is not mounted: `shoal mount` it first");
    refused(&machine, &format!("{SHARE} d1 d4"), 2, "d4: No such file");
    machine.done("shoal mount d1 d2 d3 pond");
    machine.done(&format!("{SHARE} d1 d2 d3"));
    machine.done(&format!("{SMB} -c 'put sent x'"));
    // It is known again by any member, and by whoever runs it.
    assert!(machine.done("shoal unshare d3 --scan .").contains("nothing is shared"));
    machine.done(&format!("{SHARE} --socket runtime/*.sock"));

    // Whoever runs the array is killed, and it is run again: the share goes on as it is.
    machine.done("pkill -KILL -f 'auto [s]erve'");
    machine.done("shoal attach --block-device d1 d2 d3");
    machine.done(&format!(
        "shoal rebuild d1; shoal fail --member d2 d1; {SMB} -c 'get x back; put sent y'; cmp sent back"
    ));
    unmounting_is_told_to_the_share(&machine);

    machine.done("shoal mount d1 d3 pond");
    machine.until("shoal share --status", "pond, served");
    machine.done(&format!("{SMB} -c 'get y back'; cmp sent back; shoal unmount pond --let-shares-wait"));
    assert!(machine.done("shoal unshare d1 d3").contains("nothing is shared"));
    assert!(!machine.done("ls runtime").contains(".attached"));
}

/// What is shared is not unmounted by accident, and when it is, the servers have let go before.
fn unmounting_is_told_to_the_share(machine: &Machine) {
    for unmount in ["shoal unmount pond", "shoal unmount d1 d3"] {
        refused(machine, unmount, 3, "pond is shared as pond: `shoal unshare pond` first");
    }
    machine.done(&format!("shoal share --status | grep -q 'pond, served'; {SMB} -c ls"));
    let text = machine.done("shoal unmount pond --let-shares-wait");
    assert!(text.contains("detached") && text.contains("share pond waits until"), "{text}");
    let text = machine.done("shoal share --status; ss -ltn");
    assert!(text.contains("pond, waiting") && !text.contains("10.77.0.1:"), "{text}");
}

/// A command that is refused in one line.
fn refused(machine: &Machine, command: &str, status: i32, why: &str) {
    let (code, text) = machine.run(command);
    assert!(code == status && text.contains(why), "{command}: {code}: {text}");
    assert_eq!(text.lines().count(), 1, "{command}: {text}");
}
