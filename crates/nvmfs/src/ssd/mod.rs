//! The block device under the file system.

use std::io;

/// A block device of 4 KiB blocks, which may be used by several threads.
///
/// What was written or trimmed survives a power cut for certain only when [`Ssd::flush`] has returned after it.
pub trait Ssd: Send + Sync {
    /// Number of blocks.
    fn blocks(&self) -> u64;

    /// Reads blocks from `first` on into `out`, whose length is a multiple of 4096.
    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()>;

    /// Writes blocks from `first` on. `stream` tells what is likely to be updated together; 0 says nothing.
    fn write(&self, first: u64, data: &[u8], stream: u16) -> io::Result<()>;

    /// The content of blocks is no longer needed; they read as anything until written again.
    fn trim(&self, first: u64, blocks: u64) -> io::Result<()>;

    /// Makes everything written before survive a power cut.
    fn flush(&self) -> io::Result<()>;
}
