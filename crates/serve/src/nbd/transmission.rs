//! Requests and replies, once both sides have agreed.

use super::handshake::{Agreed, CONTEXT, Export};
use super::protocol::{
    Fault, HOLE, REQUEST_BYTES, Request, SIMPLE_REPLY_MAGIC, STRUCTURED_REPLY_MAGIC, chunk, command, flag,
    pass_over,
};
use crate::device::Device;
use crate::error::DeviceError;
use crate::shared::SharedDevice;
use std::io::{self, BufReader, BufWriter, Read, Write};

/// Bytes of requests, and of replies, that are gathered.
const BUFFER_BYTES: usize = 256 << 10;
/// Stretches that one answer about what is there tells of.
const MOST_EXTENTS: usize = 1 << 16;

/// Serves a client until it leaves.
pub struct Transmission<'a, R, W: Write> {
    source: BufReader<R>,
    out: BufWriter<W>,
    device: &'a SharedDevice,
    export: &'a Export,
    agreed: Agreed,
    data: Vec<u8>,
}

impl<'a, R: Read, W: Write> Transmission<'a, R, W> {
    /// Of a client that comes by `source` and hears by `out`.
    pub fn new(source: R, out: W, device: &'a SharedDevice, export: &'a Export, agreed: Agreed) -> Self {
        let source = BufReader::with_capacity(BUFFER_BYTES, source);
        let out = BufWriter::with_capacity(BUFFER_BYTES, out);
        Transmission { source, out, device, export, agreed, data: Vec::new() }
    }

