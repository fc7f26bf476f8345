//! One aligned region of memory, cut into buffers, registered with the kernel once.

/// A run of bytes in an [`Arena`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// First byte, from the arena's start.
    pub offset: usize,
    /// Bytes.
    pub length: u32,
}

/// Page-aligned, zeroed memory that I/O goes to and from. Cheap to clone: clones share the memory.
#[derive(Clone, Debug)]
pub struct Arena {}

impl Arena {
    /// Maps a region of at least `bytes`.
    pub fn new(_bytes: usize) -> std::io::Result<Self> {
        todo!()
    }
    /// Size of the region.
    pub fn len_bytes(&self) -> usize {
        todo!()
    }
    /// The address of a run, for the kernel and for kernels of arithmetic. Panics if it lies outside.
    pub fn pointer(&self, _memory: Memory) -> *mut u8 {
        todo!()
    }
    /// Copies `bytes` into the run's start. The caller makes sure that no I/O is in flight on it.
    pub fn write(&self, _memory: Memory, _bytes: &[u8]) {
        todo!()
    }
    /// Copies the run's start out into `bytes`. The caller makes sure that no I/O is in flight on it.
    pub fn read(&self, _memory: Memory, _bytes: &mut [u8]) {
        todo!()
    }
}
