//! Transports that the command line opens.

use crate::exit::Failure;
use crate::tell::tell;
use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command};
use std::sync::Arc;
use wearwell_serve::door::{Door, Kind, Place};
use wearwell_serve::{DOORS, SharedDevice};

/// Options of all kinds of transports; at least one is required.
pub struct DoorArgs(Vec<Wanted>);

/// A requested transport.
struct Wanted {
    /// Option as given on the command line.
    option: String,
    place: Arc<dyn Place>,
}

impl DoorArgs {
    /// Rejects addresses that other machines can reach, unless `allow_remote` is set.
    pub fn check(&self, allow_remote: bool) -> Result<(), Failure> {
        let Some(open) = self.0.iter().find(|wanted| !wanted.place.is_guarded() && !allow_remote) else {
            return Ok(());
        };
        let problem = "other machines reach this address, and anybody there could read and write the device; use a unix socket \
                       or 127.0.0.1, or ,tls=DIR with a ca-cert.pem in DIR, which clients need a certificate of, or say --allow-remote";
        Err(Failure::Usage(format!("{}: {problem}", open.option)))
    }

    /// Opens all requested transports, or none.
    pub fn open(&self, device: &SharedDevice) -> Result<Doors, Failure> {
        let open = |wanted: &Wanted| {
            let opened = wanted.place.open(device);
            opened.map_err(|error| Failure::Run(format!("{}: {error}", wanted.option)))
        };
        Ok(Doors(self.0.iter().map(open).collect::<Result<_, _>>()?))
    }
}

/// Open transports.
pub struct Doors(Vec<Box<dyn Door>>);

impl Doors {
    /// Returns the addresses for clients.
    pub fn addresses(&self) -> String {
        self.0.iter().map(|door| door.address()).collect::<Vec<_>>().join("  and  ")
    }

    /// True if no client can connect any more.
    pub fn are_closed(&self) -> bool {
        self.0.iter().all(|door| door.is_closed())
    }

    /// Closes the transports, and prints notes about what they leave behind.
    pub fn close(self) {
        for door in self.0 {
            if let Err(left) = door.close() {
                tell(left);
            }
        }
    }
}

/// Returns the parser for the value of an option.
fn parser(kind: &'static Kind) -> ValueParser {
    ValueParser::new(move |text: &str| -> Result<Arc<dyn Place>, String> { (kind.place)(text) })
}

impl clap::Args for DoorArgs {
    fn augment_args(command: Command) -> Command {
        let option = |kind: &'static Kind| {
            Arg::new(kind.name)
                .long(kind.name)
                .value_name(kind.value)
                .help(kind.help)
                .help_heading("Doors")
                .action(ArgAction::Append)
                .value_parser(parser(kind))
        };
        let names = DOORS.iter().map(|kind| kind.name);
        let group = ArgGroup::new("doors").args(names).required(true).multiple(true);
        command.args(DOORS.iter().map(option)).group(group)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for DoorArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut wanted = Vec::new();
        for kind in DOORS {
            let texts = matches.get_raw(kind.name).into_iter().flatten();
            let places = matches.get_many::<Arc<dyn Place>>(kind.name).into_iter().flatten();
            wanted.extend(texts.zip(places).map(|(text, place)| Wanted {
                option: format!("--{} {}", kind.name, text.to_string_lossy()),
                place: place.clone(),
            }));
        }
        Ok(DoorArgs(wanted))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
