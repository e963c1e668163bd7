//! Common form of requests for all trace formats, in bytes and nanoseconds.

/// Type of a request.
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

/// Digest of a piece of content as recorded in a trace (an MD5 in the FIU formats).
pub type Digest = [u8; 16];

/// MD5 of 512 and of 4096 zero bytes, as found in the FIU traces.
const ZERO_DIGESTS: [(u32, u128); 2] =
    [(512, 0xbf61_9eac_0cdf_3f68_d496_ea93_4413_7e8b), (4096, 0x620f_0b67_a91f_7f74_151b_c5be_745b_7110)];

/// True if `digest` is the MD5 of `digest_bytes` zeros, for 512 and 4096 of them.
pub fn is_zero_digest(digest: &Digest, digest_bytes: u32) -> bool {
    let number = u128::from_be_bytes(*digest);
    ZERO_DIGESTS.iter().any(|&(bytes, zero)| bytes == digest_bytes && zero == number)
}

/// Combines the digests of the parts of a page into one; a single digest is returned unchanged.
///
/// Equal pages get equal digests. Different pages get different digests, as reliably as MD5 distinguishes
/// them. The result is not the MD5 of the page.
pub fn page_digest(parts: &[Digest]) -> Digest {
    /// Odd, so that the multiplication is invertible.
    const MULTIPLIER: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
    if let [digest] = parts {
        return *digest;
    }
    let mix = |sum: u128, part: &Digest| {
        let sum = (sum ^ u128::from_be_bytes(*part)).wrapping_mul(MULTIPLIER);
        sum ^ (sum >> 64)
    };
    parts.iter().fold(parts.len() as u128, mix).to_be_bytes()
}

/// A request. Digests of its content, if the format has them, are stored next to it in a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Arrival time, in nanoseconds on the trace's own clock.
    pub time_ns: u64,
    /// Type of the request.
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

/// Requests as columns, in trace order: the unit for reading, writing and passing traces to Python.
///
/// All columns have the same length. `digests` is flat: the digests of request `i` are
/// `digests[digest_ends[i - 1]..digest_ends[i]]`, each covering `digest_bytes` of content. `digest_ends`
/// is empty and `digest_bytes` 0 when the format carries no digests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// End of each request's digests in `digests`; empty without digests.
    pub digest_ends: Vec<u32>,
    /// Bytes of content per digest; 0 without digests.
    pub digest_bytes: u32,
}

impl RequestBatch {
    /// Returns the number of requests.
    pub fn len(&self) -> usize {
        self.op.len()
    }

    /// True if the batch holds no request.
    pub fn is_empty(&self) -> bool {
        self.op.is_empty()
    }

    /// Removes all requests and keeps the memory.
    pub fn clear(&mut self) {
        self.time_ns.clear();
        self.op.clear();
        self.volume.clear();
        self.offset_bytes.clear();
        self.length_bytes.clear();
        self.hint.clear();
        self.digests.clear();
        self.digest_ends.clear();
        self.digest_bytes = 0;
    }

    /// Appends a request with the digests of its content, each over `digest_bytes` of it.
    ///
    /// All requests of a batch have the same `digest_bytes`; a request without digests is still allowed.
    pub fn push_with_digests(&mut self, request: &Request, digests: &[Digest], digest_bytes: u32) {
        self.push(request);
        self.digests.extend_from_slice(digests);
        self.digest_ends.push(self.digests.len() as u32);
        self.digest_bytes = digest_bytes;
    }

    /// Returns the digests of request `index`; empty in a batch without digests.
    pub fn digests_of(&self, index: usize) -> &[Digest] {
        let Some(&end) = self.digest_ends.get(index) else { return &[] };
        let start = if index == 0 { 0 } else { self.digest_ends[index - 1] };
        &self.digests[start as usize..end as usize]
    }

    /// Appends request `index` of `other`, with its digests.
    pub fn push_from(&mut self, other: &RequestBatch, index: usize) {
        match other.digest_bytes {
            0 => self.push(&other.get(index)),
            bytes => self.push_with_digests(&other.get(index), other.digests_of(index), bytes),
        }
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

    /// Returns request `index` as a single value.
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
