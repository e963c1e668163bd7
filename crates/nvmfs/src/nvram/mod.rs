//! Memory that keeps its content without power, and when exactly.

#[cfg(target_os = "linux")]
mod cache;
#[cfg(target_os = "linux")]
mod mapped;
#[cfg(target_os = "linux")]
mod mapping;
mod plain;
#[cfg(target_os = "linux")]
mod set;
mod simulated;

#[cfg(target_os = "linux")]
pub use mapped::{Guarantee, MappedNvram, Persistence};
pub use plain::PlainNvram;
pub use simulated::{Remains, SimulatedNvram};

use crate::api::BLOCK_BYTES;

/// Bytes of a cache line, the unit in which a processor writes memory back.
pub const LINE_BYTES: usize = 64;

/// A region of NVRAM.
///
/// A store is seen at once by later loads, but survives a power cut for certain only when its cache lines have been
/// written back and a fence has followed. Until then it may survive or not, line by line (64 bytes), and within a line
/// torn at 8 bytes; an aligned word of 8 bytes is never torn.
pub trait Nvram: Send + Sync {
    /// What the processor sees. Its length is a multiple of 4096 and never changes.
    fn bytes(&self) -> &[u8];

    /// Stores `bytes` from byte `at` on, all within the region.
    fn store(&mut self, at: usize, bytes: &[u8]);

    /// Stores an aligned word of 8 bytes, little-endian, untorn.
    fn store_word(&mut self, at: usize, word: u64);

    /// Begins to write back the cache lines of `length` bytes from `at` on.
    fn write_back(&mut self, at: usize, length: usize);

    /// Waits until all lines that were written back before are safe.
    fn fence(&mut self);
}

/// A pointer to NVRAM is NVRAM: a test keeps what it lends to a file system.
macro_rules! forward {
    ($pointer:ty) => {
        impl<N: Nvram + ?Sized> Nvram for $pointer {
            fn bytes(&self) -> &[u8] {
                (**self).bytes()
            }

            fn store(&mut self, at: usize, bytes: &[u8]) {
                (**self).store(at, bytes);
            }

            fn store_word(&mut self, at: usize, word: u64) {
                (**self).store_word(at, word);
            }

            fn write_back(&mut self, at: usize, length: usize) {
                (**self).write_back(at, length);
            }

            fn fence(&mut self) {
                (**self).fence();
            }
        }
    };
}

forward!(Box<N>);
forward!(&mut N);

/// A region of a size that no region has is a mistake of the program.
fn check_region(bytes: usize) {
    assert!(bytes > 0 && bytes.is_multiple_of(BLOCK_BYTES), "{bytes} bytes are no region of NVRAM");
}

/// The lines that hold `length` bytes from `at` on.
fn lines_of(at: usize, length: usize) -> std::ops::Range<usize> {
    if length == 0 { 0..0 } else { at / LINE_BYTES..(at + length).div_ceil(LINE_BYTES) }
}
