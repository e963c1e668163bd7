//! Hidden worker mode for `--dask`: computes one point for another process.
//!
//! Prints its build on the first line, so that the worker can refuse another build; then reads a point as one line and
//! prints the result as one line. End of input means that the other process has ended.

use crate::exit::Failure;
use crate::interrupt;
use crate::output::print;
use serde_json::{Value, json};
use std::io;
use std::ops::ControlFlow;
use wearwell_experiments::journal::build;
use wearwell_experiments::runner::answer;
use wearwell_experiments::session::{Interrupted, ReproductionObserver};

/// Observer that shows no progress and stops on an interrupt.
struct InterruptObserver;

impl ReproductionObserver for InterruptObserver {
    fn flow(&self) -> ControlFlow<()> {
        interrupt::interrupt_flow()
    }
}

/// Computes the point on standard input, if there is one.
pub fn answer() -> Result<(), Failure> {
    print_line(&json!({ "build": build() }))?;
    let mut line = String::new();
    let read = io::stdin().read_line(&mut line);
    if read.map_err(|error| Failure::run(format!("standard input: {error}")))? == 0 {
        return Ok(());
    }
    let request = serde_json::from_str(&line)
        .map_err(|error| Failure::run(format!("standard input: this is no point: {error}")))?;
    std::thread::spawn(|| {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        interrupt::interrupt();
    });
    // A worker thread provides one core.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(1).build_global();
    match answer::compute_point(&request, &InterruptObserver) {
        Ok(Ok(answer)) => print_line(&serde_json::to_value(answer).expect("plain data")),
        Ok(Err(error)) => print_line(&json!({ "error": error })),
        Err(error) if error.is::<Interrupted>() => Err(Failure::Interrupted),
        Err(error) => Err(Failure::run(error)),
    }
}

fn print_line(what: &Value) -> Result<(), Failure> {
    print(&format!("{what}\n"))
}