    /// Answers requests until the client says that it leaves.
    ///
    /// # Errors
    /// A client that leaves without a word, or does not speak the protocol.
    pub fn serve(&mut self) -> io::Result<()> {
        loop {
            // Replies are sent when nothing is left to be answered without waiting for the client.
            if !self.has_whole_request() {
                self.out.flush()?;
            }
            let mut bytes = [0; REQUEST_BYTES];
            self.source.read_exact(&mut bytes)?;
            let Some(request) = Request::parse(&bytes) else {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "no request"));
            };
            if request.command == command::DISC {
                return self.out.flush();
            }
            self.answer(&request)?;
        }
    }

    fn has_whole_request(&self) -> bool {
        let buffered = self.source.buffer();
        let Some(head) = buffered.first_chunk::<REQUEST_BYTES>() else { return false };
        Request::parse(head)
            .is_some_and(|request| buffered.len() - REQUEST_BYTES >= request.data_bytes() as usize)
    }

    fn answer(&mut self, request: &Request) -> io::Result<()> {
        if request.data_bytes() > self.export.most_bytes {
            pass_over(&mut self.source, request.data_bytes().into())?;
            return self.refuse(request, Fault::Invalid);
        }
        if request.command == command::WRITE {
            self.data.resize(request.length as usize, 0);
            self.source.read_exact(&mut self.data)?;
        }
        if let Err(fault) = self.check(request) {
            return self.refuse(request, fault);
        }
        match request.command {
            command::READ => self.read(request),
            command::BLOCK_STATUS => self.block_status(request),
            _ => match self.device.with(|device| self.change(device, request)) {
                Ok(()) => self.reply(request, chunk::NONE, &[], 0),
                Err(error) => self.refuse(request, fault(&error)),
            },
        }
    }

    /// What speaks against a request before the device is asked.
    fn check(&self, request: &Request) -> Result<(), Fault> {
        let allowed = match request.command {
            command::READ if self.agreed.structured => flag::DF | flag::FUA,
            command::WRITE_ZEROES => flag::FUA | flag::NO_HOLE | flag::FAST_ZERO,
            command::BLOCK_STATUS if self.agreed.allocation => flag::REQ_ONE | flag::FUA,
            command::READ | command::WRITE | command::FLUSH | command::TRIM | command::CACHE => flag::FUA,
            _ => return Err(Fault::Invalid),
        };
        if request.flags & !allowed != 0 {
            return Err(Fault::Invalid);
        }
        if request.command == command::FLUSH {
            return Ok(());
        }
        let end = request.offset.checked_add(request.length.into());
        if end.is_none_or(|end| end > self.export.bytes) {
            let takes_room = matches!(request.command, command::WRITE | command::WRITE_ZEROES);
            return Err(if takes_room { Fault::NoSpace } else { Fault::Invalid });
        }
        let is_long = request.command == command::READ && request.length > self.export.most_bytes;
        let tells_nothing = request.command == command::BLOCK_STATUS && request.length == 0;
        if is_long || tells_nothing { Err(Fault::Invalid) } else { Ok(()) }
    }

    /// Does what has no answer but whether it was done.
    fn change(&self, device: &mut Device, request: &Request) -> Result<(), DeviceError> {
        let &Request { offset, length, flags, .. } = request;
        match request.command {
            command::WRITE => device.write(offset, &self.data)?,
            command::TRIM => device.trim(offset, length.into())?,
            command::WRITE_ZEROES => {
                let allocated = flags & flag::NO_HOLE != 0;
                if allocated && flags & flag::FAST_ZERO != 0 {
                    // Pages that hold zeroes have to be written like any others.
                    return Err(io::Error::from(io::ErrorKind::Unsupported).into());
                }
                device.write_zeroes(offset, length.into(), allocated)?;
            }
            command::FLUSH => return device.flush(),
            // A hint, and the flash has no faster place.
            _ => return Ok(()),
        }
        if flags & flag::FUA != 0 { device.flush() } else { Ok(()) }
    }

    fn read(&mut self, request: &Request) -> io::Result<()> {
        self.data.resize(request.length as usize, 0);
        let done = self.device.with(|device| device.read(request.offset, &mut self.data));
        if let Err(error) = done {
            return self.refuse(request, fault(&error));
        }
        let data = std::mem::take(&mut self.data);
        let sent = if self.agreed.structured && !data.is_empty() {
            self.reply(request, chunk::OFFSET_DATA, &request.offset.to_be_bytes(), data.len())
        } else {
            self.reply(request, chunk::NONE, &[], 0)
        };
        let sent = sent.and_then(|()| self.out.write_all(&data));
        self.data = data;
        sent
    }

    fn block_status(&mut self, request: &Request) -> io::Result<()> {
        let most = if request.flags & flag::REQ_ONE != 0 { 1 } else { MOST_EXTENTS };
        let found = self.device.with(|device| device.extents(request.offset, request.length.into(), most));
        let extents = match found {
            Ok(extents) => extents,
            Err(error) => return self.refuse(request, fault(&error)),
        };
        let mut told = CONTEXT.to_be_bytes().to_vec();
        let mut at = request.offset;
        for (end, holds) in extents {
            told.extend(((end - at) as u32).to_be_bytes());
            told.extend(if holds { 0 } else { HOLE }.to_be_bytes());
            at = end;
        }
        self.reply(request, chunk::BLOCK_STATUS, &told, 0)
    }

    /// The head of a reply of one chunk, after which so many more bytes follow.
    fn reply(&mut self, request: &Request, kind: u16, data: &[u8], more: usize) -> io::Result<()> {
        if !self.agreed.structured {
            return self.simple(request, 0);
        }
        self.out.write_all(&STRUCTURED_REPLY_MAGIC.to_be_bytes())?;
        self.out.write_all(&chunk::DONE.to_be_bytes())?;
        self.out.write_all(&kind.to_be_bytes())?;
        self.out.write_all(&request.cookie.to_be_bytes())?;
        self.out.write_all(&((data.len() + more) as u32).to_be_bytes())?;
        self.out.write_all(data)
    }

    fn simple(&mut self, request: &Request, error: u32) -> io::Result<()> {
        self.out.write_all(&SIMPLE_REPLY_MAGIC.to_be_bytes())?;
        self.out.write_all(&error.to_be_bytes())?;
        self.out.write_all(&request.cookie.to_be_bytes())
    }

    fn refuse(&mut self, request: &Request, fault: Fault) -> io::Result<()> {
        if !self.agreed.structured {
            return self.simple(request, fault as u32);
        }
        let mut error = (fault as u32).to_be_bytes().to_vec();
        error.extend(0u16.to_be_bytes());
        self.reply(request, chunk::ERROR, &error, 0)
    }
}

fn fault(error: &DeviceError) -> Fault {
    match error {
        DeviceError::OutOfRange { .. } => Fault::Invalid,
        DeviceError::Content(problem) if problem.kind() == io::ErrorKind::Unsupported => Fault::Unsupported,
        error if error.is_full() => Fault::NoSpace,
        _ => Fault::Io,
    }
}
