//! What every trace format is read into and written from: requests in bytes and nanoseconds.

/// What a request asks for.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Read `length_bytes` at `offset_bytes`.
    Read = 0,
    /// Write `length_bytes` at `offset_bytes`.
    Write = 1,
    /// Discard (TRIM, UNMAP) `length_bytes` at `offset_bytes`.
    Trim = 2,
    /// Make all earlier writes durable; offset and length are zero.
    Flush = 3,
}

/// The digest of a piece of content as a trace records it (an MD5 in the FIU formats).
pub type Digest = [u8; 16];

/// One request, with the digests of its content where the format carries them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Arrival, in nanoseconds on the trace's own clock.
    pub time_ns: u64,
    /// What is asked for.
    pub op: Op,
    /// Volume (disk, device, ASU, LUN) number; 0 where the format has none.
    pub volume: u32,
    /// First byte.
    pub offset_bytes: u64,
    /// Number of bytes; 0 only for [`Op::Flush`].
    pub length_bytes: u64,
    /// Stream or placement hint of the host; 0 where the format has none.
    pub hint: u16,
}

/// Requests as columns, in trace order: the unit in which traces are read, written and shown to Python.
///
/// All columns have the same length. `digests` is flat: the digests of request `i` are
/// `digests[digest_ends[i - 1]..digest_ends[i]]`, each covering `digest_bytes` of content.
/// `digest_ends` is empty when the format carries no digests.
#[derive(Clone, Debug, Default)]
pub struct RequestBatch {
    /// Arrival times, ns.
    pub time_ns: Vec<u64>,
    /// Operations.
    pub op: Vec<Op>,
    /// Volumes.
    pub volume: Vec<u32>,
    /// First bytes.
    pub offset_bytes: Vec<u64>,
    /// Lengths, bytes.
    pub length_bytes: Vec<u64>,
    /// Host placement hints.
    pub hint: Vec<u16>,
    /// All digests, flat.
    pub digests: Vec<Digest>,
    /// One past the last digest of each request; empty without digests.
    pub digest_ends: Vec<u32>,
}

impl RequestBatch {
    /// Number of requests.
    pub fn len(&self) -> usize {
        self.op.len()
    }

    /// Whether the batch holds no request.
    pub fn is_empty(&self) -> bool {
        self.op.is_empty()
    }

    /// Forgets all requests, keeping the memory.
    pub fn clear(&mut self) {
        self.time_ns.clear();
        self.op.clear();
        self.volume.clear();
        self.offset_bytes.clear();
        self.length_bytes.clear();
        self.hint.clear();
        self.digests.clear();
        self.digest_ends.clear();
    }

    /// Appends a request that carries no digest.
    pub fn push(&mut self, request: &Request) {
        self.time_ns.push(request.time_ns);
        self.op.push(request.op);
        self.volume.push(request.volume);
        self.offset_bytes.push(request.offset_bytes);
        self.length_bytes.push(request.length_bytes);
        self.hint.push(request.hint);
    }

    /// Request `index`, as one value.
    pub fn get(&self, index: usize) -> Request {
        Request {
            time_ns: self.time_ns[index],
            op: self.op[index],
            volume: self.volume[index],
            offset_bytes: self.offset_bytes[index],
            length_bytes: self.length_bytes[index],
            hint: self.hint[index],
        }
    }
}
