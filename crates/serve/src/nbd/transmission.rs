//! NBD transmission phase: requests and replies.

use super::handshake::{CONTEXT, Export, NegotiationResult};
use super::protocol::{
    Fault, HOLE, REQUEST_BYTES, Request, SIMPLE_REPLY_MAGIC, STRUCTURED_REPLY_MAGIC, chunk, command, flag,
    skip,
};
use crate::device::Device;
use crate::error::DeviceError;
use crate::pacing::Speed;
use crate::shared::SharedDevice;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Size in bytes of the buffers for requests and for replies.
const BUFFER_BYTES: usize = 256 << 10;
/// Number of bytes in the first read of a write's data; later reads grow with the amount of data received.
const FIRST_READ_BYTES: usize = 128 << 10;
/// Maximum number of extents in a block-status reply.
const MAX_EXTENTS: usize = 1 << 16;

/// Maximum number of requests of a client that are served concurrently on a timed device.
const MAX_CONCURRENT: usize = 64;
/// Maximum length in bytes of a request that is served concurrently.
const MAX_CONCURRENT_BYTES: u32 = 1 << 20;

/// Connection of a client in the transmission phase.
pub struct Transmission<'a, R, W: Write> {
    source: BufReader<R>,
    out: Mutex<BufWriter<W>>,
    device: &'a SharedDevice,
    export: &'a Export,
    negotiated: NegotiationResult,
}

/// Message received from a client.
enum Incoming {
    /// Request with its data.
    Request(Request),
    /// Request with too much data; the data was skipped.
    TooLong(Request),
    /// Disconnect request.
    Disconnect,
}

impl<'a, R: Read, W: Write + Send> Transmission<'a, R, W> {
    /// Creates the state for a client that sends to `source` and receives from `out`.
    pub fn new(
        source: R,
        out: W,
        device: &'a SharedDevice,
        export: &'a Export,
        negotiated: NegotiationResult,
    ) -> Self {
        let source = BufReader::with_capacity(BUFFER_BYTES, source);
        let out = Mutex::new(BufWriter::with_capacity(BUFFER_BYTES, out));
        Transmission { source, out, device, export, negotiated }
    }

    /// Serves requests until the client disconnects.
    ///
    /// # Errors
    /// Fails if the client disconnects without a disconnect request, or violates the protocol.
    pub fn serve(&mut self) -> io::Result<()> {
        match self.device.with(|device| Ok(device.speed())) {
            Ok(Speed::Timed) => self.serve_concurrently(),
            _ => self.serve_sequentially(),
        }
    }

    /// Serves requests one after the other: the device serves one request at a time, and is faster than a switch
    /// between threads.
    fn serve_sequentially(&mut self) -> io::Result<()> {
        let mut responder = Responder::new(self.device, self.export, self.negotiated, &self.out);
        loop {
            // Replies are flushed before the thread blocks on the next request.
            if !has_whole_request(&self.source) {
                responder.out().flush()?;
            }
            match next(&mut self.source, self.export, &mut responder.data)? {
                Incoming::Request(request) => responder.handle(&request)?,
                Incoming::TooLong(request) => responder.refuse(&request, Fault::Invalid)?,
                Incoming::Disconnect => return responder.out().flush(),
            }
        }
    }

