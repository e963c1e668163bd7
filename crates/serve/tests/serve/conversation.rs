//! NBD conversations with a hostile client, derived from arbitrary bytes, and checks of invariants. Also used for
//! fuzzing.

use std::io::{self, Read, Write};
use wearwell_serve::nbd::protocol::{OPTION_MAGIC, REQUEST_MAGIC, STRUCTURED_REPLY_MAGIC, command, option};
use wearwell_serve::nbd::{
    Export, MAX_REQUEST_BYTES, NegotiationResult, OptionsOutcome, TlsMode, Transmission, greet, negotiate,
};
use wearwell_serve::{Device, SharedDevice};

/// Maximum number of options, and of requests, that are derived from the bytes of one client.
const MAX_STEPS: usize = 32;
/// Maximum number of bytes of data that are actually sent with a request.
const MAX_DATA_BYTES: u64 = 20_000;
/// Maximum size in bytes of a buffer for data that has not arrived.
const MAX_AHEAD_BYTES: usize = 512 << 10;

/// Client that sends fixed bytes. It checks the size of the buffer that the server allocates for announced data.
struct ScriptedClient<'a> {
    remaining: &'a [u8],
    taken_bytes: usize,
}

impl Read for ScriptedClient<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (ready, taken) = (buffer.len(), self.taken_bytes);
        assert!(ready <= MAX_AHEAD_BYTES.max(2 * taken), "{ready} bytes for a client that sent {taken}");
        let read = self.remaining.read(buffer)?;
        self.taken_bytes += read;
        Ok(read)
    }
}

impl Write for ScriptedClient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Receiver which checks that structured replies are complete.
#[derive(Default)]
struct ReplyChecker {
    structured: bool,
    head: Vec<u8>,
    body_bytes: usize,
}

impl Write for ReplyChecker {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut left = if self.structured { bytes } else { &[] };
        while !left.is_empty() {
            let wanted = if self.body_bytes > 0 { self.body_bytes } else { 20 - self.head.len() };
            let (now, rest) = left.split_at(wanted.min(left.len()));
            left = rest;
            if self.body_bytes > 0 {
                self.body_bytes -= now.len();
                continue;
            }
            self.head.extend(now);
            if let &[a, b, c, d, 0, 1, .., e, f, g, h] = &self.head[..]
                && self.head.len() == 20
            {
                assert_eq!(u32::from_be_bytes([a, b, c, d]), STRUCTURED_REPLY_MAGIC);
                self.body_bytes = u32::from_be_bytes([e, f, g, h]) as usize;
                self.head.clear();
            }
            assert!(self.head.len() < 20, "no reply begins with {:?}", self.head);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs the conversation with a client whose output is derived from `bytes`: either these bytes themselves, or
/// options and requests with arbitrary fields. The conversation begins with the handshake or with a negotiated state.
/// TLS is replaced by plain text.
pub fn run_conversation(device: Device, bytes: &[u8]) {
    let export = |name: &str| Export {
        name: name.into(),
        bytes: device.bytes(),
        page_bytes: device.page_bytes(),
        max_bytes: MAX_REQUEST_BYTES,
        description: "a drive".into(),
    };
    let exports = [export(""), export("other")];
    let (&how, rest) = bytes.split_first().unwrap_or((&0, &[]));
    let (is_raw, negotiated) = (how & 1 == 0, how >> 1 & 3);
    let mut numbers = Numbers { remaining: rest, device_bytes: device.bytes() };
    let sent = match negotiated {
        _ if is_raw => rest.to_vec(),
        0 => [options(&mut numbers), requests(&mut numbers)].concat(),
        _ => requests(&mut numbers),
    };
    let device = SharedDevice::new(device);
    let mut client = ScriptedClient { remaining: &sent, taken_bytes: 0 };
    let negotiated = match negotiated {
        0 if how & 8 == 0 => handshake(&mut client, &exports, TlsMode::Off),
        0 => handshake(&mut client, &exports, TlsMode::Required),
        kind => Some(NegotiationResult { structured: kind > 1, allocation: kind > 2, export: 0 }),
    };
    if let Some(negotiated) = negotiated {
        let mut checker = ReplyChecker { structured: negotiated.structured, ..ReplyChecker::default() };
        // The conversation ends because the client closes the connection unexpectedly.
        let _ =
            Transmission::new(client, &mut checker, &device, &exports[negotiated.export], negotiated).serve();
        assert_eq!((checker.body_bytes, checker.head.len()), (0, 0), "a reply that is not whole");
    }
    let mut device = device.take().expect("nobody took it");
    device.check().unwrap();
    device.flush().unwrap();
}

/// Runs the handshake. Returns the result if the handshake succeeds.
fn handshake(
    client: &mut ScriptedClient<'_>,
    exports: &[Export],
    mut tls: TlsMode,
) -> Option<NegotiationResult> {
    let flags = greet(client).ok()?;
    loop {
        match negotiate(client, exports, flags, tls).ok()? {
            OptionsOutcome::Complete(negotiated) => {
                assert_ne!(tls, TlsMode::Required, "nothing is agreed in the clear");
                return Some(negotiated);
            }
            OptionsOutcome::Disconnected => return None,
            OptionsOutcome::Encrypted => {
                assert_eq!(tls, TlsMode::Required, "nobody offers that");
                tls = TlsMode::Encrypted;
            }
        }
    }
}

/// Generator that derives numbers from bytes.
struct Numbers<'a> {
    remaining: &'a [u8],
    /// Size of the device in bytes.
    device_bytes: u64,
}

impl Numbers<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, left) = self.remaining.split_first()?;
        self.remaining = left;
        Some(byte)
    }

    /// Returns a number that is often close to a limit.
    fn number(&mut self) -> Option<u64> {
        let (kind, low) = (self.byte()?, u64::from(self.byte()?));
        Some(match kind % 8 {
            0 => low,
            1 => low * 4096,
            2 => u64::from(kind) << 8 | low,
            3 => (self.device_bytes + 128).wrapping_sub(low),
            4 => self.device_bytes.wrapping_sub(low * 4096),
            5 => u64::from(u32::MAX) - low,
            6 => u64::MAX - low,
            _ => u64::from(MAX_REQUEST_BYTES) + 128 - low,
        })
    }

    /// Returns at most the next `count` bytes.
    fn up_to(&mut self, count: usize) -> &[u8] {
        let (now, left) = self.remaining.split_at(count.min(self.remaining.len()));
        self.remaining = left;
        now
    }
}

