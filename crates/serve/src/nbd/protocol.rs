//! NBD wire format, as specified in `doc/proto.md` of the NetworkBlockDevice project. Numbers are big endian.

use std::io::{self, Read, Write};

/// First bytes that the server sends.
pub const GREETING: [u8; 8] = *b"NBDMAGIC";
/// Magic number before each option, and at the end of the greeting.
pub const OPTION_MAGIC: u64 = u64::from_be_bytes(*b"IHAVEOPT");
/// Magic number before each option reply.
pub const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// Magic number before each request.
pub const REQUEST_MAGIC: u32 = 0x2560_9513;
/// Magic number before each simple reply.
pub const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
/// Magic number before each chunk of a structured reply.
pub const STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;

/// Handshake flag: fixed newstyle. The flag of the client has the same value.
pub const FIXED_NEWSTYLE: u16 = 1;
/// Handshake flag: no zeroes after NBD_OPT_EXPORT_NAME. The flag of the client has the same value.
pub const NO_ZEROES: u16 = 2;

/// Options.
pub mod option {
    #![allow(missing_docs, reason = "the names are the protocol's")]
    pub const EXPORT_NAME: u32 = 1;
    pub const ABORT: u32 = 2;
    pub const LIST: u32 = 3;
    pub const STARTTLS: u32 = 5;
    pub const INFO: u32 = 6;
    pub const GO: u32 = 7;
    pub const STRUCTURED_REPLY: u32 = 8;
    pub const LIST_META_CONTEXT: u32 = 9;
    pub const SET_META_CONTEXT: u32 = 10;
}

/// Types of option replies.
pub mod option_reply {
    #![allow(missing_docs, reason = "the names are the protocol's")]
    pub const ACK: u32 = 1;
    pub const SERVER: u32 = 2;
    pub const INFO: u32 = 3;
    pub const META_CONTEXT: u32 = 4;
    const ERROR: u32 = 1 << 31;
    pub const ERR_UNSUP: u32 = ERROR | 1;
    pub const ERR_INVALID: u32 = ERROR | 3;
    pub const ERR_TLS_REQD: u32 = ERROR | 5;
    pub const ERR_UNKNOWN: u32 = ERROR | 6;
    pub const ERR_TOO_BIG: u32 = ERROR | 9;
}

/// Types of information about an export.
pub mod info {
    #![allow(missing_docs, reason = "the names are the protocol's")]
    pub const EXPORT: u16 = 0;
    pub const NAME: u16 = 1;
    pub const DESCRIPTION: u16 = 2;
    pub const BLOCK_SIZE: u16 = 3;
}

/// Transmission flags, which tell the abilities of an export.
pub mod export_flag {
    #![allow(missing_docs, reason = "the names are the protocol's")]
    pub const HAS_FLAGS: u16 = 1;
    pub const FLUSH: u16 = 1 << 2;
    pub const FUA: u16 = 1 << 3;
    pub const TRIM: u16 = 1 << 5;
    pub const WRITE_ZEROES: u16 = 1 << 6;
    pub const DF: u16 = 1 << 7;
    pub const MULTI_CONN: u16 = 1 << 8;
    pub const CACHE: u16 = 1 << 10;
    pub const FAST_ZERO: u16 = 1 << 11;
}

/// Request types.
pub mod command {
    #![allow(missing_docs, reason = "the names are the protocol's")]
    pub const READ: u16 = 0;
    pub const WRITE: u16 = 1;
    pub const DISC: u16 = 2;
    pub const FLUSH: u16 = 3;
    pub const TRIM: u16 = 4;
    pub const CACHE: u16 = 5;
    pub const WRITE_ZEROES: u16 = 6;
    pub const BLOCK_STATUS: u16 = 7;
}

/// Flags of a request.
pub mod flag {
    #![allow(missing_docs, reason = "the names are the protocol's")]
    pub const FUA: u16 = 1;
    pub const NO_HOLE: u16 = 2;
    pub const DF: u16 = 4;
    pub const REQ_ONE: u16 = 8;
    pub const FAST_ZERO: u16 = 16;
}

/// Flags and types of chunks in structured replies.
pub mod chunk {
    #![allow(missing_docs, reason = "the names are the protocol's")]
    pub const DONE: u16 = 1;
    pub const NONE: u16 = 0;
    pub const OFFSET_DATA: u16 = 1;
    pub const BLOCK_STATUS: u16 = 5;
    pub const ERROR: u16 = (1 << 15) | 1;
}

/// Error codes of replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Fault {
    /// EIO
    Io = 5,
    /// EINVAL
    Invalid = 22,
    /// ENOSPC
    NoSpace = 28,
    /// ENOTSUP
    Unsupported = 95,
}

