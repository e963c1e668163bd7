//! The arguments that all experiments take.

use crate::Failure;
use lexopt::prelude::*;
use std::path::PathBuf;

/// Arguments of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Args {
    /// Runs of each setting, with the seeds 1, 2, …
    pub runs: u64,
    /// Length of the runs as a multiple of the experiment's own rule.
    pub length: f64,
    /// Where the tables and charts go.
    pub out: PathBuf,
    /// The command as given, for the tables.
    pub command: String,
}

/// Where results go unless told otherwise.
const RESULTS: &str = "experiments/results";

/// Sizes of the drives of an experiment: logarithms of their numbers of blocks to the base 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Of those that are swept.
    pub swept: u32,
    /// Of the largest one, of which there are few.
    pub largest: u32,
}

impl Args {
    /// Reads the command line; `experiment` is the name of the binary and `runs` the number of runs unless given.
    pub fn from_env(experiment: &str, runs: u64) -> Result<Self, Failure> {
        Self::parse(experiment, runs, std::env::args_os().skip(1))
    }

    /// Reads the command line of an experiment that only calculates: `--out` is all it takes.
    pub fn of_calculation(experiment: &str) -> Result<Self, Failure> {
        Self::parse_calculation(experiment, std::env::args_os().skip(1))
    }

    fn parse_calculation(
        experiment: &str,
        given: impl IntoIterator<Item = std::ffi::OsString>,
    ) -> Result<Self, Failure> {
        let mut parser = lexopt::Parser::from_args(given);
        let mut out = PathBuf::from(RESULTS);
        while let Some(arg) = parser.next()? {
            match arg {
                Long("out") => out = parser.value()?.into(),
                Long("help") => {
                    println!("{experiment} [--out DIRECTORY]");
                    std::process::exit(0);
                }
                _ => return Err(arg.unexpected().into()),
            }
        }
        let command = format!("cargo run --release -p wearwell-experiments --bin {experiment}");
        Ok(Args { runs: 0, length: 1.0, out, command })
    }

    /// Reads the command line of an experiment with one run on each drive, with `scale` unless given.
    pub fn of_drives(experiment: &str, scale: Scale) -> Result<(Self, Scale), Failure> {
        Self::parse_drives(experiment, scale, std::env::args_os().skip(1))
    }

    fn parse_drives(
        experiment: &str,
        mut scale: Scale,
        given: impl IntoIterator<Item = std::ffi::OsString>,
    ) -> Result<(Self, Scale), Failure> {
        let mut args = Self::parse_calculation(experiment, [])?;
        let mut parser = lexopt::Parser::from_args(given);
        while let Some(arg) = parser.next()? {
            match arg {
                Long("blocks") => scale.swept = parser.value()?.parse()?,
                Long("largest") => scale.largest = parser.value()?.parse()?,
                Long("out") => args.out = parser.value()?.into(),
                Long("help") => {
                    println!("{experiment} [--blocks LOG2] [--largest LOG2] [--out DIRECTORY]");
                    std::process::exit(0);
                }
                _ => return Err(arg.unexpected().into()),
            }
        }
        // Below, pages run out; above, page numbers.
        if !(10..=22).contains(&scale.swept) || !(scale.swept..=22).contains(&scale.largest) {
            return Err("--blocks must be from 10 to 22, --largest from there to 22".into());
        }
        args.command += &format!(" -- --blocks {} --largest {}", scale.swept, scale.largest);
        Ok((args, scale))
    }

    fn parse(
        experiment: &str,
        runs: u64,
        given: impl IntoIterator<Item = std::ffi::OsString>,
    ) -> Result<Self, Failure> {
        let mut args = Args { runs, length: 1.0, out: RESULTS.into(), command: String::new() };
        let mut parser = lexopt::Parser::from_args(given);
        while let Some(arg) = parser.next()? {
            match arg {
                Long("runs") => args.runs = parser.value()?.parse()?,
                Long("length") => args.length = parser.value()?.parse()?,
                Long("out") => args.out = parser.value()?.into(),
                Long("help") => {
                    println!("{experiment} [--runs N] [--length FACTOR] [--out DIRECTORY]");
                    std::process::exit(0);
                }
                _ => return Err(arg.unexpected().into()),
            }
        }
        if args.runs < 2 || !(args.length > 0.0 && args.length.is_finite()) {
            return Err("--runs must be 2 or more, --length a number above 0".into());
        }
        args.command = format!(
            "cargo run --release -p wearwell-experiments --bin {experiment} -- --runs {} --length {}",
            args.runs, args.length
        );
        Ok(args)
    }
}

#[cfg(test)]
mod tests {
    use super::{Args, Scale};

    fn parse(given: &[&str]) -> Result<Args, String> {
        Args::parse("table", 10, given.iter().map(Into::into)).map_err(|error| error.to_string())
    }

    #[test]
    fn arguments_are_read_and_refused() {
        assert_eq!(parse(&[]).unwrap().runs, 10);
        let args = parse(&["--runs", "4", "--length", "0.5"]).unwrap();
        assert_eq!((args.runs, args.length), (4, 0.5));
        assert!(args.command.ends_with("--bin table -- --runs 4 --length 0.5"));
        for bad in [&["--runs", "1"][..], &["--length", "0"], &["--walk"], &["--runs"]] {
            assert!(parse(bad).is_err());
        }
    }

    #[test]
    fn calculations_have_no_runs() {
        let parse = |given: &[&str]| Args::parse_calculation("figure", given.iter().map(Into::into));
        assert!(parse(&[]).unwrap().command.ends_with("--bin figure"));
        assert_eq!(parse(&["--out", "there"]).unwrap().out, std::path::Path::new("there"));
        assert!(parse(&["--runs", "3"]).is_err());
    }

    #[test]
    fn drives_have_sizes() {
        let parse = |given: &[&str]| {
            let scale = Scale { swept: 18, largest: 22 };
            Args::parse_drives("figure", scale, given.iter().map(Into::into))
        };
        let (args, scale) = parse(&["--blocks", "12"]).unwrap();
        assert_eq!(scale, Scale { swept: 12, largest: 22 });
        assert!(args.command.ends_with("--bin figure -- --blocks 12 --largest 22"));
        for bad in [&["--blocks", "23"][..], &["--largest", "17"], &["--blocks", "9"], &["--runs", "2"]] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}
