#!/bin/sh
# The first process of a machine that boots from an array: what an initramfs with mdadm does, in as few words as that can
# be said. ROOT, MDADM_CONF, STICKS and MODULES come before this line.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin MDADM_NO_UDEV=1 MDADM_NO_MDMON=1 LC_ALL=C
/bin/busybox mkdir -p /proc /sys /run /bin /etc/mdadm /run/mdadm /root
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
exec </dev/ttyS1 >/dev/ttyS1 2>&1
stty -onlcr
for module in $MODULES; do insmod "$module" || echo "no $module"; done
echo "$MDADM_CONF" >/etc/mdadm/mdadm.conf
# An array that is not started is a device without content.
is_there() { [ "$(dd if="$ROOT" bs=4096 count=1 2>/dev/null | wc -c)" -eq 4096 ]; }
# Members come one by one, when their bus has found them, and each is handed to mdadm once, as udev does. When all are there the
# array starts; if some are not there a while after the last stick was seen, one that can do without them is started as it is.
patience=100
until is_there; do
    for drive in /dev/sd?; do
        [ -e "$drive" ] && [ ! -e "/run/${drive##*/}" ] || continue
        : >"/run/${drive##*/}"
        mdadm --incremental --quiet "$drive"
    done
    [ "$(ls -d /dev/sd? 2>/dev/null | wc -l)" -lt "$STICKS" ] || patience=$((patience - 1))
    if [ $patience -eq 0 ]; then
        echo "members are missing: starting without them"
        mdadm --run --quiet "$ROOT"
        break
    fi
    sleep 0.1
done
cat /proc/mdstat
mount -t ext4 "$ROOT" /root || { echo "no root file system at $ROOT"; poweroff -f; }
mount --move /dev /root/dev
mount --move /proc /root/proc
mount --move /sys /root/sys
exec switch_root /root /sbin/init
