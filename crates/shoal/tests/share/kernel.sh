# The kernel's NFS server and client, on one machine: a file that is open goes on after the server was killed and started again.
export SHOAL_STATE_DIRECTORY=/run/state SHOAL_RUNTIME_DIRECTORY=/run/runtime
mkdir -p /run/modules/lib /run/pond /run/client
chmod 755 /run
ln -s /usr/lib/uml/modules /run/modules/lib/modules
for module in nfsd nfs nfsv4 veth; do modprobe -d /run/modules $module; done
ip link set lo up
ip link add near type veth peer name far
ip address add 10.77.0.1/24 dev near
ip link set near up
ip link set far up
mkfs.ext4 -q -F img
mount "$(attach img)" /run/pond
chown 612345:612345 /run/pond
$SHOAL share /run/pond --nfs --nfs-server kernel
mount -t nfs4 10.77.0.1:/pond /run/client
head -c 4000000 /dev/urandom >/run/client/x
[ "$(stat -c %u:%g /run/pond/x)" = 612345:612345 ]
exec 7</run/client/x
kill -9 "$(cat /run/runtime/sharing/keeper.lock)"
while $SHOAL share --status | grep -q served; do sleep 0.2; done
$SHOAL share --serve 7<&- >/dev/null 2>&1 &
until $SHOAL share --status | grep -q served; do sleep 0.2; done
echo 3 >/proc/sys/vm/drop_caches
cmp /run/pond/x - <&7
exec 7<&-
echo the same content
umount /run/client
$SHOAL unshare pond | head -n 1
umount /run/pond
