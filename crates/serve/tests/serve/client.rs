//! NBD client that is written from the protocol document only, without code of the server.

use crate::common::Step;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Reply: the error (0 for none), and the type and content of each chunk.
#[derive(Debug, Default, PartialEq)]
pub struct Reply {
    pub error: u32,
    pub chunks: Vec<(u16, Vec<u8>)>,
}

pub struct Client<S = UnixStream> {
    pub stream: S,
    structured: bool,
    cookie: u64,
    pub bytes: u64,
    pub flags: u16,
}

pub const GO: u32 = 7;

impl Client {
    /// Connects to a server and answers its greeting.
    pub fn connect(path: &Path) -> Client {
        Client::try_connect(path).unwrap()
    }

    /// Does what [`Client::connect`] does; fails if the server accepts no more connections.
    pub fn try_connect(path: &Path) -> io::Result<Client> {
        let mut stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting)?;
        assert_eq!(&greeting, b"NBDMAGICIHAVEOPT\0\x03");
        stream.write_all(&3u32.to_be_bytes())?;
        Ok(Client { stream, structured: false, cookie: 0, bytes: 0, flags: 0 })
    }
}

impl<S: Read + Write> Client<S> {
    /// Replaces the connection by the result of `change`, and resets the negotiated state.
    pub fn map_stream<T>(self, change: impl FnOnce(S) -> T) -> Client<T> {
        Client { stream: change(self.stream), structured: false, cookie: 0, bytes: 0, flags: 0 }
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    fn number<const N: usize>(&mut self) -> u64 {
        self.bytes(N).iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    pub fn send_option(&mut self, option: u32, data: &[u8]) {
        let head = [b"IHAVEOPT".as_slice(), &option.to_be_bytes(), &(data.len() as u32).to_be_bytes(), data];
        self.stream.write_all(&head.concat()).unwrap();
    }

    /// Reads an option reply; returns its type and data.
    pub fn option_reply(&mut self, option: u32) -> (u32, Vec<u8>) {
        assert_eq!(self.number::<8>(), 0x3e889045565a9);
        assert_eq!(self.number::<4>(), u64::from(option));
        let kind = self.number::<4>() as u32;
        let length = self.number::<4>() as usize;
        (kind, self.bytes(length))
    }

    /// Sends an option and reads all replies to it.
    pub fn option(&mut self, option: u32, data: &[u8]) -> Vec<(u32, Vec<u8>)> {
        self.send_option(option, data);
        let mut replies = Vec::new();
        loop {
            let reply = self.option_reply(option);
            let last = reply.0 == 1 || reply.0 >= 1 << 31;
            replies.push(reply);
            if last {
                return replies;
            }
        }
    }

    pub fn negotiate_structured(&mut self) {
        assert_eq!(self.option(8, &[]), [(1, vec![])]);
        self.structured = true;
    }

    /// Selects the metadata context with the allocation, and returns its ID.
    pub fn select_allocation(&mut self) -> u32 {
        let name = b"base:allocation";
        let question = [&[0; 4][..], &1u32.to_be_bytes(), &(name.len() as u32).to_be_bytes(), name].concat();
        let replies = self.option(10, &question);
        assert_eq!((replies.len(), replies[0].0, &replies[0].1[4..]), (2, 4, &name[..]));
        u32::from_be_bytes(replies[0].1[..4].try_into().unwrap())
    }

    /// Selects the default export.
    pub fn go(&mut self) {
        self.go_to("");
    }

    /// Selects an export.
    pub fn go_to(&mut self, name: &str) {
        let question = [&(name.len() as u32).to_be_bytes(), name.as_bytes(), &[0; 2]].concat();
        let replies = self.option(GO, &question);
        assert_eq!(replies.last().unwrap().0, 1, "{replies:?}");
        let export = &replies.iter().find(|(kind, data)| *kind == 3 && data[..2] == [0, 0]).unwrap().1;
        self.bytes = u64::from_be_bytes(export[2..10].try_into().unwrap());
        self.flags = u16::from_be_bytes(export[10..12].try_into().unwrap());
    }

    pub fn send(&mut self, flags: u16, command: u16, offset: u64, length: u32, data: &[u8]) -> u64 {
        self.cookie += 1;
        let mut request = 0x25609513u32.to_be_bytes().to_vec();
        request.extend(flags.to_be_bytes());
        request.extend(command.to_be_bytes());
        request.extend(self.cookie.to_be_bytes());
        request.extend(offset.to_be_bytes());
        request.extend(length.to_be_bytes());
        request.extend(data);
        self.stream.write_all(&request).unwrap();
        self.cookie
    }

    /// Reads the reply to request `cookie`. `length` is the length of a read, or 0 for other requests.
    pub fn reply(&mut self, cookie: u64, length: usize) -> Reply {
        let mut reply = Reply::default();
        if !self.structured {
            assert_eq!(self.number::<4>(), 0x67446698);
            reply.error = self.number::<4>() as u32;
            assert_eq!(self.number::<8>(), cookie);
            if reply.error == 0 && length > 0 {
                reply.chunks.push((1, self.bytes(length)));
            }
            return reply;
        }
        loop {
            assert_eq!(self.number::<4>(), 0x668e33ef);
            let (flags, kind) = (self.number::<2>(), self.number::<2>() as u16);
            assert_eq!(self.number::<8>(), cookie);
            let length = self.number::<4>() as usize;
            let mut data = self.bytes(length);
            match kind {
                0x8001 => reply.error = u32::from_be_bytes(data[..4].try_into().unwrap()),
                1 => reply.chunks.push((1, data.split_off(8))),
                _ => reply.chunks.push((kind, data)),
            }
            if flags & 1 != 0 {
                return reply;
            }
        }
    }

    /// Sends a request and reads its reply.
    pub fn request(&mut self, flags: u16, command: u16, offset: u64, length: u32, data: &[u8]) -> Reply {
        let cookie = self.send(flags, command, offset, length, data);
        self.reply(cookie, if command == 0 { length as usize } else { 0 })
    }

    /// Performs a step. Returns the bytes of a read.
    pub fn run_step(&mut self, step: &Step) -> Vec<u8> {
        let reply = match step {
            Step::Write(offset, data) => self.request(0, 1, *offset, data.len() as u32, data),
            Step::Read(offset, length) => self.request(0, 0, *offset, *length as u32, &[]),
            Step::Trim(offset, length) => self.request(0, 4, *offset, *length as u32, &[]),
            Step::Zero(offset, length, allocated) => {
                self.request(2 * u16::from(*allocated), 6, *offset, *length as u32, &[])
            }
            Step::Flush => self.request(0, 3, 0, 0, &[]),
        };
        assert_eq!(reply.error, 0, "{step:?}");
        match step {
            Step::Read(..) => reply.chunks.into_iter().next().map_or(Vec::new(), |chunk| chunk.1),
            _ => Vec::new(),
        }
    }

    pub fn disconnect(mut self) {
        self.send(0, 2, 0, 0, &[]);
        assert_eq!(self.stream.read(&mut [0]).unwrap(), 0);
    }

    /// True if the server has closed the connection.
    pub fn is_ended(&mut self) -> bool {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => true,
            Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
        }
    }
}
