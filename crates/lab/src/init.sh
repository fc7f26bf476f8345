#!/bin/sh
# The guest's first process. It prepares what programs expect, then runs one script for each line that it is sent.
# SHARED, FROM and MODULES come with the kernel's command line.
export PATH=/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin
export TMPDIR=/run MDADM_NO_UDEV=1 MDADM_NO_MDMON=1 LC_ALL=C
mount -n -t proc proc /proc
mount -n -t sysfs sysfs /sys
mount -n -t tmpfs tmpfs /run
mkdir -p "$SHARED" /run/mount
mount -n -t hostfs -o "$FROM" none "$SHARED"
# Neither echo nor any other change of what passes; the end of a line is a line feed.
stty raw -echo
failed=0
for module in $(echo "$MODULES" | tr , ' '); do
    insmod "$module" || failed=1
done
# Nothing that is waited for in tests is to be slowed down for the benefit of others.
echo 2000000 >/proc/sys/dev/raid/speed_limit_min
echo 2000000 >/proc/sys/dev/raid/speed_limit_max
cd "$SHARED" || failed=1
echo "end 0 $failed"
while read -r step; do
    sh -eu ".guest/$step" </dev/null 2>&1
    printf '\nend %s %s\n' "$step" $?
done
poweroff -f