    /// Serves requests concurrently, because each waits for its simulated completion. Replies are sent in the order
    /// of completion.
    fn serve_concurrently(&mut self) -> io::Result<()> {
        let (source, device, export, negotiated, out) =
            (&mut self.source, self.device, self.export, self.negotiated, &self.out);
        let (sender, receiver) = sync_channel::<(Request, Vec<u8>)>(0);
        let receiver = Mutex::new(receiver);
        let work = || {
            let mut responder = Responder::new(device, export, negotiated, out);
            loop {
                let received = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok((request, data)) = received else { return };
                responder.data = data;
                // The client disconnected; the reading thread will see that too.
                if responder.handle(&request).and_then(|()| responder.out().flush()).is_err() {
                    return;
                }
            }
        };
        std::thread::scope(|scope| {
            // The workers end when this sender is dropped.
            let sender = sender;
            for _ in 0..MAX_CONCURRENT {
                std::thread::Builder::new().name("nbd request".into()).spawn_scoped(scope, work)?;
            }
            let mut responder = Responder::new(device, export, negotiated, out);
            loop {
                let mut data = Vec::new();
                match next(source, export, &mut data)? {
                    Incoming::Request(request) if request.length <= MAX_CONCURRENT_BYTES => {
                        let broken_pipe = |_| io::Error::from(io::ErrorKind::BrokenPipe);
                        sender.send((request, data)).map_err(broken_pipe)?;
                        continue;
                    }
                    Incoming::Request(request) => {
                        responder.data = data;
                        responder.handle(&request)?;
                    }
                    Incoming::TooLong(request) => responder.refuse(&request, Fault::Invalid)?,
                    Incoming::Disconnect => return responder.out().flush(),
                }
                responder.out().flush()?;
            }
        })
    }
}

fn has_whole_request<R: Read>(source: &BufReader<R>) -> bool {
    let buffered = source.buffer();
    let Some(head) = buffered.first_chunk::<REQUEST_BYTES>() else { return false };
    Request::parse(head)
        .is_some_and(|request| buffered.len() - REQUEST_BYTES >= request.data_bytes() as usize)
}

/// Waits for the next message. The data of a write is read into `data`.
fn next(source: &mut impl Read, export: &Export, data: &mut Vec<u8>) -> io::Result<Incoming> {
    let mut bytes = [0; REQUEST_BYTES];
    source.read_exact(&mut bytes)?;
    let Some(request) = Request::parse(&bytes) else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no request"));
    };
    if request.command == command::DISC {
        return Ok(Incoming::Disconnect);
    }
    if request.data_bytes() > export.max_bytes {
        skip(source, request.data_bytes().into())?;
        return Ok(Incoming::TooLong(request));
    }
    if request.command == command::WRITE {
        read_announced(source, data, request.length as usize)?;
    }
    Ok(Incoming::Request(request))
}

/// Reads `bytes` bytes into `data`, which grows as data arrives. So a client that announces much data without sending
/// it takes no memory.
fn read_announced(source: &mut impl Read, data: &mut Vec<u8>, bytes: usize) -> io::Result<()> {
    data.truncate(bytes);
    let mut received = 0;
    while received < bytes {
        let end = bytes.min(received + received.max(FIRST_READ_BYTES));
        if data.len() < end {
            data.resize(end, 0);
        }
        source.read_exact(&mut data[received..end])?;
        received = end;
    }
    Ok(())
}

/// Replies to requests, one at a time.
struct Responder<'a, W: Write> {
    device: &'a SharedDevice,
    export: &'a Export,
    negotiated: NegotiationResult,
    out: &'a Mutex<BufWriter<W>>,
    data: Vec<u8>,
}

impl<'a, W: Write> Responder<'a, W> {
    fn new(
        device: &'a SharedDevice,
        export: &'a Export,
        negotiated: NegotiationResult,
        out: &'a Mutex<BufWriter<W>>,
    ) -> Self {
        Responder { device, export, negotiated, out, data: Vec::new() }
    }

