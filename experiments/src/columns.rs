//! Compressed columns of requests: less than half the size of the same requests as compressed lines of text.
//!
//! A file is compressed with xz. It begins with the lengths of its columns in bytes, each a little-endian `u64`; the
//! columns follow. A column has one number per request, with seven bits per byte, the lowest bits first (LEB128). The
//! columns are:
//!
//! 1. Volume.
//! 2. Operation.
//! 3. Whole pages of the length.
//! 4. Remaining bytes of the length.
//! 5. Page of the offset minus the page of the end of the previous request. The sign is in the lowest bit.
//! 6. Bytes of the offset within its page.
//!
//! Times and hints are not stored.

use crate::Failure;
use liblzma::read::XzDecoder;
use liblzma::write::XzEncoder;
use std::io::{self, Read, Write};
use std::vec::IntoIter;
use wearwell_trace::{Op, Request};

const COLUMNS: usize = 6;
const PAGE_BYTES: u64 = 4096;

/// Compression level of xz; higher levels save less than a hundredth.
const LEVEL: u32 = 6;

/// Operations in the order of their numbers.
const OPS: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

/// Appends a number.
fn put(column: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        column.push(number as u8 | 0x80);
        number >>= 7;
    }
    column.push(number as u8);
}

/// Returns the next number; `None` at the end of the column, and for a number of more than 64 bits.
fn take(column: &mut IntoIter<u8>) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = column.next()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Columns in memory while requests are appended.
#[derive(Debug, Default)]
pub struct Writer {
    columns: [Vec<u8>; COLUMNS],
    /// Offset in bytes of the end of the last request.
    end: u64,
}

impl Writer {
    /// Appends a request.
    pub fn push(&mut self, request: &Request) {
        let Request { op, volume, offset_bytes, length_bytes, .. } = *request;
        let step = (offset_bytes / PAGE_BYTES).wrapping_sub(self.end / PAGE_BYTES).cast_signed();
        let numbers = [
            u64::from(volume),
            op as u64,
            length_bytes / PAGE_BYTES,
            length_bytes % PAGE_BYTES,
            (step << 1 ^ step >> 63).cast_unsigned(),
            offset_bytes % PAGE_BYTES,
        ];
        for (column, number) in self.columns.iter_mut().zip(numbers) {
            put(column, number);
        }
        self.end = offset_bytes + length_bytes;
    }

    /// Returns the content of the file.
    ///
    /// # Errors
    ///
    /// Returns an error if compression fails.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        let mut file = XzEncoder::new(Vec::new(), LEVEL);
        for column in &self.columns {
            file.write_all(&(column.len() as u64).to_le_bytes())?;
        }
        for column in &self.columns {
            file.write_all(column)?;
        }
        file.finish()
    }
}

/// Iterator over the requests of a file.
#[derive(Debug)]
pub struct Reader {
    columns: [IntoIter<u8>; COLUMNS],
    /// Offset in bytes of the end of the last request.
    end: u64,
}

impl Reader {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be read or decompressed, or that ends within a column.
    pub fn new(file: impl Read) -> io::Result<Reader> {
        let mut file = XzDecoder::new(file);
        let mut lengths = [[0; 8]; COLUMNS];
        file.read_exact(lengths.as_flattened_mut())?;
        let mut columns = [(); COLUMNS].map(|()| Vec::new());
        for (column, length) in columns.iter_mut().zip(lengths.map(u64::from_le_bytes)) {
            if file.by_ref().take(length).read_to_end(column)? as u64 != length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(Reader { columns: columns.map(Vec::into_iter), end: 0 })
    }

    fn request(&mut self) -> Option<Request> {
        let [volume, op, pages, bytes, step, within] = self.columns.each_mut().map(take);
        let step = step?;
        let step = (step >> 1) ^ (step & 1).wrapping_neg();
        let in_bytes = |pages: u64, bytes| pages.checked_mul(PAGE_BYTES)?.checked_add(bytes);
        let offset_bytes = in_bytes((self.end / PAGE_BYTES).wrapping_add(step), within?)?;
        let length_bytes = in_bytes(pages?, bytes?)?;
        self.end = offset_bytes.checked_add(length_bytes)?;
        let op = *OPS.get(usize::try_from(op?).ok()?)?;
        let volume = u32::try_from(volume?).ok()?;
        Some(Request { time_ns: 0, op, volume, offset_bytes, length_bytes, hint: 0 })
    }
}

impl Iterator for Reader {
    type Item = Result<Request, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.columns.iter().all(|column| column.len() == 0) {
            return None;
        }
        Some(self.request().ok_or_else(|| "columns of different lengths, or an invalid number in one".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(op: Op, volume: u32, offset_bytes: u64, length_bytes: u64) -> Request {
        Request { time_ns: 0, op, volume, offset_bytes, length_bytes, hint: 0 }
    }

    fn read(file: &[u8]) -> Result<Vec<Request>, Failure> {
        Reader::new(file)?.collect()
    }

    #[test]
    fn requests_of_any_place_and_size_are_read_as_written() {
        let requests = [
            request(Op::Write, 0, 8192, 4096),
            request(Op::Read, 0, 4608, 4136),
            request(Op::Flush, 0, 0, 0),
            request(Op::Trim, 1, 1 << 62, 1 << 62),
            request(Op::Write, u32::MAX, 1, u64::MAX - 1),
            request(Op::Write, 0, u64::MAX - 1, 1),
            request(Op::Write, 0, 0, 512),
        ];
        let mut writer = Writer::default();
        requests.iter().for_each(|request| writer.push(request));
        assert_eq!(read(&writer.finish().unwrap()).unwrap(), requests);
        assert_eq!(read(&Writer::default().finish().unwrap()).unwrap(), []);
    }

    #[test]
    fn numbers_of_a_sequential_write_take_a_byte_each() {
        let mut writer = Writer::default();
        (0..3).for_each(|at| writer.push(&request(Op::Write, 0, at << 12, 4096)));
        assert_eq!(writer.columns, [[0, 0, 0], [1, 1, 1], [1, 1, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0]]);
        writer.push(&request(Op::Write, 0, 2 << 12, 130 << 12));
        assert_eq!(writer.columns[2], [1, 1, 1, 0x82, 1]);
        assert_eq!(writer.columns[4], [0, 0, 0, 1]);
    }

    #[test]
    fn short_and_uneven_files_are_refused() {
        let mut writer = Writer::default();
        writer.push(&request(Op::Write, 0, 0, 4096));
        writer.columns[1].pop();
        let error = read(&writer.finish().unwrap()).unwrap_err().to_string();
        assert!(error.contains("columns of different lengths"), "{error}");

        let mut file = XzEncoder::new(Vec::new(), LEVEL);
        for length in [3_u64, 0, 0, 0, 0, 0] {
            file.write_all(&length.to_le_bytes()).unwrap();
        }
        file.write_all(&[0, 0]).unwrap();
        assert_eq!(
            Reader::new(&file.finish().unwrap()[..]).unwrap_err().kind(),
            io::ErrorKind::UnexpectedEof
        );
        assert!(read(b"no xz").is_err());
    }

    #[test]
    fn unknown_operation_and_endless_number_are_refused() {
        for (column, bytes) in [(1, vec![4]), (2, vec![0xff; 10])] {
            let mut writer = Writer::default();
            writer.push(&request(Op::Write, 0, 0, 4096));
            writer.columns[column] = bytes;
            assert!(read(&writer.finish().unwrap()).is_err(), "column {column}");
        }
    }
}
