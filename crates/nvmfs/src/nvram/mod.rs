//! Non-volatile memory: the interface, the rules of durability, and implementations.

#[cfg(target_os = "linux")]
mod cache;
#[cfg(target_os = "linux")]
mod mapped;
#[cfg(target_os = "linux")]
mod mapping;
mod plain;
#[cfg(target_os = "linux")]
mod set;

#[cfg(target_os = "linux")]
pub use mapped::{Guarantee, MappedNvram, Persistence};
pub use plain::PlainNvram;

use crate::api::BLOCK_BYTES;

/// Bytes of a cache line, the unit in which a processor writes memory back.
pub const LINE_BYTES: usize = 64;

/// Region of NVRAM.
///
/// A store is visible to later loads immediately. It is durable only after its cache lines were written back and a
/// fence followed. Until then, a power cut may or may not lose the store to each line of 64 bytes. A line may be torn
/// at multiples of 8 bytes; an aligned word of 8 bytes is never torn.
pub trait Nvram: Send + Sync {
    /// Returns the content, including stores that are not durable yet. Its length is a multiple of 4096 and never
    /// changes.
    fn bytes(&self) -> &[u8];

    /// Stores `bytes` at offset `at`; the range must lie within the region.
    fn store(&mut self, at: usize, bytes: &[u8]);

    /// Stores an aligned word of 8 bytes, little-endian, atomically.
    fn store_word(&mut self, at: usize, word: u64);

    /// Starts the write-back of the cache lines of `length` bytes at offset `at`.
    fn write_back(&mut self, at: usize, length: usize);

    /// Waits until all lines that were written back before are durable.
    fn fence(&mut self);
}

/// Implements [`Nvram`] for a pointer type, so that a test can lend its NVRAM to a file system.
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

/// Panics if the size is invalid, which is a programming error.
fn check_region(bytes: usize) {
    assert!(bytes > 0 && bytes.is_multiple_of(BLOCK_BYTES), "{bytes} bytes are no region of NVRAM");
}
