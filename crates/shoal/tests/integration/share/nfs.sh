# The kernel's NFS server and client: a file that is open goes on after the server was killed and started again, and after the share was
# ended and is shared once more.
$SHOAL share /run/pond --nfs --nfs-server kernel >printed
[ "$(line 'Linux, NFS')" = 'mount -t nfs4 10.77.0.1:/pond /mnt' ]
eval "$(line 'Linux, NFS')"
head -c 4000000 /dev/urandom >/mnt/x
[ "$(stat -c %u:%g /run/pond/x)" = 612345:612345 ]
exec 7</mnt/x
same() {
    echo 3 >/proc/sys/vm/drop_caches
    cmp /run/pond/x /proc/self/fd/7
    echo the same content
}
kill -9 "$(cat /run/runtime/sharing/keeper.lock)"
while $SHOAL share --status | grep -q served; do sleep 0.2; done
$SHOAL share --serve 7<&- >/dev/null 2>&1 &
until $SHOAL share --status | grep -q served; do sleep 0.2; done
same
$SHOAL unshare pond | head -n 1
$SHOAL share /run/pond --nfs --nfs-server kernel 7<&- >printed
same
exec 7<&-
umount /mnt
$SHOAL unshare pond | head -n 1
umount /run/pond
