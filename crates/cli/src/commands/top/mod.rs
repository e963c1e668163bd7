//! `wearwell top`.

#[cfg(all(target_os = "linux", feature = "nvmfs"))]
mod mounted;

use crate::exit::Failure;
use crate::interrupt::{interrupted, wait_for_cleanup};
use crate::output::print;
use serde_json::Value;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::time::{Duration, Instant};
use wearwell_serve::Reading;
use wearwell_serve::sockets::Address;
use wearwell_watch::Client;
use wearwell_watch::top::{View, screen_as_text, show};

/// Shows the activity of a live drive, or a mounted NVMFS, in the terminal
///
/// Write amplification by layer and by cause, in total and recent; free blocks, erases and wear; requests and their
/// latency. It only reads the status: the drive or file system is not affected.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Address of `wearwell serve --control` (unix:PATH, tcp:127.0.0.1:PORT), or the directory of a mounted NVMFS
    #[arg(value_name = "ADDRESS|DIR")]
    what: String,
    /// Seconds between two readings, 0.25 to 60
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    interval: Duration,
    /// Print one screen from two readings, as text of 80 columns, and end
    #[arg(long)]
    once: bool,
    /// Print readings as JSON, one per line, until Ctrl-C; with `--once`, a single reading
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Examples:
  wearwell top tcp:127.0.0.1:9090
  wearwell top unix:control.sock --once
  wearwell top unix:control.sock --once --json | jq .write_amplification
  wearwell top /mnt                               a mounted NVMFS

Keys: q ends it, p stands still, s sorts by stack, pages or what was written lately, + and - read it more and less often.";

/// Interval between checks whether to end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Columns and lines of the output of `--once`.
const SIZE: (u16, u16) = (80, 24);

/// Source of the readings.
enum Source {
    Drive(Client),
    #[cfg(all(target_os = "linux", feature = "nvmfs"))]
    Mounted(std::path::PathBuf),
}

impl Source {
    fn of(what: &str) -> Result<Self, Failure> {
        if let Ok(address) = what.parse::<Address>() {
            return Client::new(address).map(Source::Drive).map_err(Failure::run);
        }
        #[cfg(all(target_os = "linux", feature = "nvmfs"))]
        if Path::new(what).is_dir() {
            return Ok(Source::Mounted(what.into()));
        }
        let kind = if Path::new(what).exists() { "is no directory" } else { "is not there" };
        let usage = "give unix:PATH or tcp:127.0.0.1:PORT, where `wearwell serve --control` listens, or the directory of a mounted NVMFS";
        Err(Failure::Usage(format!("{what}: {kind}; {usage}")))
    }

    fn value(&self) -> Result<Value, String> {
        match self {
            Source::Drive(client) => {
                let answer = client.get("/status.json").map_err(|error| error.to_string())?;
                serde_json::from_slice(&answer).map_err(|error| error.to_string())
            }
            #[cfg(all(target_os = "linux", feature = "nvmfs"))]
            Source::Mounted(directory) => mounted::value(directory),
        }
    }

    fn view(&self) -> Result<View, String> {
        match self {
            Source::Drive(_) => Ok(View::from_reading(&Reading::from_json(self.value()?)?)),
            #[cfg(all(target_os = "linux", feature = "nvmfs"))]
            Source::Mounted(directory) => mounted::view(directory),
        }
    }
}

/// Parses the time between two readings.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.25..=60.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "seconds from 0.25 to 60".into())
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let source = Source::of(&args.what)?;
    if args.json {
        return json(&source, args);
    }
    // Errors of the source are reported before the terminal is changed.
    source.view().map_err(Failure::Run)?;
    let read = Box::new(move || source.view());
    if args.once {
        let text = screen_as_text(read, args.interval, SIZE.0, SIZE.1).map_err(Failure::Run)?;
        return print(&text);
    }
    if !io::stdout().is_terminal() {
        return Err(Failure::usage("what it prints to is no terminal; give --once or --json"));
    }
    wait_for_cleanup();
    show(read, args.interval, || !interrupted())
        .map_err(|error| Failure::run(format!("the terminal: {error}")))
}

/// Prints one reading per line, until the user ends it.
fn json(source: &Source, args: &Args) -> Result<(), Failure> {
    wait_for_cleanup();
    loop {
        let began = Instant::now();
        let value = source.value().map_err(Failure::Run)?;
        print(&format!("{value}\n"))?;
        if args.once {
            return Ok(());
        }
        while began.elapsed() < args.interval {
            if interrupted() {
                return Ok(());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}