/// Name of the only metadata context, which describes the ranges with data.
pub const ALLOCATION: &str = "base:allocation";
/// Flags of a range without data: a hole that reads as zeroes.
pub const HOLE: u32 = 1 | 2;

/// Bytes of a request header.
pub const REQUEST_BYTES: usize = 28;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Flags, see [`flag`].
    pub flags: u16,
    /// Request type, see [`command`].
    pub command: u16,
    /// ID that the client gave the request; it is returned in the reply.
    pub cookie: u64,
    /// Offset of the first byte of the range.
    pub offset: u64,
    /// Length of the range in bytes.
    pub length: u32,
}

impl Request {
    /// Parses a request header. Returns `None` if the magic is wrong.
    pub fn parse(bytes: &[u8; REQUEST_BYTES]) -> Option<Self> {
        let mut bytes = &bytes[..];
        let magic = u32::from_be_bytes(take(&mut bytes)?);
        let request = Request {
            flags: u16::from_be_bytes(take(&mut bytes)?),
            command: u16::from_be_bytes(take(&mut bytes)?),
            cookie: u64::from_be_bytes(take(&mut bytes)?),
            offset: u64::from_be_bytes(take(&mut bytes)?),
            length: u32::from_be_bytes(take(&mut bytes)?),
        };
        (magic == REQUEST_MAGIC).then_some(request)
    }

    /// Returns the number of data bytes that follow the header.
    pub fn data_bytes(&self) -> u32 {
        if self.command == command::WRITE { self.length } else { 0 }
    }
}

/// Removes and returns the next `N` bytes.
pub fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*head)
}

/// Removes and returns the next text, which is preceded by its length in 32 bits.
pub fn take_text<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = u32::from_be_bytes(take(bytes)?) as usize;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(text)
}

/// Option sent by a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientOption {
    /// Option type, see [`option`].
    pub option: u32,
    /// Data of the option, unless it is too long.
    pub data: Option<Vec<u8>>,
}

impl ClientOption {
    /// Reads an option. The data is skipped if it is longer than `max_bytes`.
    ///
    /// # Errors
    /// Fails at the end of the connection or if the magic is wrong.
    pub fn read(source: &mut impl Read, max_bytes: u32) -> io::Result<Self> {
        let mut head = [0; 16];
        source.read_exact(&mut head)?;
        let mut head = &head[..];
        let magic = take(&mut head).map(u64::from_be_bytes);
        let [option, length] = [(); 2].map(|()| take(&mut head).map_or(0, u32::from_be_bytes));
        if magic != Some(OPTION_MAGIC) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "no option"));
        }
        if length > max_bytes {
            skip(source, length.into())?;
            return Ok(ClientOption { option, data: None });
        }
        let mut data = vec![0; length as usize];
        source.read_exact(&mut data)?;
        Ok(ClientOption { option, data: Some(data) })
    }
}

/// Skips `bytes` bytes.
///
/// # Errors
/// Fails at the end of the connection.
pub fn skip(source: &mut impl Read, bytes: u64) -> io::Result<()> {
    match io::copy(&mut source.take(bytes), &mut io::sink())? == bytes {
        true => Ok(()),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Writes an option reply.
///
/// # Errors
/// Fails if the connection fails.
pub fn answer_option(out: &mut impl Write, option: u32, kind: u32, data: &[u8]) -> io::Result<()> {
    out.write_all(&OPTION_REPLY_MAGIC.to_be_bytes())?;
    for number in [option, kind, data.len() as u32] {
        out.write_all(&number.to_be_bytes())?;
    }
    out.write_all(data)
}

/// Parses NBD_OPT_INFO and NBD_OPT_GO: the export's name and the requested information types. Returns `None` if the data is
/// invalid.
pub fn parse_go(mut data: &[u8]) -> Option<(&[u8], Vec<u16>)> {
    let name = take_text(&mut data)?;
    let count = u16::from_be_bytes(take(&mut data)?);
    let requested: Vec<u16> = std::iter::from_fn(|| take(&mut data).map(u16::from_be_bytes)).collect();
    (data.is_empty() && requested.len() == usize::from(count)).then_some((name, requested))
}

/// Parses NBD_OPT_SET_META_CONTEXT and NBD_OPT_LIST_META_CONTEXT: the export's name and the context queries. Returns `None` if
/// the data is invalid.
pub fn parse_contexts(mut data: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let name = take_text(&mut data)?;
    let count = u32::from_be_bytes(take(&mut data)?) as usize;
    let mut queries = Vec::new();
    while !data.is_empty() {
        queries.push(take_text(&mut data)?);
    }
    (queries.len() == count).then_some((name, queries))
}
