//! Van Houdt, "Performance of garbage collection algorithms for flash-based solid state drives with hot/cold
//! data", Performance Evaluation 70 (2013), Table 1: the single write frontier.

use crate::Failure;
use crate::hot_cold::{Frontier, InitialPhase, PaperRow, publish, row};
use crate::interval::Interval;
use crate::replicas::{run_all, write_amplification};
use crate::session::Session;

/// Number of blocks in the paper's simulation.
const BLOCKS: u32 = 10_000;

/// Rows as printed: b, S_f, d, r, f, ODE, and simulation with the half-width of its 95 % confidence interval.
const ROWS: [PaperRow<1>; 7] = [
    row(16, 0.10, 16, 0.92, 0.23, 4.5925, [(4.5925, 0.0006)]),
    row(32, 0.07, 9, 0.81, 0.06, 7.6481, [(7.6490, 0.0024)]),
    row(32, 0.08, 5, 0.94, 0.25, 6.5347, [(6.5349, 0.0008)]),
    row(32, 0.13, 14, 0.87, 0.12, 4.4551, [(4.4554, 0.0005)]),
    row(64, 0.06, 4, 0.85, 0.17, 9.2976, [(9.2985, 0.0015)]),
    row(64, 0.09, 6, 0.79, 0.08, 6.5886, [(6.5885, 0.0007)]),
    row(64, 0.11, 11, 0.94, 0.28, 4.8997, [(4.9002, 0.0003)]),
];

pub fn run(session: &Session) -> Result<(), Failure> {
    let beginning = InitialPhase::from_session(session)?;
    let scenarios = ROWS
        .iter()
        .map(|row| row.setting.scenario(Frontier::Single, BLOCKS, &beginning, session.length))
        .collect::<Result<Vec<_>, _>>()?;
    let replicas = run_all(session, &scenarios)?;
    let ours: Vec<[Interval; 1]> = replicas.iter().map(|row| [write_amplification(row)]).collect();
    publish(session, "Table 1: single frontier, N = 10,000", &["single"], &ROWS, &ours)
}
