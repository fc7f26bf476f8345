# Put before every script: what the words of a test are in the shell. A script stops at its first command that fails.

# stick SERIAL...: prints the devices of the sticks with these serial numbers, which must be there.
stick() {
    for wanted; do
        found=
        for device in /sys/block/sd*; do
            [ -e "$device" ] || continue
            usb=$(readlink -f "$device/device/../../../..")
            [ "$(cat "$usb/serial" 2>/dev/null)" != "$wanted" ] || found=/dev/${device##*/}
        done
        [ -n "$found" ] && echo "$found" || return 1
    done
}

# seconds: since the guest began, in hundredths.
seconds() {
    cut -d ' ' -f 1 /proc/uptime
}

# timed COMMAND...: runs it, and prints how many hundredths of a second it took.
timed() {
    before=$(seconds)
    "$@" >/dev/null 2>&1
    after=$(seconds)
    echo $(($(echo "$after" | tr -d .) - $(echo "$before" | tr -d .)))
}

# settle MD: waits until no resync, rebuild or check is under way. One that is due and has not begun is told as idle, so md
# is seen idle twice, with time between in which it begins what is due.
settle() {
    action=/sys/block/$1/md/sync_action
    [ -e "$action" ] || return 0
    until is_idle "$action" && sleep 0.2 && is_idle "$action"; do sleep 0.1; done
}

is_idle() {
    [ "$(cat "$1")" = idle ]
}
