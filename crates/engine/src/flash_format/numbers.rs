//! Sequential reading and writing of little-endian numbers.

/// A position in a note or a page from which numbers are read sequentially.
pub struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    pub fn take<const N: usize>(&mut self) -> [u8; N] {
        let (first, rest) = self.0.split_first_chunk::<N>().expect("notes have room for what is in them");
        self.0 = rest;
        *first
    }

    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
}

/// A position in a note or a page to which numbers are written sequentially.
pub struct Writer<'a>(pub &'a mut [u8]);

impl Writer<'_> {
    pub fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        let (first, rest) = std::mem::take(&mut self.0)
            .split_first_chunk_mut::<N>()
            .expect("notes have room for what is in them");
        *first = bytes;
        self.0 = rest;
    }

    pub fn u32(&mut self, number: u32) {
        self.put(number.to_le_bytes());
    }

    pub fn u64(&mut self, number: u64) {
        self.put(number.to_le_bytes());
    }
}
