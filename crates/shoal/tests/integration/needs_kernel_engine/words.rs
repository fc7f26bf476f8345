//! The words in which the guest's part of a story is told.

use serde_json::Value;

use crate::support::stage::Stage;

/// `shoal ...` is the program. There is no AVX in the guest, whatever the processor says of itself.
const WORDS: &str = r#"
export SHOAL_STATE_DIRECTORY=/run/state SHOAL_RUNTIME_DIRECTORY=/run/shoal
shoal() {
    "$PROGRAM" --quiet --parity-kernel scalar "$@"
}

# start run|serve ...: sets PID to a process that runs an array, and waits until it does.
start() {
    : >run.err
    shoal "$@" >run.out 2>run.err &
    PID=$!
    until grep -q 'administered at' run.err; do
        kill -0 "$PID" || { cat run.err; exit 1; }
        sleep 0.05
    done
    # The shell is between, and the program under it is whom a kill is for.
    PID=$(pgrep -P "$PID" shoal || echo "$PID")
}

# cut_off: ends that process as a crash would.
cut_off() {
    kill -9 "$PID"
    while kill -0 "$PID" 2>/dev/null; do sleep 0.05; done
}

# refused STATUS WORDS COMMAND...: it has to fail so, in one line that says the words, and change nothing.
refused() {
    status=$1 words=$2
    shift 2
    code=0
    "$@" >/dev/null 2>refusal </dev/null || code=$?
    if [ "$code" != "$status" ] || [ "$(wc -l <refusal)" != 1 ] || ! grep -q "$words" refusal; then
        echo "$* ended with $code and said:"
        cat refusal
        exit 1
    fi
}

# nothing_left: no array and no loop device.
nothing_left() {
    for device in /sys/block/md* /sys/block/loop*/loop; do
        [ ! -e "$device" ] || { echo "left behind: $device"; exit 1; }
    done
}
"#;

/// Runs a script in the guest, which has to succeed and leave nothing behind. What the host has
/// written is seen, and what is written is the host's afterwards.
pub(crate) fn inside(stage: &mut Stage, script: &str) -> String {
    let program = env!("CARGO_BIN_EXE_shoal");
    let script = format!(
        "echo 3 >/proc/sys/vm/drop_caches\nPROGRAM={program}\n{WORDS}\n{script}\nnothing_left\nsync\necho 3 \
         >/proc/sys/vm/drop_caches"
    );
    stage.guest().done(&script).unwrap_or_else(|error| panic!("{error}"))
}

/// A text of a document.
pub(crate) fn said(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
