//! Block device under the file system.

mod drive;
#[cfg(target_os = "linux")]
mod file;
mod memory;
mod null;
mod recorded;
mod stack;

pub use drive::{Drive, DriveLayer};
#[cfg(target_os = "linux")]
pub use file::{Caching, FileSsd};
pub use memory::MemorySsd;
pub use null::NullSsd;
pub use recorded::{BlockOp, BlockRequest, RecordingSsd};
pub use stack::{StackError, StackSsd};

use crate::api::BLOCK_BYTES;
use std::io;
use std::sync::Arc;

/// Content of a block of an SSD.
type Block = [u8; BLOCK_BYTES];

/// Block device with blocks of 4 KiB, which several threads may use.
///
/// Writes and trims are durable only after a later [`Ssd::flush`] has returned.
pub trait Ssd: Send + Sync {
    /// Returns the number of blocks.
    fn blocks(&self) -> u64;

    /// Reads blocks starting at `first` into `out`, whose length is a multiple of 4096.
    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()>;

    /// Writes blocks starting at `first`. Blocks with the same `stream` are likely to be updated together; stream 0
    /// means unknown.
    fn write(&self, first: u64, data: &[u8], stream: u16) -> io::Result<()>;

    /// Discards the content of blocks; their content is undefined until they are written again.
    fn trim(&self, first: u64, blocks: u64) -> io::Result<()>;

    /// Makes all earlier writes durable.
    fn flush(&self) -> io::Result<()>;

    /// Returns the statistics of a simulated drive; `None` for other SSDs.
    fn drive(&self) -> Option<Drive> {
        None
    }
}

/// Implements [`Ssd`] for a pointer type, so that a test can lend its SSD to a file system.
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

/// Returns the number of blocks in a request of `bytes` bytes at block `first`. Fails if the request does not consist
/// of whole blocks within the device.
fn whole_blocks(blocks: u64, first: u64, bytes: usize) -> io::Result<u64> {
    if !bytes.is_multiple_of(BLOCK_BYTES) {
        let problem = format!("{bytes} bytes are no whole blocks of {BLOCK_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    let count = (bytes / BLOCK_BYTES) as u64;
    check_range(blocks, first, count)?;
    Ok(count)
}

/// Fails if the range exceeds the device of `blocks` blocks.
fn check_range(blocks: u64, first: u64, count: u64) -> io::Result<()> {
    if first.checked_add(count).is_none_or(|end| end > blocks) {
        let problem = format!("{count} blocks from {first} on: the SSD has {blocks}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    Ok(())
}
