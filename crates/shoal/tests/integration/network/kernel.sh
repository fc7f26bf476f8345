# The network study of a directory, with the kernel's NFS server and client and the kernel's own md.
export SHOAL_STATE_DIRECTORY=/run/state SHOAL_RUNTIME_DIRECTORY=/run/shoal
mkdir -p /run/modules/lib /run/pond
ln -s /usr/lib/uml/modules /run/modules/lib/modules
for module in nfsd nfs nfsv4 veth sch_tbf dm-delay; do modprobe -d /run/modules $module; done
# The root is read-only; what the client has lies in memory.
mkdir -p /dev/shm
mount -t tmpfs tmpfs /dev/shm
ip link set lo up
attach_all 512 d0 d1 d2
mdadm --create /dev/md0 --run --quiet --level=5 --raid-devices=3 $DRIVES
settle md0
# Flushes take a third of a second, so whoever waits for them can be told from who does not.
sectors=$(blockdev --getsz /dev/md0)
dmsetup --noudevsync create slow --table "0 $sectors delay /dev/md0 0 0 /dev/md0 0 0 /dev/md0 0 333"
mkfs.ext4 -q -F /dev/dm-0
mount /dev/dm-0 /run/pond
echo as before >/run/pond/kept
$SHOAL --quiet --json network /run/pond --with nfs --link 100Mbit --size 6M --repeat 2 >study.json
ls -A /run/pond | tr "\n" " "; echo
umount /run/pond
dmsetup --noudevsync remove slow
fsck.ext4 -fn /dev/md0 >/dev/null 2>&1
echo 3 >/proc/sys/vm/drop_caches
mount -o ro /dev/md0 /run/pond
cat /run/pond/kept
umount /run/pond
echo "mismatches $(check md0)"
mdadm --stop --quiet /dev/md0
! pgrep -x nfsd