/// Generates the options of a client that negotiates and then selects an export.
fn options(numbers: &mut Numbers<'_>) -> Vec<u8> {
    let mut sent = Vec::new();
    let count = numbers.byte().unwrap_or(0) as usize % MAX_STEPS;
    // The flags are usually common flags, and seldom rare or undefined flags.
    let flags = count as u32 & 3 | 1;
    sent.extend(flags.to_be_bytes());
    for _ in 0..count {
        let Some(kind) = numbers.byte() else { break };
        let (number, shape) = match (u32::from(kind & 15), kind >> 4) {
            // One of the unknown options is replaced by STARTTLS, the first option where TLS is required.
            (15, _) => (option::STARTTLS, 0),
            known => known,
        };
        let context = b"\0\0\0\x01\0\0\0\x0fbase:allocation";
        let name: &[u8] = if shape & 4 == 0 { b"" } else { b"other" };
        let named = [&(name.len() as u32).to_be_bytes(), name].concat();
        let data = match shape % 4 {
            0 => Vec::new(),
            1 => numbers.up_to(usize::from(shape) * 3).to_vec(),
            _ if matches!(number, option::LIST_META_CONTEXT | option::SET_META_CONTEXT) => {
                [&named, &context[..]].concat()
            }
            2 => [&named, &[0, 1, 0, kind & 3][..]].concat(),
            _ => [&named, &[0, 0][..]].concat(),
        };
        // The announced length may differ from the length of the data.
        let claimed = if shape > 13 { numbers.number() } else { None };
        sent.extend(OPTION_MAGIC.to_be_bytes());
        sent.extend(number.to_be_bytes());
        sent.extend((claimed.unwrap_or(data.len() as u64) as u32).to_be_bytes());
        sent.extend(data);
    }
    sent.extend(OPTION_MAGIC.to_be_bytes());
    sent.extend([option::GO, 6, 0].map(u32::to_be_bytes).concat());
    sent.extend([0, 0]);
    sent
}

/// Generates arbitrary requests.
fn requests(numbers: &mut Numbers<'_>) -> Vec<u8> {
    let mut sent = Vec::new();
    for cookie in 0..MAX_STEPS as u64 {
        let [Some(kind), Some(flags), Some(offset), Some(length)] = [
            numbers.byte().map(u64::from),
            numbers.byte().map(u64::from),
            numbers.number(),
            numbers.number(),
        ] else {
            break;
        };
        let number = (kind & 15) as u16;
        sent.extend(REQUEST_MAGIC.to_be_bytes());
        // Half of the requests have no flags, so that many are valid.
        sent.extend((if flags < 128 { 0 } else { flags as u16 & 63 }).to_be_bytes());
        sent.extend(number.to_be_bytes());
        sent.extend(cookie.to_be_bytes());
        sent.extend(offset.to_be_bytes());
        let is_write = number == command::WRITE;
        // A write is either sent with all of its data, or announces any length.
        let length = if is_write && kind < 192 { length % MAX_DATA_BYTES } else { length };
        sent.extend((length as u32).to_be_bytes());
        if is_write {
            sent.resize(sent.len() + length.min(MAX_DATA_BYTES) as usize, kind as u8);
        }
    }
    sent
}
