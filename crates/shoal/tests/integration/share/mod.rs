//! The whole of `shoal share`: what it starts, what becomes of it when mounts and servers vanish,
//! and NFS of a real kernel.

mod arrays;
mod by_hand;
mod machine;
mod networks;

use std::path::Path;

use shoal_lab::Lab;

use machine::Machine;

/// What every script begins with: an image that is mounted, to be shared, and belongs to nobody of
/// this machine.
const POND: &str = "
mkfs.ext4 -q -F img
mkdir -p pond
mount -o loop img pond
chown 612345:612345 pond
printf 'anna:otter\\n' >passwords
";

#[test]
fn needs_root_shares_are_served_while_their_mount_is_there() {
    let Some(machine) = Machine::start(&["smbd", "smbclient", "ganesha.nfsd", "nfs-cat", "vsftpd", "curl"]) else {
        return;
    };
    machine.done(POND);
    let text =
        machine.done("shoal share pond --smb --nfs --ftp --user anna --nfs-server ganesha --password-file passwords");
    for line in ["mount -t cifs //10.77.0.1/pond /mnt", "mount -t nfs4 10.77.0.1:/pond /mnt", "lftp -u anna 10.77.0.1"]
    {
        assert!(text.contains(line), "{text}");
    }
    machine.done("head -c 2000000 /dev/urandom >sent; smbclient //10.77.0.1/pond -U anna%otter -c 'put sent x'");
    machine.done("curl -sS -u anna:otter ftp://10.77.0.1/x | cmp - sent");
    machine.done("nfs-cat 'nfs://10.77.0.1/pond/x?version=4' | cmp - sent");
    machine.done("! smbclient //10.77.0.1/pond -N -c ls");

    // Nothing is served of the empty directory below.
    machine.done("umount --lazy pond");
    machine.until("shoal share --status", "pond, waiting");
    assert!(!machine.done("ss -ltn").contains("10.77.0.1:"));
    machine.done("mount -t tmpfs tmpfs pond");
    machine.until("shoal share --status", "another file system");
    machine.done("umount pond; mount -o loop img pond");
    machine.until("shoal share --status", "pond, served");
    machine.done("smbclient //10.77.0.1/pond -U anna%otter -c 'get x back'; cmp sent back");

    killed_servers_come_back(&machine);
    let text = machine.done("shoal unshare pond");
    assert!(text.contains("nothing is shared"), "{text}");
    assert!(!machine.done("ss -ltn").contains("10.77.0.1:"));
    machine.done("umount pond");
}

/// A server that is killed is started again, and so is the keeper, by hand.
fn killed_servers_come_back(machine: &Machine) {
    machine.done("kill -9 $(pgrep -P $(cat runtime/sharing/keeper.lock) -x smbd)");
    machine.until("shoal share --status; cat runtime/sharing/keeper.log", "pond: failed");
    machine.until("smbclient //10.77.0.1/pond -U anna%otter -c ls || true", "blocks available");
    machine.done("kill -9 $(cat runtime/sharing/keeper.lock)");
    machine.until("shoal share --status", "stopped");
    machine.until("ss -ltn | wc -l", "1");
    machine.done("shoal share --serve >serve.log 2>&1 </dev/null & sleep 0.1");
    machine.until("shoal share --status", "pond, served");
}

#[test]
fn needs_root_what_cannot_be_shared_is_refused_in_a_line() {
    let Some(machine) = Machine::start(&["smbd"]) else { return };
    machine.done("mkdir open closed odd% shut; mkdir shut/in; chown 612345 open odd% shut/in; chmod 700 shut");
    for (arguments, status, why) in [
        ("share open", 2, "say how"),
        ("share open --smb", 2, "nobody could come in"),
        ("share closed --smb --guests", 3, "belongs to root"),
        ("share odd% --smb --guests", 2, "cannot be shared"),
        ("share shut/in --smb --guests", 3, "is not let through"),
        ("share open --smb --guests --network 0.0.0.0/0", 3, "is not private"),
        ("share open --smb --guests --network 192.168.250.0/24", 3, "no address in a network"),
        ("share open --smb --user anna --password-file none", 2, "none: No such file"),
        ("share open --smb --user anna --password-file /dev/null </dev/null", 2, "anna has no password"),
        ("unshare open", 2, "not shared"),
    ] {
        let (code, text) = machine.run(&format!("setsid -w shoal {arguments}"));
        assert!(code == status && text.contains(why), "shoal {arguments}: {code}: {text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("shoal: ")).count(), 1, "{text}");
    }
    assert!(machine.done("shoal share --status").contains("nothing is shared"));
}

#[test]
fn needs_kernel_handles_of_nfs_survive_a_restart_of_the_server() {
    let programs = ["rpc.nfsd", "mount.nfs4", "nfsdcld"];
    let Some(printed) = in_a_kernel("NFS of a real kernel", &programs, "nfsd nfs nfsv4", include_str!("nfs.sh")) else {
        return;
    };
    assert_eq!(printed, "the same content\nnothing is shared\nthe same content\nnothing is shared");
}

#[test]
fn needs_kernel_exports_are_taken_up_by_a_server_that_runs() {
    let programs = ["rpc.nfsd", "mount.nfs4", "nfsdcld", "exportfs"];
    let script = include_str!("exports.sh");
    let Some(printed) = in_a_kernel("a machine's own NFS server", &programs, "nfsd nfs nfsv4", script) else {
        return;
    };
    assert!(
        printed.contains("\nexportfs -ra\n") && printed.contains("mount -t nfs4 10.77.0.1:/run/pond /mnt\n"),
        "{printed}"
    );
    assert!(printed.ends_with("\n612345:612345:6"), "{printed}");
}

#[test]
fn needs_kernel_smb_is_mounted_by_the_line_that_is_printed() {
    let (programs, modules) = (["smbd", "mount.cifs"], "cifs cmac hmac sha512_generic ccm gcm ghash-generic ctr ipv6");
    let Some(printed) = in_a_kernel("SMB of a real kernel", &programs, modules, include_str!("cifs.sh")) else {
        return;
    };
    let mount = |host: &str| format!("mount -t cifs //{host}/pond /mnt -o username=anna,uid=$(id -u)");
    let belongs = "612345:612345:660\n0";
    let [first, second] = ["10.77.0.1", "fd77::1"].map(|host| format!("{}\n{belongs}\n", mount(host)));
    assert_eq!(printed, format!("{first}{second}nothing is shared"));
}

/// What a script prints in a kernel of its own; nothing, and a line that says so, where that cannot
/// be had.
fn in_a_kernel(what: &str, programs: &[&str], modules: &str, script: &str) -> Option<String> {
    let is_there = |program: &&&str| ["/usr/sbin", "/sbin"].iter().any(|it| Path::new(it).join(program).exists());
    let lab = match (Lab::find(), programs.iter().find(|program| !is_there(program))) {
        (Ok(lab), None) => lab,
        (Err(missing), _) => {
            eprintln!("SKIPPED: {what}: needs {missing}");
            return None;
        }
        (_, Some(program)) => {
            eprintln!("SKIPPED: {what}: needs {program}");
            return None;
        }
    };
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::File::create(directory.path().join("img")).unwrap().set_len(64 << 20).unwrap();
    let mut guest = lab.boot(directory.path()).unwrap();
    let begun = format!("SHOAL={} MODULES='{modules}'\n{}", env!("CARGO_BIN_EXE_shoal"), include_str!("kernel.sh"));
    Some(guest.done(&format!("{begun}\n{script}")).unwrap())
}
