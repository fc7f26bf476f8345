#!/bin/sh
# The guest's first process. It prepares what programs expect, then runs one script for each line that it is sent: a
# number, and the script in base64. STICKS and MODULES come before this line.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin MDADM_NO_UDEV=1 MDADM_NO_MDMON=1 LC_ALL=C
/bin/busybox mkdir -p /proc /sys /tmp /run /mnt /bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
exec </dev/ttyS1 >/dev/ttyS1 2>&1
# Neither echo nor any other change of what passes; the end of a line is a line feed.
stty raw -echo
failed=0
for module in $MODULES; do
    insmod "$module" || failed=1
done
# Nothing that is waited for in tests is to be slowed down for the benefit of others.
for limit in /proc/sys/dev/raid/speed_limit_min /proc/sys/dev/raid/speed_limit_max; do
    [ ! -e "$limit" ] || echo 2000000 >"$limit"
done
cd /tmp || failed=1
until [ "$(ls -d /sys/block/sd* 2>/dev/null | wc -l)" -ge "$STICKS" ]; do sleep 0.1; done
echo "end 0 $failed"
while read -r step script; do
    echo "$script" | base64 -d >"/run/$step"
    sh -eu "/run/$step" </dev/null 2>&1
    printf '\nend %s %s\n' "$step" $?
done
poweroff -f
