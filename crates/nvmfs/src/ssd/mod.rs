//! The block device under the file system.

mod counting;
mod drive;
#[cfg(target_os = "linux")]
mod file;
mod memory;
mod recorded;
mod simulated;
mod stack;

pub use counting::{CountingSsd, Counts};
pub use drive::{Drive, DriveLayer};
#[cfg(target_os = "linux")]
pub use file::{Caching, FileSsd};
pub use memory::MemorySsd;
pub use recorded::{BlockOp, BlockRequest, Recorded};
pub use simulated::SimulatedSsd;
pub use stack::{StackError, StackSsd};

use crate::api::BLOCK_BYTES;
use std::io;
use std::sync::Arc;

/// A block of an SSD.
type Block = [u8; BLOCK_BYTES];

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

    /// What a simulated drive did for it; nothing of any other, whose flash nobody sees.
    fn drive(&self) -> Option<Drive> {
        None
    }
}

/// A pointer to an SSD is an SSD: a test keeps what it lends to a file system.
macro_rules! forward {
    ($pointer:ty) => {
        impl<S: Ssd + ?Sized> Ssd for $pointer {
            fn blocks(&self) -> u64 {
                (**self).blocks()
            }

            fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
                (**self).read(first, out)
            }

            fn write(&self, first: u64, data: &[u8], stream: u16) -> io::Result<()> {
                (**self).write(first, data, stream)
            }

            fn trim(&self, first: u64, blocks: u64) -> io::Result<()> {
                (**self).trim(first, blocks)
            }

            fn flush(&self) -> io::Result<()> {
                (**self).flush()
            }

            fn drive(&self) -> Option<Drive> {
                (**self).drive()
            }
        }
    };
}

forward!(Box<S>);
forward!(Arc<S>);
forward!(&S);

/// Blocks of a request of `bytes` bytes from block `first` on; refuses what the device of `blocks` blocks does not have.
fn whole_blocks(blocks: u64, first: u64, bytes: usize) -> io::Result<u64> {
    if !bytes.is_multiple_of(BLOCK_BYTES) {
        let problem = format!("{bytes} bytes are no whole blocks of {BLOCK_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    let count = (bytes / BLOCK_BYTES) as u64;
    check_range(blocks, first, count)?;
    Ok(count)
}

/// Refuses blocks that the device of `blocks` blocks does not have.
fn check_range(blocks: u64, first: u64, count: u64) -> io::Result<()> {
    if first.checked_add(count).is_none_or(|end| end > blocks) {
        let problem = format!("{count} blocks from {first} on: the SSD has {blocks}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    Ok(())
}
