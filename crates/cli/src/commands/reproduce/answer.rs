//! What answers a point for somebody else: the hidden other end of `--dask`, started by a worker.
//!
//! It says its build on a line, so that the worker can refuse another one, takes a point on a line and says what came of it on a third.
//! The end of its input is the end of whoever wants to know.

use crate::exit::Failure;
use crate::interrupt;
use crate::output::print;
use serde_json::{Value, json};
use std::io;
use std::ops::ControlFlow;
use wearwell_experiments::crew;
use wearwell_experiments::journal::build;
use wearwell_experiments::session::{Interrupted, Watch};

/// Nobody looks on.
struct Unseen;

impl Watch for Unseen {
    fn flow(&self) -> ControlFlow<()> {
        interrupt::flow()
    }
}

/// Answers the point that stands on standard input, if there is one.
pub fn answer() -> Result<(), Failure> {
    say(&json!({ "build": build() }))?;
    let mut line = String::new();
    let read = io::stdin().read_line(&mut line);
    if read.map_err(|error| Failure::run(format!("standard input: {error}")))? == 0 {
        return Ok(());
    }
    let asked = serde_json::from_str(&line)
        .map_err(|error| Failure::run(format!("standard input: this is no point: {error}")))?;
    std::thread::spawn(|| {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        interrupt::interrupt();
    });
    // A worker's thread has one core to give.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(1).build_global();
    match crew::answer(&asked, &Unseen) {
        Ok(Ok(answer)) => say(&serde_json::to_value(answer).expect("plain data")),
        Ok(Err(error)) => say(&json!({ "error": error })),
        Err(error) if error.is::<Interrupted>() => Err(Failure::Interrupted),
        Err(error) => Err(Failure::run(error)),
    }
}

fn say(what: &Value) -> Result<(), Failure> {
    print(&format!("{what}\n"))
}