    fn out(&self) -> MutexGuard<'a, BufWriter<W>> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handle(&mut self, request: &Request) -> io::Result<()> {
        if let Err(fault) = self.check(request) {
            return self.refuse(request, fault);
        }
        match request.command {
            command::READ => self.read(request),
            command::BLOCK_STATUS => self.block_status(request),
            _ => match self.device.with(|device| self.perform(device, request)) {
                Ok(()) => self.reply(request, chunk::NONE, &[], &[]),
                Err(error) => self.refuse(request, fault(&error)),
            },
        }
    }

    /// Checks a request before the device is used.
    fn check(&self, request: &Request) -> Result<(), Fault> {
        let allowed = match request.command {
            command::READ if self.negotiated.structured => flag::DF | flag::FUA,
            command::WRITE_ZEROES => flag::FUA | flag::NO_HOLE | flag::FAST_ZERO,
            command::BLOCK_STATUS if self.negotiated.allocation => flag::REQ_ONE | flag::FUA,
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
        let is_long = request.command == command::READ && request.length > self.export.max_bytes;
        let tells_nothing = request.command == command::BLOCK_STATUS && request.length == 0;
        if is_long || tells_nothing { Err(Fault::Invalid) } else { Ok(()) }
    }

    /// Performs a request whose reply has no data.
    fn perform(&self, device: &mut Device, request: &Request) -> Result<(), DeviceError> {
        let &Request { offset, length, flags, .. } = request;
        match request.command {
            command::WRITE => device.write(offset, &self.data)?,
            command::TRIM => device.trim(offset, length.into())?,
            command::WRITE_ZEROES => {
                let allocated = flags & flag::NO_HOLE != 0;
                if allocated && flags & flag::FAST_ZERO != 0 {
                    // Zeroes that must be allocated take as long as any other write, so a fast write of zeroes is
                    // refused.
                    return Err(io::Error::from(io::ErrorKind::Unsupported).into());
                }
                device.write_zeroes(offset, length.into(), allocated)?;
            }
            command::FLUSH => return device.flush(),
            // The cache request is a hint, and the flash has no faster tier.
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
        if self.negotiated.structured && !self.data.is_empty() {
            self.reply(request, chunk::OFFSET_DATA, &request.offset.to_be_bytes(), &self.data)
        } else {
            self.reply(request, chunk::NONE, &[], &self.data)
        }
    }

    fn block_status(&mut self, request: &Request) -> io::Result<()> {
        let most = if request.flags & flag::REQ_ONE != 0 { 1 } else { MAX_EXTENTS };
        let found = self.device.with(|device| device.extents(request.offset, request.length.into(), most));
        let extents = match found {
            Ok(extents) => extents,
            Err(error) => return self.refuse(request, fault(&error)),
        };
        let mut reply = CONTEXT.to_be_bytes().to_vec();
        let mut at = request.offset;
        for (end, holds) in extents {
            reply.extend(((end - at) as u32).to_be_bytes());
            reply.extend(if holds { 0 } else { HOLE }.to_be_bytes());
            at = end;
        }
        self.reply(request, chunk::BLOCK_STATUS, &reply, &[])
    }

    /// Sends a reply that consists of one chunk with `data` and `more`, or a simple reply with `more` only.
    fn reply(&self, request: &Request, kind: u16, data: &[u8], more: &[u8]) -> io::Result<()> {
        if !self.negotiated.structured {
            return self.simple(request, 0, more);
        }
        let mut out = self.out();
        out.write_all(&STRUCTURED_REPLY_MAGIC.to_be_bytes())?;
        out.write_all(&chunk::DONE.to_be_bytes())?;
        out.write_all(&kind.to_be_bytes())?;
        out.write_all(&request.cookie.to_be_bytes())?;
        out.write_all(&((data.len() + more.len()) as u32).to_be_bytes())?;
        out.write_all(data)?;
        out.write_all(more)
    }

    fn simple(&self, request: &Request, error: u32, data: &[u8]) -> io::Result<()> {
        let mut out = self.out();
        out.write_all(&SIMPLE_REPLY_MAGIC.to_be_bytes())?;
        out.write_all(&error.to_be_bytes())?;
        out.write_all(&request.cookie.to_be_bytes())?;
        out.write_all(data)
    }

    fn refuse(&self, request: &Request, fault: Fault) -> io::Result<()> {
        if !self.negotiated.structured {
            return self.simple(request, fault as u32, &[]);
        }
        let mut error = (fault as u32).to_be_bytes().to_vec();
        error.extend(0u16.to_be_bytes());
        self.reply(request, chunk::ERROR, &error, &[])
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
