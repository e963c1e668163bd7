//! Memory that keeps its content without power, and when exactly.

/// A region of NVRAM.
///
/// A store is seen at once by later loads, but survives a power cut for certain only when its cache lines have been
/// written back and a fence has followed. Until then it may survive or not, line by line (64 bytes), and within a line
/// torn at 8 bytes; an aligned word of 8 bytes is never torn.
pub trait Nvram: Send {
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
