# A cgroup for a machine, and the namespaces in which it runs; gone when the machine is off. BAY, DEVICES, MACHINE, PREPARE, PROGRAM, ROOT
# and STATE are set.
set -eu
mount -t tmpfs none "$ROOT"
mkdir "$ROOT/cgroup" "$ROOT/machine"
mount -t cgroup2 none "$ROOT/cgroup"
cgroup=$ROOT/cgroup/shoal-test-$$
mkdir "$cgroup"
status=0
(
    echo 0 >"$cgroup/cgroup.procs"
    exec setpriv --pdeathsig KILL unshare --mount --propagation private --pid --fork --kill-child=KILL --cgroup --uts --ipc --net \
        sh -c "$MACHINE"
) || status=$?
find "$cgroup" -depth -type d -exec rmdir {} +
exit $status
