# The first process of a machine, which becomes systemd. The root lies in memory: programs are the host's, and nobody can write to them;
# what configures them, and their state, are the machine's own. What would reach the host, past all namespaces, is left out: the kernel's
# settings (/proc/sys), its table of binary formats, and devices other than loops.
set -eu
cd "$ROOT/machine"
mount -t tmpfs -o mode=755 none .
cd "$PWD"
mkdir -p dev etc/systemd/system/sysinit.target.wants mnt opt proc run srv/bay sys tmp usr var/lib var/log var/tmp
mount --bind /usr usr && mount -o remount,bind,ro usr
for link in bin sbin lib lib32 lib64 libx32; do
    if [ -L "/$link" ]; then cp -P "/$link" .; elif [ -d "/$link" ]; then mkdir "$link" && mount --bind "/$link" "$link"; fi
done
for file in passwd group nsswitch.conf ld.so.cache alternatives; do
    [ ! -e "/etc/$file" ] || cp -a "/etc/$file" etc/
done
echo 0123456789abcdef0123456789abcdef >etc/machine-id
mount -t proc proc proc && mount --bind proc/sys proc/sys && mount -o remount,bind,ro proc/sys
mount -t sysfs sysfs sys && mount -t cgroup2 none sys/fs/cgroup

mount -t tmpfs -o mode=755 none dev
mkdir dev/pts dev/shm
for node in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0 fuse:10:229 loop-control:10:237; do
    numbers=${node#*:}
    mknod -m 666 "dev/${node%%:*}" c "${numbers%:*}" "${numbers#*:}"
done
ln -s pts/ptmx dev/ptmx && ln -s /proc/self/fd dev/fd
# Loops that others use are not there, so that nobody here can look into them.
for loop in $DEVICES $(seq 0 63); do
    [ -e "/sys/block/loop$loop/loop/backing_file" ] && ! echo " $DEVICES " | grep -q " $loop " || [ -e "dev/loop$loop" ] ||
        mknod "dev/loop$loop" b 7 "$loop"
done

# Where no udev runs that it could hear of, systemd listens to none, and it looks once, before udev is started.
mount -t tmpfs -o mode=755 none run && mkdir run/udev && touch run/udev/control

# The targets are systemd's, and what a machine of this kind needs of what it starts early.
for target in sysinit multi-user; do
    mount -t tmpfs none "usr/lib/systemd/system/$target.target.wants"
done
mkdir dev/drives
for unit in systemd-journald systemd-udevd systemd-udev-trigger systemd-tmpfiles-setup; do
    ln -s "/lib/systemd/system/$unit.service" etc/systemd/system/sysinit.target.wants/
done
mount --bind "$BAY" srv/bay
[ ! -d srv/bay/etc ] || cp -r srv/bay/etc .
cp "$PROGRAM" opt/shoal
# It is the host that has made the arrays, and remembers them.
cp -r "$STATE" var/lib/shoal
pivot_root . mnt
cd /
umount -l /mnt
# What is unmounted is so for everybody: units with namespaces of their own would keep it.
mount --make-rshared /
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
sh -euc "$PREPARE"
exec env -i container=test PATH="$PATH" LC_ALL=C /lib/systemd/systemd --unit=multi-user.target --log-target=journal --show-status=no
