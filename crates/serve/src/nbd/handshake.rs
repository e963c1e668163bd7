//! NBD handshake: negotiation of options and selection of an export.

use super::protocol::{
    ALLOCATION, ClientOption, FIXED_NEWSTYLE, GREETING, NO_ZEROES, OPTION_MAGIC, answer_option, export_flag,
    info, option, option_reply, parse_contexts, parse_go,
};
use std::io::{self, Read, Write};

/// Maximum length of an option in bytes; names have at most 4096 bytes.
const MAX_OPTION_BYTES: u32 = 1 << 16;
/// Maximum number of options; after that, the connection is closed.
const MAX_OPTIONS: u32 = 1000;
/// Error message for an unknown export name.
const UNKNOWN_EXPORT: &[u8] = b"there is no export of that name: the default has none, and others, placement/0 and so on, are there where the \
                         layer that is written to has the placement host_hint";
/// ID of the only metadata context.
pub const CONTEXT: u32 = 1;

/// Export that clients can select.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Name of the export; empty for the default export.
    pub name: String,
    /// Size of the export in bytes.
    pub bytes: u64,
    /// Preferred block size in bytes.
    pub page_bytes: u32,
    /// Maximum length in bytes of the data of a request.
    pub max_bytes: u32,
    /// Description for users.
    pub description: String,
}

/// Result of a negotiation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NegotiationResult {
    /// True if replies are structured.
    pub structured: bool,
    /// True if the client may query which ranges hold data.
    pub allocation: bool,
    /// Index of the selected export.
    pub export: usize,
}

impl Export {
    fn flags(&self, negotiated: NegotiationResult) -> u16 {
        let always = export_flag::HAS_FLAGS
            | export_flag::FLUSH
            | export_flag::FUA
            | export_flag::TRIM
            | export_flag::WRITE_ZEROES
            | export_flag::MULTI_CONN
            | export_flag::CACHE
            | export_flag::FAST_ZERO;
        if negotiated.structured { always | export_flag::DF } else { always }
    }
}

/// Encryption state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsMode {
    /// Plain text; TLS is not available.
    Off,
    /// Plain text; the client must start TLS before anything else.
    Required,
    /// Encrypted by TLS.
    Encrypted,
}

/// End of a sequence of options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionsOutcome {
    /// Negotiation is complete; requests follow.
    Complete(NegotiationResult),
    /// TLS follows, and then further options.
    Encrypted,
    /// The client disconnects without selecting an export.
    Disconnected,
}

/// Negotiation in progress.
struct Handshake<'a, S> {
    stream: &'a mut S,
    exports: &'a [Export],
    tls: TlsMode,
    no_zeroes: bool,
    negotiated: NegotiationResult,
    /// Export for which the client selected the metadata context.
    context_export: Option<usize>,
}

/// Flags in the client's response to the greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientFlags {
    no_zeroes: bool,
}

/// Greets a client and reads its flags.
///
/// # Errors
/// Fails if the client disconnects or violates the protocol.
pub fn greet(stream: &mut (impl Read + Write)) -> io::Result<ClientFlags> {
    stream.write_all(&GREETING)?;
    stream.write_all(&OPTION_MAGIC.to_be_bytes())?;
    stream.write_all(&(FIXED_NEWSTYLE | NO_ZEROES).to_be_bytes())?;
    stream.flush()?;
    let mut flags = [0; 4];
    stream.read_exact(&mut flags)?;
    let flags = u32::from_be_bytes(flags);
    if flags & !u32::from(FIXED_NEWSTYLE | NO_ZEROES) != 0 || flags & u32::from(FIXED_NEWSTYLE) == 0 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "unknown flags"));
    }
    Ok(ClientFlags { no_zeroes: flags & u32::from(NO_ZEROES) != 0 })
}

/// Negotiates options with a client that was greeted.
///
/// # Errors
/// Fails if the client disconnects or violates the protocol.
pub fn negotiate(
    stream: &mut (impl Read + Write),
    exports: &[Export],
    flags: ClientFlags,
    tls: TlsMode,
) -> io::Result<OptionsOutcome> {
    let ClientFlags { no_zeroes } = flags;
    let negotiated = NegotiationResult::default();
    let mut handshake = Handshake { stream, exports, tls, no_zeroes, negotiated, context_export: None };
    for _ in 0..MAX_OPTIONS {
        let option = ClientOption::read(handshake.stream, MAX_OPTION_BYTES)?;
        let outcome = handshake.handle(&option)?;
        handshake.stream.flush()?;
        if let Some(ended) = outcome {
            return Ok(ended);
        }
    }
    Err(io::Error::other("too many options"))
}

