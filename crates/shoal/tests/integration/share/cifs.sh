# Samba, and the kernel's client, by the lines that are printed; a password is asked for, which the variable answers.
echo anna:otter >passwords
share() {
    $SHOAL share /run/pond --smb --user anna --password-file passwords >printed
}
# A mount that is tried: what is written through it belongs to the share's owner, and what is read to who mounted it.
typed() {
    echo "$(line 'Linux, SMB')"
    PASSWD=otter sh -euc "$(line 'Linux, SMB')"
    head -c 1000000 /dev/urandom >/mnt/x
    sync
    echo 3 >/proc/sys/vm/drop_caches
    cmp /mnt/x /run/pond/x
    stat -c %u:%g:%a /run/pond/x
    stat -c %u /mnt/x
}
# A file is closed a second after whoever had it has closed it, and a second later once more if that failed. Linux 6.1 dies of
# it if the mount has gone by then.
leave() {
    sleep 3
    umount /mnt
}
share
typed
# The share ends and begins again under the mount, which goes on.
$SHOAL unshare pond >/dev/null
share
until cmp /mnt/x /run/pond/x; do sleep 0.2; done
leave
if PASSWD=pike sh -c "$(line 'Linux, SMB')" 2>/dev/null; then exit 1; fi
ip address del 10.77.0.1/24 dev near
ip address add fd77::1/64 dev near nodad
share
typed
leave
$SHOAL unshare pond | head -n 1
umount /run/pond
