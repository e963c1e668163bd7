//! Van Houdt, "Performance of garbage collection algorithms for flash-based solid state drives with hot/cold
//! data", Performance Evaluation 70 (2013), Table 2: the double write frontier, copying live pages at random or
//! the oldest first.

use crate::Failure;
use crate::hot_cold::{Frontier, InitialPhase, PaperRow, publish, row};
use crate::interval::Interval;
use crate::replicas::{run_all, write_amplification};
use crate::session::Session;

/// Number of blocks in the paper's simulation.
const BLOCKS: u32 = 50_000;

/// Rows as printed: b, S_f, d, r, f, ODE, and the simulations RND and OLDEST, each with the half-width of its 95
/// % confidence interval.
const ROWS: [PaperRow<2>; 7] = [
    row(16, 0.05, 12, 0.83, 0.24, 6.7745, [(6.7754, 0.0005), (6.7205, 0.0004)]),
    row(32, 0.05, 6, 0.74, 0.15, 8.4562, [(8.4574, 0.0007), (8.3745, 0.0007)]),
    row(32, 0.08, 11, 0.81, 0.22, 5.5623, [(5.5628, 0.0004), (5.5247, 0.0003)]),
    row(32, 0.13, 2, 0.91, 0.24, 4.9148, [(4.9152, 0.0006), (4.8844, 0.0008)]),
    row(64, 0.05, 6, 0.87, 0.12, 8.2524, [(8.2540, 0.0007), (7.9759, 0.0008)]),
    row(64, 0.05, 20, 0.94, 0.26, 8.9138, [(8.9154, 0.0004), (8.7054, 0.0005)]),
    row(64, 0.09, 3, 0.94, 0.06, 4.6364, [(4.6368, 0.0014), (4.6015, 0.0013)]),
];

const FRONTIERS: [Frontier; 2] = [Frontier::DoubleRandom, Frontier::DoubleOldest];

pub fn run(session: &Session) -> Result<(), Failure> {
    let beginning = InitialPhase::from_session(session)?;
    let each = ROWS.iter().flat_map(|row| FRONTIERS.map(|frontier| (row, frontier)));
    let scenarios = each
        .map(|(row, frontier)| row.setting.scenario(frontier, BLOCKS, &beginning, session.length))
        .collect::<Result<Vec<_>, _>>()?;
    let replicas = run_all(session, &scenarios)?;
    let ours: Vec<[Interval; 2]> = replicas
        .chunks(2)
        .map(|pair| [write_amplification(&pair[0]), write_amplification(&pair[1])])
        .collect();
    publish(session, "Table 2: double frontier, N = 50,000", &["RND", "OLDEST"], &ROWS, &ours)
}
