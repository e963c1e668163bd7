//! SSD wrapper that reports each request.

use super::Ssd;
use crate::api::BLOCK_BYTES;
use std::io;
use std::sync::{Mutex, PoisonError};

/// Type of a request to an SSD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockOp {
    /// Reads blocks.
    Read,
    /// Writes blocks.
    Write,
    /// Discards blocks.
    Trim,
    /// Makes earlier writes durable.
    Flush,
}

/// Request to an SSD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockRequest {
    /// Type of the request.
    pub op: BlockOp,
    /// First block; 0 for a flush.
    pub first: u64,
    /// Number of blocks; 0 for a flush.
    pub blocks: u64,
    /// Stream of a write; 0 means unknown.
    pub stream: u16,
}

/// SSD that passes each successful request to a sink, in order of completion. The sink can send the requests to a
/// stack, or write a trace.
pub struct RecordingSsd<S> {
    inner: S,
    sink: Mutex<Box<dyn FnMut(BlockRequest) + Send>>,
}

impl<S: Ssd> RecordingSsd<S> {
    /// Wraps `inner` and passes its requests to `sink`. The sink must not use this SSD.
    pub fn new(inner: S, sink: impl FnMut(BlockRequest) + Send + 'static) -> Self {
        RecordingSsd { inner, sink: Mutex::new(Box::new(sink)) }
    }

    fn report(&self, op: BlockOp, first: u64, blocks: u64, stream: u16) {
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        (*sink)(BlockRequest { op, first, blocks, stream });
    }
}

impl<S: Ssd> Ssd for RecordingSsd<S> {
    fn blocks(&self) -> u64 {
        self.inner.blocks()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(first, out)?;
        self.report(BlockOp::Read, first, (out.len() / BLOCK_BYTES) as u64, 0);
        Ok(())
    }

    fn write(&self, first: u64, data: &[u8], stream: u16) -> io::Result<()> {
        self.inner.write(first, data, stream)?;
        self.report(BlockOp::Write, first, (data.len() / BLOCK_BYTES) as u64, stream);
        Ok(())
    }

    fn trim(&self, first: u64, blocks: u64) -> io::Result<()> {
        self.inner.trim(first, blocks)?;
        self.report(BlockOp::Trim, first, blocks, 0);
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        self.inner.flush()?;
        self.report(BlockOp::Flush, 0, 0, 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssd::NullSsd;
    use std::sync::mpsc;

    #[test]
    fn successful_requests_are_reported_in_order() {
        let (sender, receiver) = mpsc::channel();
        let ssd = RecordingSsd::new(NullSsd::new(8), move |request| {
            sender.send(request).expect("the receiver outlives it");
        });
        let mut data = vec![0; 2 * BLOCK_BYTES];
        ssd.write(1, &data, 7).expect("within");
        ssd.write(7, &data, 7).expect_err("beyond the end");
        ssd.trim(1, 3).expect("within");
        ssd.flush().expect("it cannot fail");
        ssd.read(2, &mut data).expect("within");
        drop(ssd);
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