impl<'a, S: Read + Write> Handshake<'a, S> {
    fn handle(&mut self, request: &ClientOption) -> io::Result<Option<OptionsOutcome>> {
        let ClientOption { option, data } = request;
        let Some(data) = data else {
            if *option == option::EXPORT_NAME {
                // NBD_OPT_EXPORT_NAME has no error reply, so the connection is closed.
                return Ok(Some(OptionsOutcome::Disconnected));
            }
            return self.reply(*option, option_reply::ERR_TOO_BIG, b"the option is too long");
        };
        match *option {
            option::ABORT => {
                // The client need not wait for the reply, so an error is ignored.
                let _ = answer_option(self.stream, *option, option_reply::ACK, &[]);
                Ok(Some(OptionsOutcome::Disconnected))
            }
            option::STARTTLS if self.tls != TlsMode::Off => self.encrypt(data),
            option::EXPORT_NAME if self.tls == TlsMode::Required => Ok(Some(OptionsOutcome::Disconnected)),
            _ if self.tls == TlsMode::Required => {
                self.reply(*option, option_reply::ERR_TLS_REQD, b"this server talks by TLS alone")
            }
            option::EXPORT_NAME => self.export_name(data),
            option::LIST if data.is_empty() => {
                for export in self.exports {
                    let name = export.name.as_bytes();
                    let replies = [&(name.len() as u32).to_be_bytes(), name].concat();
                    answer_option(self.stream, *option, option_reply::SERVER, &replies)?;
                }
                self.reply(*option, option_reply::ACK, &[])
            }
            option::STRUCTURED_REPLY if data.is_empty() => {
                self.negotiated.structured = true;
                self.reply(*option, option_reply::ACK, &[])
            }
            option::INFO | option::GO => self.go(*option, data),
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => self.contexts(*option, data),
            option::LIST | option::STRUCTURED_REPLY => {
                self.reply(*option, option_reply::ERR_INVALID, b"the option has no data")
            }
            _ => self.reply(*option, option_reply::ERR_UNSUP, b"unknown here"),
        }
    }

    /// Finds an export by name.
    fn find(&self, name: &[u8]) -> Option<(usize, &'a Export)> {
        self.exports.iter().enumerate().find(|(_, export)| export.name.as_bytes() == name)
    }

    /// Selects an export. If the client selected the metadata context of another export, that context is dropped.
    fn select(&mut self, at: usize) {
        (self.negotiated.export, self.negotiated.allocation) = (at, self.context_export == Some(at));
    }

    fn reply(&mut self, option: u32, kind: u32, data: &[u8]) -> io::Result<Option<OptionsOutcome>> {
        answer_option(self.stream, option, kind, data).map(|()| None)
    }

    fn encrypt(&mut self, data: &[u8]) -> io::Result<Option<OptionsOutcome>> {
        let problem: Option<&[u8]> = match self.tls {
            _ if !data.is_empty() => Some(b"the option has no data"),
            TlsMode::Encrypted => Some(b"all is encrypted already"),
            _ => None,
        };
        match problem {
            Some(wrong) => self.reply(option::STARTTLS, option_reply::ERR_INVALID, wrong),
            None => {
                self.reply(option::STARTTLS, option_reply::ACK, &[])?;
                Ok(Some(OptionsOutcome::Encrypted))
            }
        }
    }

    fn export_name(&mut self, name: &[u8]) -> io::Result<Option<OptionsOutcome>> {
        let Some((at, export)) = self.find(name) else { return Ok(Some(OptionsOutcome::Disconnected)) };
        self.stream.write_all(&export.bytes.to_be_bytes())?;
        self.stream.write_all(&export.flags(self.negotiated).to_be_bytes())?;
        if !self.no_zeroes {
            self.stream.write_all(&[0; 124])?;
        }
        self.select(at);
        Ok(Some(OptionsOutcome::Complete(self.negotiated)))
    }

    fn go(&mut self, option: u32, data: &[u8]) -> io::Result<Option<OptionsOutcome>> {
        let Some((name, requested)) = parse_go(data) else {
            return self.reply(option, option_reply::ERR_INVALID, b"its lengths do not add up");
        };
        let Some((at, export)) = self.find(name) else {
            return self.reply(option, option_reply::ERR_UNKNOWN, UNKNOWN_EXPORT);
        };
        let mut replies = vec![info::EXPORT.to_be_bytes().to_vec()];
        replies[0].extend(export.bytes.to_be_bytes());
        replies[0].extend(export.flags(self.negotiated).to_be_bytes());
        let mut sizes = info::BLOCK_SIZE.to_be_bytes().to_vec();
        for size in [1, export.page_bytes, export.max_bytes] {
            sizes.extend(size.to_be_bytes());
        }
        replies.push(sizes);
        if requested.contains(&info::NAME) {
            replies.push([&info::NAME.to_be_bytes(), export.name.as_bytes()].concat());
        }
        if requested.contains(&info::DESCRIPTION) {
            let mut description = info::DESCRIPTION.to_be_bytes().to_vec();
            description.extend(export.description.as_bytes());
            replies.push(description);
        }
        for data in replies {
            answer_option(self.stream, option, option_reply::INFO, &data)?;
        }
        answer_option(self.stream, option, option_reply::ACK, &[])?;
        if option != option::GO {
            return Ok(None);
        }
        self.select(at);
        Ok(Some(OptionsOutcome::Complete(self.negotiated)))
    }

    fn contexts(&mut self, option: u32, data: &[u8]) -> io::Result<Option<OptionsOutcome>> {
        let sets = option == option::SET_META_CONTEXT;
        if sets {
            self.context_export = None;
        }
        let Some((name, queries)) = parse_contexts(data) else {
            return self.reply(option, option_reply::ERR_INVALID, b"its lengths do not add up");
        };
        if !self.negotiated.structured {
            return self.reply(option, option_reply::ERR_INVALID, b"needs structured replies");
        }
        let Some((at, _)) = self.find(name) else {
            return self.reply(option, option_reply::ERR_UNKNOWN, UNKNOWN_EXPORT);
        };
        let matches = |query: &&[u8]| *query == ALLOCATION.as_bytes() || (!sets && *query == b"base:");
        if queries.iter().any(matches) || (!sets && queries.is_empty()) {
            let number = if sets { CONTEXT } else { 0 };
            let context = [&number.to_be_bytes()[..], ALLOCATION.as_bytes()].concat();
            answer_option(self.stream, option, option_reply::META_CONTEXT, &context)?;
            self.context_export = sets.then_some(at).or(self.context_export);
        }
        self.reply(option, option_reply::ACK, &[])
    }
}
