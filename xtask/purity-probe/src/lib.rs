//! A program's worth of the engine without the standard library under it.
//!
//! The standard library has a panic handler of its own, so if the engine or anything below it links
//! the standard library, this does not build. Whatever else the engine would ask of the system is
//! left as an undefined symbol, and `cargo xtask purity` reads those.
#![no_std]

extern crate shoal_array;

#[cfg(feature = "planted-std")]
extern crate std;

use core::alloc::{GlobalAlloc, Layout};

/// Memory for a program that is linked and never run.
struct NoMemory;

// SAFETY: no memory is ever handed out, so nothing can be done with it that the contract forbids.
unsafe impl GlobalAlloc for NoMemory {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        core::ptr::null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static NO_MEMORY: NoMemory = NoMemory;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

#[cfg(feature = "planted-clock")]
#[unsafe(no_mangle)]
extern "C" fn planted_clock() -> i32 {
    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
    }
    let mut time = [0; 2];
    // SAFETY: the pointer is to a local of the size of a timespec.
    unsafe { clock_gettime(0, &mut time) }
}
