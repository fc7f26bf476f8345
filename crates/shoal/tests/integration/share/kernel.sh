# What both stories of the kernel's clients begin with: modules, an address, and a file system that is to be shared.
export SHOAL_STATE_DIRECTORY=/run/state SHOAL_RUNTIME_DIRECTORY=/run/runtime
mkdir -p /run/modules/lib /run/pond
chmod 755 /run
ln -s /usr/lib/uml/modules /run/modules/lib/modules
for module in $MODULES veth; do modprobe -d /run/modules $module; done
ip link set lo up
ip link add near type veth peer name far
ip address add 10.77.0.1/24 dev near
ip link set near up
ip link set far up
mkfs.ext4 -q -F img
mount "$(attach img)" /run/pond
chown 612345:612345 /run/pond

# line SYSTEM: what was printed to be typed there.
line() {
    sed -n "s/^ *$1  *//p" printed
}
