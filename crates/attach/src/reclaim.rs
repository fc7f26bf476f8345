//! Memory, for those on whom writing back depends.

/// Has the kernel give memory to this thread, and to those that it starts from now on, without
/// writing anything back first: what is to be written may be on the very device that they serve,
/// and then each would wait for the other. Called before a [`crate::Client`] connects. Only root
/// may, and only root's devices carry what the kernel writes back, so a refusal is none.
pub fn stay_out_of_reclaim() {
    let _ = rustix::process::configure_io_flusher_behavior(true);
}
