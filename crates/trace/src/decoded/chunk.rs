//! Consecutive requests of a trace in compact form.

use super::column::Column;
use crate::request::{Digest, Op, RequestBatch};

/// Reading state of a trace after some of its requests.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Bad lines or records skipped since the beginning.
    pub skipped: u64,
    /// Bytes read from the file since the beginning, before decompression.
    pub bytes_read: u64,
}

/// Requests of a trace, about ten bytes each, and the reading state after them.
pub struct Chunk {
    time_ns: Column,
    op: Box<[Op]>,
    volume: Column,
    offset_bytes: Column,
    length_bytes: Column,
    hint: Column,
    digests: Box<[Digest]>,
    digest_ends: Column,
    digest_bytes: u32,
    pub progress: Progress,
}

impl Chunk {
    /// Stores the requests of `batch`.
    pub fn pack(batch: &RequestBatch, progress: Progress) -> Self {
        Chunk {
            time_ns: Column::pack(batch.time_ns.iter().copied()),
            op: batch.op.as_slice().into(),
            volume: Column::pack(batch.volume.iter().map(|&volume| volume.into())),
            offset_bytes: Column::pack(batch.offset_bytes.iter().copied()),
            length_bytes: Column::pack(batch.length_bytes.iter().copied()),
            hint: Column::pack(batch.hint.iter().map(|&hint| hint.into())),
            digests: batch.digests.as_slice().into(),
            digest_ends: Column::pack(batch.digest_ends.iter().map(|&end| end.into())),
            digest_bytes: batch.digest_bytes,
            progress,
        }
    }

    /// Appends the requests to `batch`.
    pub fn unpack(&self, batch: &mut RequestBatch) {
        let digests_before = batch.digests.len() as u32;
        self.time_ns.unpack(&mut batch.time_ns, |time_ns| time_ns);
        batch.op.extend_from_slice(&self.op);
        self.volume.unpack(&mut batch.volume, |volume| volume as u32);
        self.offset_bytes.unpack(&mut batch.offset_bytes, |offset| offset);
        self.length_bytes.unpack(&mut batch.length_bytes, |length| length);
        self.hint.unpack(&mut batch.hint, |hint| hint as u16);
        batch.digests.extend_from_slice(&self.digests);
        self.digest_ends.unpack(&mut batch.digest_ends, |end| digests_before + end as u32);
        batch.digest_bytes = self.digest_bytes;
    }

    /// Returns the number of requests.
    pub fn requests(&self) -> usize {
        self.op.len()
    }

    /// Returns the bytes of memory that the requests take.
    pub fn bytes(&self) -> usize {
        let columns = [
            &self.time_ns,
            &self.volume,
            &self.offset_bytes,
            &self.length_bytes,
            &self.hint,
            &self.digest_ends,
        ];
        let columns: usize = columns.into_iter().map(Column::bytes).sum();
        size_of::<Self>() + columns + size_of_val(&*self.op) + size_of_val(&*self.digests)
    }
}
