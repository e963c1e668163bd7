//! Simple NBD client with one request at a time, for programs that use a device over NBD.

use super::protocol::{
    FIXED_NEWSTYLE, GREETING, NO_ZEROES, OPTION_MAGIC, OPTION_REPLY_MAGIC, REQUEST_MAGIC, SIMPLE_REPLY_MAGIC,
    command, info, option, option_reply, take,
};
use crate::sockets::Stream;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Maximum length of an option reply in bytes.
const MAX_ANSWER_BYTES: u32 = 1 << 16;

/// Connection to a device.
pub struct Client {
    stream: Stream,
    cookie: u64,
    bytes: u64,
    request_buffer: Vec<u8>,
}

fn protocol_error(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the server's {problem} is not that of NBD"))
}

impl Client {
    /// Connects to the default export at a Unix-domain socket.
    ///
    /// # Errors
    /// Fails if no server listens at the socket, or the server does not speak NBD.
    pub fn connect(path: &Path) -> io::Result<Self> {
        let stream = Stream::from(UnixStream::connect(path)?);
        let mut client = Client { stream, cookie: 0, bytes: 0, request_buffer: Vec::new() };
        client.negotiate()?;
        Ok(client)
    }

    fn negotiate(&mut self) -> io::Result<()> {
        let mut greeting = [0; 18];
        self.stream.read_exact(&mut greeting)?;
        let is_greeting = greeting[..8] == GREETING && greeting[8..16] == OPTION_MAGIC.to_be_bytes();
        let flags = u16::from_be_bytes([greeting[16], greeting[17]]);
        if !is_greeting || flags & FIXED_NEWSTYLE == 0 {
            return Err(protocol_error("greeting"));
        }
        let mut words = u32::from(flags & (FIXED_NEWSTYLE | NO_ZEROES)).to_be_bytes().to_vec();
        words.extend(OPTION_MAGIC.to_be_bytes());
        // The option selects the default export, without requests for further information.
        for number in [option::GO, 6, 0] {
            words.extend(number.to_be_bytes());
        }
        words.extend([0; 2]);
        self.stream.write_all(&words)?;
        while let Some(message) = self.next_message()? {
            if message.starts_with(&info::EXPORT.to_be_bytes()) {
                let mut size = message.get(2..).unwrap_or(&[]);
                self.bytes =
                    take(&mut size).map(u64::from_be_bytes).ok_or_else(|| protocol_error("answer"))?;
            }
        }
        Ok(())
    }

    /// Returns the next information about the export, or `None` when the negotiation is complete.
    fn next_message(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut head = [0; 20];
        self.stream.read_exact(&mut head)?;
        let mut head = &head[..];
        let magic = take(&mut head).map(u64::from_be_bytes);
        let [option_type, kind, length] = [(); 3].map(|()| take(&mut head).map_or(0, u32::from_be_bytes));
        if magic != Some(OPTION_REPLY_MAGIC) || option_type != option::GO || length > MAX_ANSWER_BYTES {
            return Err(protocol_error("answer"));
        }
        let mut data = vec![0; length as usize];
        self.stream.read_exact(&mut data)?;
        match kind {
            option_reply::INFO => Ok(Some(data)),
            option_reply::ACK => Ok(None),
            _ => Err(io::Error::other(String::from_utf8_lossy(&data).into_owned())),
        }
    }

    /// Returns the size of the device in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads the bytes from `offset` on into `out`.
    ///
    /// # Errors
    /// Fails if the range ends beyond the device, or the device fails.
    pub fn read(&mut self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.request(command::READ, offset, out.len() as u32, &[])?;
        self.stream.read_exact(out)
    }

    /// Writes `data` at `offset`.
    ///
    /// # Errors
    /// The errors of [`Client::read`]; also fails if there is no free space.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.request(command::WRITE, offset, data.len() as u32, data)
    }

    /// Trims a range.
    ///
    /// # Errors
    /// The errors of [`Client::read`].
    pub fn trim(&mut self, offset: u64, length: u32) -> io::Result<()> {
        self.request(command::TRIM, offset, length, &[])
    }

    /// Makes all completed writes durable.
    ///
    /// # Errors
    /// Fails if the device fails.
    pub fn flush(&mut self) -> io::Result<()> {
        self.request(command::FLUSH, 0, 0, &[])
    }

    fn request(&mut self, command: u16, offset: u64, length: u32, data: &[u8]) -> io::Result<()> {
        self.cookie += 1;
        self.request_buffer.clear();
        self.request_buffer.extend(REQUEST_MAGIC.to_be_bytes());
        self.request_buffer.extend([0; 2]);
        self.request_buffer.extend(command.to_be_bytes());
        self.request_buffer.extend(self.cookie.to_be_bytes());
        self.request_buffer.extend(offset.to_be_bytes());
        self.request_buffer.extend(length.to_be_bytes());
        self.request_buffer.extend(data);
        self.stream.write_all(&self.request_buffer)?;
        let mut reply = [0; 16];
        self.stream.read_exact(&mut reply)?;
        let mut reply = &reply[..];
        let [magic, error] = [(); 2].map(|()| take(&mut reply).map_or(0, u32::from_be_bytes));
        if magic != SIMPLE_REPLY_MAGIC || take(&mut reply).map(u64::from_be_bytes) != Some(self.cookie) {
            return Err(protocol_error("reply"));
        }
        // NBD error codes are Linux errnos.
        if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error as i32)) }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let mut last = REQUEST_MAGIC.to_be_bytes().to_vec();
        last.extend([0; 2]);
        last.extend(command::DISC.to_be_bytes());
        last.extend([0; 20]);
        // The server may have closed the connection already.
        let _ = self.stream.write_all(&last);
    }
}
