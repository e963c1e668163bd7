//! Transports that the command line opens.

use crate::exit::Failure;
use crate::messages::print_message;
use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command};
use std::sync::Arc;
use wearwell_serve::transport::{Endpoint, Transport, TransportKind};
use wearwell_serve::{SharedDevice, TRANSPORTS};

/// Options of all kinds of transports; at least one is required.
pub struct TransportArgs(Vec<RequestedTransport>);

/// A requested transport.
struct RequestedTransport {
    /// Option as given on the command line.
    option: String,
    endpoint: Arc<dyn Endpoint>,
}

impl TransportArgs {
    /// Rejects addresses that other machines can reach, unless `allow_remote` is set.
    pub fn check(&self, allow_remote: bool) -> Result<(), Failure> {
        let Some(unguarded) =
            self.0.iter().find(|requested| !requested.endpoint.is_guarded() && !allow_remote)
        else {
            return Ok(());
        };
        let problem = "other machines reach this address, and anybody there could read and write the device; use a unix socket \
                       or 127.0.0.1, or ,tls=DIR with a ca-cert.pem in DIR, which clients need a certificate of, or say --allow-remote";
        Err(Failure::Usage(format!("{}: {problem}", unguarded.option)))
    }

    /// Opens all requested transports, or none.
    pub fn open(&self, device: &SharedDevice) -> Result<Transports, Failure> {
        let open = |requested: &RequestedTransport| {
            let opened = requested.endpoint.open(device);
            opened.map_err(|error| Failure::Run(format!("{}: {error}", requested.option)))
        };
        Ok(Transports(self.0.iter().map(open).collect::<Result<_, _>>()?))
    }
}

/// Open transports.
pub struct Transports(Vec<Box<dyn Transport>>);

impl Transports {
    /// Returns the addresses for clients.
    pub fn addresses(&self) -> String {
        self.0.iter().map(|transport| transport.address()).collect::<Vec<_>>().join("  and  ")
    }

    /// True if the transports accept no more clients.
    pub fn are_closed(&self) -> bool {
        self.0.iter().all(|transport| transport.is_closed())
    }

    /// Closes the transports, and prints notes about what they leave behind.
    pub fn close(self) {
        for transport in self.0 {
            if let Err(note) = transport.close() {
                print_message(note);
            }
        }
    }
}

/// Returns the parser for the value of an option.
fn parser(kind: &'static TransportKind) -> ValueParser {
    ValueParser::new(move |text: &str| -> Result<Arc<dyn Endpoint>, String> { (kind.parse)(text) })
}

impl clap::Args for TransportArgs {
    fn augment_args(command: Command) -> Command {
        let option = |kind: &'static TransportKind| {
            Arg::new(kind.name)
                .long(kind.name)
                .value_name(kind.value)
                .help(kind.help)
                .help_heading("Transports")
                .action(ArgAction::Append)
                .value_parser(parser(kind))
        };
        let names = TRANSPORTS.iter().map(|kind| kind.name);
        let group = ArgGroup::new("transports").args(names).required(true).multiple(true);
        command.args(TRANSPORTS.iter().map(option)).group(group)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for TransportArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut requested = Vec::new();
        for kind in TRANSPORTS {
            let texts = matches.get_raw(kind.name).into_iter().flatten();
            let endpoints = matches.get_many::<Arc<dyn Endpoint>>(kind.name).into_iter().flatten();
            requested.extend(texts.zip(endpoints).map(|(text, endpoint)| RequestedTransport {
                option: format!("--{} {}", kind.name, text.to_string_lossy()),
                endpoint: endpoint.clone(),
            }));
        }
        Ok(TransportArgs(requested))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
