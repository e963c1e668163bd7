//! Van Houdt (2013), Figure 1: write amplification of the single frontier over spare factor and choices, b = 32.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::figures::{Grid, load_name, named_panels};
use crate::session::Session;
use crate::statements::{Statements, is_falling};
use crate::table::Table;
use crate::theory::Policy;

/// Spare factors. The text names none for this figure, so these are those of figure 4.
const SPARES: [f64; 4] = [0.06, 0.09, 0.12, 0.15];

/// Policies, which we chose.
const POLICIES: [Policy; 4] =
    [Policy::Choices(2), Policy::Choices(5), Policy::Choices(10), Policy::Choices(20)];

pub fn run(session: &Session) -> Result<(), Failure> {
    let panels = named_panels();
    let grids: Vec<Grid> =
        panels.iter().map(|panel| Grid::solve(panel, &SPARES, &POLICIES)).collect::<Result<_, _>>()?;
    let mut table = Table::new(&["panel", "r", "f", "S_f", "d", "write_amplification"]);
    for grid in &grids {
        for ((r, f), spare, policy, amplification) in grid.points() {
            let key =
                [grid.panel.name.to_owned(), format!("{r:.2}"), format!("{f:.2}"), format!("{spare:.2}")];
            let mut fields = key.to_vec();
            fields.extend([policy.choices(), format!("{amplification:.4}")]);
            table.push(fields);
        }
        draw(session, grid)?;
    }
    table.publish(session, "data")?;
    let mut statements = Statements::default();
    Grid::check(&grids, &mut statements);
    let falling = grids.iter().flat_map(|grid| {
        grid.panel.loads.iter().enumerate().flat_map(move |(load, load_value)| {
            (0..SPARES.len()).map(move |spare| {
                let values = (0..POLICIES.len()).map(|policy| grid.value(load, spare, policy));
                (format!("{}, S_f = {}", load_name(*load_value), SPARES[spare]), is_falling(values))
            })
        })
    });
    statements.check("WA falls as d grows", falling);
    statements.publish(session)
}

/// Draws curves over the spare factor, with a line for each load and `d`.
fn draw(session: &Session, grid: &Grid) -> Result<(), Failure> {
    let mut series = Vec::new();
    for (load, load_value) in grid.panel.loads.iter().enumerate() {
        for (at, policy) in POLICIES.iter().enumerate() {
            let points = SPARES.iter().enumerate().map(|(spare, x)| (*x, grid.value(load, spare, at)));
            series
                .push(Series::line(format!("{}, d = {}", load_name(*load_value), policy.choices()), points));
        }
    }
    let title = format!("Figure 1 ({}): single frontier, b = 32, {}", grid.panel.name, grid.panel.title);
    let chart = Chart { title: &title, x: "spare factor S_f", y: "write amplification" };
    chart.draw(session, grid.panel.name, &series)
}
