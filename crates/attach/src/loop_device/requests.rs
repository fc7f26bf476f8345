//! What the kernel's loop driver is asked for: ioctl(2), as in loop(4) and `linux/loop.h`. No
//! library has these without bindings that are made by a C compiler, so they are here, and this is
//! all of them.

#![allow(unsafe_code, reason = "system calls that rustix knows only by number")]

use std::fs::File;
use std::mem::size_of;
use std::os::fd::AsRawFd;

use rustix::io::Result;
use rustix::ioctl::{IntegerSetter, Ioctl, IoctlOutput, NoArg, Opcode, Setter, ioctl};

use super::LoopOptions;

const CLEAR: Opcode = 0x4C01;
const CONFIGURE: Opcode = 0x4C0A;
const FREE_NUMBER: Opcode = 0x4C82;

const READ_ONLY: u32 = 1;
const PARTITIONS: u32 = 8;
const DIRECT_IO: u32 = 16;

/// `struct loop_info64`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Information {
    device: u64,
    inode: u64,
    real_device: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encryption: u32,
    key_length: u32,
    flags: u32,
    file_name: [u8; 64],
    encryption_name: [u8; 64],
    key: [u8; 32],
    initial: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Configuration {
    file: u32,
    block_bytes: u32,
    information: Information,
    reserved: [u64; 8],
}

const _: () = assert!(size_of::<Information>() == 232 && size_of::<Configuration>() == 304);

/// Makes `device` one of `file`, in one step: nobody sees it half made.
pub(super) fn configure(device: &File, file: &File, options: LoopOptions) -> Result<()> {
    let flag = |wanted: bool, flag: u32| if wanted { flag } else { 0 };
    let flags = DIRECT_IO | flag(options.is_read_only, READ_ONLY) | flag(options.has_partitions, PARTITIONS);
    let information = Information {
        device: 0,
        inode: 0,
        real_device: 0,
        offset: 0,
        size_limit: 0,
        number: 0,
        encryption: 0,
        key_length: 0,
        flags,
        file_name: [0; 64],
        encryption_name: [0; 64],
        key: [0; 32],
        initial: [0; 2],
    };
    let configuration = Configuration {
        file: file.as_raw_fd().cast_unsigned(),
        block_bytes: options.logical_block_bytes,
        information,
        reserved: [0; 8],
    };
    // SAFETY: the request reads a structure of this layout, and the file that it names stays open
    // meanwhile.
    unsafe { ioctl(device, Setter::<CONFIGURE, Configuration>::new(configuration)) }
}

/// Lets go of the device's file, when nobody else has the device open.
pub(super) fn clear(device: &File) -> Result<()> {
    // SAFETY: the request takes no argument.
    unsafe { ioctl(device, NoArg::<CLEAR>::new()) }
}

/// The number of a device that is free at this moment.
pub(super) fn free_number(control: &File) -> Result<u32> {
    // SAFETY: the request takes no argument, and its answer is the call's own.
    unsafe { ioctl(control, FreeNumber(IntegerSetter::new_usize(0))) }
}

/// A request whose answer is what the system call returns.
struct FreeNumber(IntegerSetter<FREE_NUMBER>);

// SAFETY: nothing is read or written but the call's answer.
unsafe impl Ioctl for FreeNumber {
    type Output = u32;

    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        self.0.opcode()
    }

    fn as_ptr(&mut self) -> *mut std::ffi::c_void {
        self.0.as_ptr()
    }

    unsafe fn output_from_ptr(answer: IoctlOutput, _: *mut std::ffi::c_void) -> Result<u32> {
        Ok(answer.cast_unsigned())
    }
}
