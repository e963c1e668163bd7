//! Van Houdt (2013), Figure 2: write amplification of the single frontier over f and over r, b = 32, S_f = 0.1.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::figures::{Grid, panels};
use crate::session::Session;
use crate::statements::{Statements, is_falling};
use crate::table::Table;
use crate::theory::Policy;

/// Policies, which we chose because the legend is not in the text; the last policy is the limit.
const POLICIES: [Policy; 6] = [
    Policy::Choices(2),
    Policy::Choices(5),
    Policy::Choices(10),
    Policy::Choices(20),
    Policy::Choices(50),
    Policy::Limit,
];

pub fn run(session: &Session) -> Result<(), Failure> {
    let hundredths = |steps: &[u32]| steps.iter().map(|step| f64::from(*step) / 100.0).collect::<Vec<_>>();
    let left = hundredths(&[80, 70, 60, 50, 40, 30, 25, 20, 15, 10, 5, 2]);
    let right = hundredths(&[10, 20, 30, 40, 50, 60, 70, 75, 80, 85, 90, 95]);
    let panels = panels(&left, &right);
    let grids: Vec<Grid> =
        panels.iter().map(|panel| Grid::solve(panel, &[0.1], &POLICIES)).collect::<Result<_, _>>()?;
    let mut table = Table::new(&["panel", "r", "f", "d", "write_amplification"]);
    for grid in &grids {
        for ((r, f), _, policy, amplification) in grid.points() {
            let key = [grid.panel.name.to_owned(), format!("{r:.2}"), format!("{f:.2}"), policy.choices()];
            table.push(key.into_iter().chain([format!("{amplification:.4}")]).collect());
        }
    }
    table.publish(session, "data")?;
    draw(session, &grids[0], "f, share of the space that is hot", |(_, f)| f)?;
    draw(session, &grids[1], "r, share of the writes that is hot", |(r, _)| r)?;
    let mut statements = Statements::default();
    Grid::check(&grids, &mut statements);
    let limit = POLICIES.len() - 1;
    let nearer = grids.iter().flat_map(|grid| {
        (0..limit).map(move |at| {
            let ratios =
                (0..grid.panel.loads.len()).map(|load| grid.value(load, 0, at) / grid.value(load, 0, limit));
            (format!("{}, d = {}", grid.panel.title, POLICIES[at].choices()), is_falling(ratios))
        })
    });
    statements.check("the ratio of WA to its limit for large d falls as the data gets hotter", nearer);
    let ends = grids.iter().flat_map(|grid| {
        let hottest = grid.panel.loads.len() - 1;
        (0..limit).map(move |at| {
            let ratios = [0, hottest].map(|load| grid.value(load, 0, at) / grid.value(load, 0, limit));
            (format!("{}, d = {}", grid.panel.title, POLICIES[at].choices()), is_falling(ratios))
        })
    });
    statements.check("that ratio is smaller for the hottest data than for uniform writes", ends);
    statements.publish(session)?;
    let mut table = Table::new(&["r", "f", "percent_above_limit"]);
    for grid in &grids {
        for load_index in [0, grid.panel.loads.len() - 1] {
            let above = 100.0 * (grid.value(load_index, 0, 2) / grid.value(load_index, 0, limit) - 1.0);
            let (r, f) = grid.panel.loads[load_index];
            table.push(vec![format!("{r:.2}"), format!("{f:.2}"), format!("{above:.2}")]);
        }
    }
    table.publish(session, "choices_10")
}

fn draw(session: &Session, grid: &Grid, x: &str, x_of: fn((f64, f64)) -> f64) -> Result<(), Failure> {
    let line = |(at, policy): (usize, &Policy)| {
        let points = grid
            .panel
            .loads
            .iter()
            .enumerate()
            .map(|(load, at_load)| (x_of(*at_load), grid.value(load, 0, at)));
        Series::line(format!("d = {}", policy.choices()), points)
    };
    let series: Vec<Series> = POLICIES.iter().enumerate().map(line).collect();
    let title =
        format!("Figure 2 ({}): single frontier, b = 32, S_f = 0.1, {}", grid.panel.name, grid.panel.title);
    let chart = Chart { title: &title, x, y: "write amplification" };
    chart.draw(session, grid.panel.name, &series)
}
