# Put before every script: what the words of a test are in the shell. A script stops at its first command that fails.

# attach FILE [BLOCK_BYTES]: the file as a block device, whose name is printed.
attach() {
    losetup --find --show --sector-size "${2:-512}" "$1"
}

# attach_all BLOCK_BYTES FILE...: sets DRIVES to their devices, in this order.
attach_all() {
    block=$1
    shift
    DRIVES=
    for file; do DRIVES="${DRIVES:+$DRIVES }$(attach "$file" "$block")"; done
}

# detach: gives all files back, and forgets what they held.
detach() {
    sync
    losetup --detach-all
    echo 3 >/proc/sys/vm/drop_caches
}

# settle MD: waits until no resync, rebuild or check is under way. One that is due and has not begun is told as idle, so md
# is seen idle twice, with time between in which it begins what is due.
settle() {
    action=/sys/block/$1/md/sync_action
    [ -e "$action" ] || return 0
    until is_idle "$action" && sleep 0.02 && is_idle "$action"; do sleep 0.02; done
}

is_idle() {
    read -r action_now <"$1"
    [ "$action_now" = idle ]
}

# tell FILE WORD: writes it to one of md's files. Now and then md looks whether a resync is due, and is busy until it knows.
tell() {
    until echo "$2" >"$1"; do sleep 0.02; done 2>/dev/null
}

# synced MD: how many sectors a resync, rebuild or check has gone over; "none" if there is none.
synced() {
    read -r sectors_done rest <"/sys/block/$1/md/sync_completed"
    echo "$sectors_done"
}

# check MD: goes over all of it, and prints how many sectors do not agree. Levels without redundancy print nothing.
check() {
    [ -e "/sys/block/$1/md/sync_action" ] || return 0
    settle "$1"
    tell "/sys/block/$1/md/sync_action" check
    settle "$1"
    cat "/sys/block/$1/md/mismatch_cnt"
}
