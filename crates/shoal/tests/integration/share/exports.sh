# A machine's own NFS server takes up what --configuration-only wrote, by the commands that are printed. Its root has to be a file system
# that NFS can export, which this kernel's is not: so it has another one.
root=/run/root
mkdir $root
mount -t tmpfs tmpfs $root
(
    cd $root
    mkdir -p etc usr proc sys dev run var/lib/nfs/rpc_pipefs var/lib/nfs/nfsdcld
    for name in bin sbin lib lib64; do cp -P /$name .; done
    for place in usr proc sys dev run; do mount --rbind /$place $place; done
    for file in passwd group nsswitch.conf netconfig services protocols ld.so.cache; do cp /etc/$file etc; done
    touch etc/exports
)
mount -t nfsd nfsd /proc/fs/nfsd
mount -t rpc_pipefs rpc_pipefs $root/var/lib/nfs/rpc_pipefs
chroot $root nfsdcld
chroot $root rpc.mountd --no-nfs-version 3
chroot $root rpc.nfsd --no-nfs-version 3 4
$SHOAL share /run/pond --nfs --nfs-server kernel --configuration-only out >script
cat script
chroot $root sh -eu "$PWD/script"
eval "$(sed -n 's/^# *Linux, NFS  *//p' script)"
echo heron >/mnt/x
stat -c %u:%g:%s /run/pond/x
