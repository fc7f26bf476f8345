//! `--configuration-only` on a machine that runs its own servers, as somebody follows it who types
//! all that is printed.

use super::machine::Machine;

/// The system's configuration, state and logs, to be written to; its servers, started as Debian's
/// units start them; and one who types the passwords that are asked for.
const SYSTEM: &str = r#"
mkdir over bin
mount -t tmpfs tmpfs over
for place in etc var run; do
    mkdir over/$place over/$place.work
    mount -t overlay -o lowerdir=/$place,upperdir=over/$place,workdir=over/$place.work overlay /$place
done
printf '[global]\n  map to guest = bad user\n[homes]\n  read only = yes\n' >/etc/samba/smb.conf
cat >/etc/ganesha/ganesha.conf <<'END'
NFS_CORE_PARAM { Protocols = 4; Enable_NLM = false; Enable_RQUOTA = false; }
NFSv4 { RecoveryBackend = fs; Graceless = true; }
END
cat >bin/systemctl <<'END'
#!/bin/sh
case "$*" in
'reload nfs-ganesha') kill -HUP $(cat /run/ganesha.pid) ;;
'restart vsftpd') vsftpd /etc/vsftpd.conf </dev/null >vsftpd.said 2>&1 & ;;
esac
END
cat >bin/passwd <<'END'
#!/bin/sh
printf 'otter\notter\n' | /usr/bin/${0##*/} "$@"
END
cp bin/passwd bin/smbpasswd
chmod 755 bin/*
mkdir -p /run/samba /var/log/samba
groupadd heron
useradd --no-create-home --gid heron heron
mkdir pond
chown heron:heron pond
smbd --foreground --no-process-group </dev/null >smbd.said 2>&1 &
ganesha.nfsd -F -p /run/ganesha.pid -L ganesha.log </dev/null >ganesha.said 2>&1 &
"#;

#[test]
fn needs_root_configurations_are_taken_up_by_servers_that_run() {
    let Some(machine) =
        Machine::start(&["smbd", "testparm", "smbclient", "ganesha.nfsd", "nfs-cat", "vsftpd", "curl", "useradd"])
    else {
        return;
    };
    machine.done(SYSTEM);
    machine.until("ss -ltn", ":445 ");
    machine.until("ss -ltn", ":2049 ");
    let printed = machine.done(
        "shoal share pond --smb --nfs --ftp --nfs-server ganesha --user anna --configuration-only out | tee script",
    );
    assert!(machine.done("shoal share --status").contains("nothing is shared"));
    for line in ["mount -t cifs //10.77.0.1/pond /mnt", "mount -t nfs4 10.77.0.1:/pond /mnt", "lftp -u anna 10.77.0.1"]
    {
        assert!(printed.contains(line), "{line}: {printed}");
    }
    machine.done("PATH=$PWD/bin:$PATH sh -eux script");
    machine.until("far smbclient //10.77.0.1/pond -U anna%otter -c 'put script x' || true", "putting file");
    machine.until("far nfs-cat 'nfs://10.77.0.1/pond/x?version=4' 2>&1 || true", "smbpasswd -a anna");
    machine.until("ss -ltn", ":21 ");
    machine.done("far curl -sS -u anna:otter ftp://10.77.0.1/x | cmp - script");
    machine.done("far curl -sS -u anna:otter -T script ftp://10.77.0.1/y; far smbclient //10.77.0.1/pond -U anna%otter -c 'get y back; rm y'");
    assert_eq!(machine.done("stat -c %U:%G:%a pond/x").trim(), "heron:heron:660");
    machine.done("! far smbclient //10.77.0.1/pond -N -c ls; ! far curl -sS ftp://10.77.0.1/x");
    // Typed once more, it changes nothing, and nothing is there twice.
    machine.done("PATH=$PWD/bin:/usr/sbin:/usr/bin:/bin; sed -i '/^systemctl restart vsftpd/d' script; sh -eux script");
    let lines =
        "grep -h -e include -e vsftpd /etc/samba/smb.conf /etc/ganesha/ganesha.conf /etc/hosts.* | sort | uniq -d";
    assert_eq!(machine.done(lines).trim(), "");
}
