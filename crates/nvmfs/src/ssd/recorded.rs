//! An SSD whose requests are told to somebody.

use super::Ssd;
use crate::api::BLOCK_BYTES;
use std::io;
use std::sync::{Mutex, PoisonError};

/// What a request to an SSD does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockOp {
    /// Reads blocks.
    Read,
    /// Writes blocks.
    Write,
    /// Forgets blocks.
    Trim,
    /// Makes everything before it safe.
    Flush,
}

/// A request to an SSD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockRequest {
    /// What it does.
    pub op: BlockOp,
    /// The first block; 0 of a flush.
    pub first: u64,
    /// How many blocks; 0 of a flush.
    pub blocks: u64,
    /// What a write is likely to be updated with; 0 says nothing.
    pub stream: u16,
}

/// An SSD, each of whose requests goes to a sink as well once it has succeeded, in the order in which they end: to drive a
/// stack, or to write a trace.
pub struct Recorded<S> {
    inner: S,
    sink: Mutex<Box<dyn FnMut(BlockRequest) + Send>>,
}

impl<S: Ssd> Recorded<S> {
    /// `inner`, whose requests are told to `sink`. The sink must not use this SSD.
    pub fn new(inner: S, sink: impl FnMut(BlockRequest) + Send + 'static) -> Self {
        Recorded { inner, sink: Mutex::new(Box::new(sink)) }
    }

    /// The SSD itself.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// The SSD itself; ends the recording.
    pub fn into_inner(self) -> S {
        self.inner
    }

    fn tell(&self, op: BlockOp, first: u64, blocks: u64, stream: u16) {
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        (*sink)(BlockRequest { op, first, blocks, stream });
    }
}

impl<S: Ssd> Ssd for Recorded<S> {
    fn blocks(&self) -> u64 {
        self.inner.blocks()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(first, out)?;
        self.tell(BlockOp::Read, first, (out.len() / BLOCK_BYTES) as u64, 0);
        Ok(())
    }

    fn write(&self, first: u64, data: &[u8], stream: u16) -> io::Result<()> {
        self.inner.write(first, data, stream)?;
        self.tell(BlockOp::Write, first, (data.len() / BLOCK_BYTES) as u64, stream);
        Ok(())
    }

    fn trim(&self, first: u64, blocks: u64) -> io::Result<()> {
        self.inner.trim(first, blocks)?;
        self.tell(BlockOp::Trim, first, blocks, 0);
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        self.inner.flush()?;
        self.tell(BlockOp::Flush, 0, 0, 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssd::CountingSsd;
    use std::sync::mpsc;

    #[test]
    fn requests_are_told_in_order_unless_refused() {
        let (sender, receiver) = mpsc::channel();
        let ssd = Recorded::new(CountingSsd::new(8), move |request| {
            sender.send(request).expect("the receiver outlives it");
        });
        let mut data = vec![0; 2 * BLOCK_BYTES];
        ssd.write(1, &data, 7).expect("within");
        ssd.write(7, &data, 7).expect_err("beyond the end");
        ssd.trim(1, 3).expect("within");
        ssd.flush().expect("it cannot fail");
        ssd.read(2, &mut data).expect("within");
        assert_eq!(ssd.into_inner().counts().writes, 1);
        let request = |op, first, blocks, stream| BlockRequest { op, first, blocks, stream };
        let expected = [
            request(BlockOp::Write, 1, 2, 7),
            request(BlockOp::Trim, 1, 3, 0),
            request(BlockOp::Flush, 0, 0, 0),
            request(BlockOp::Read, 2, 2, 0),
        ];
        assert_eq!(receiver.iter().collect::<Vec<_>>(), expected);
    }
}
