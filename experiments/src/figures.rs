//! Code that the figures of the hot/cold paper share: two panels, and write amplification over a grid.

use crate::Failure;
use crate::statements::{Statements, is_falling, is_rising};
use crate::theory::{Load, Model, Policy, solve_all};
use wearwell_theory::mean_field::Structure;

/// A panel of a figure.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Name: `left` or `right`.
    pub name: &'static str,
    /// Title, which states the property that its loads have in common.
    pub title: &'static str,
    /// Loads, from uniform writes to the most skewed one.
    pub loads: Vec<Load>,
}

/// Returns the left panel, `r = 0.8`, with these `f`, and the right panel, `f = 0.1`, with these `r`.
pub fn panels(left: &[f64], right: &[f64]) -> [Panel; 2] {
    let left_loads = left.iter().map(|f| (0.8, *f)).collect();
    let right_loads = right.iter().map(|r| (*r, 0.1)).collect();
    [
        Panel { name: "left", title: "r = 0.8", loads: left_loads },
        Panel { name: "right", title: "f = 0.1", loads: right_loads },
    ]
}

/// Returns panels with the loads that the text of the paper names for figure 1.
pub fn named_panels() -> [Panel; 2] {
    panels(&[0.8, 0.2, 0.05], &[0.1, 0.5, 0.9])
}

/// Formats a load, such as `r = 0.8, f = 0.2`.
pub fn load_name((r, f): Load) -> String {
    format!("r = {r}, f = {f}")
}

/// Write amplification with a single frontier and `b = 32`, over the loads of a panel, spare factors and policies.
pub struct Grid<'a> {
    /// Panel that has the loads.
    pub panel: &'a Panel,
    /// Spare factors `S_f`.
    pub spares: &'a [f64],
    /// Policies in ascending order of `d`.
    pub policies: &'a [Policy],
    amplifications: Vec<f64>,
}

/// A value of a [`Grid`], with its load, spare factor and policy.
pub type GridPoint = (Load, f64, Policy, f64);

impl<'a> Grid<'a> {
    /// Solves the grid.
    pub fn solve(panel: &'a Panel, spares: &'a [f64], policies: &'a [Policy]) -> Result<Self, Failure> {
        let mut models = Vec::new();
        for &load in &panel.loads {
            for &spare_factor in spares {
                models.extend(policies.iter().map(|&policy| Model {
                    structure: Structure::Single,
                    pages_per_block: 32,
                    spare_factor,
                    policy,
                    load,
                }));
            }
        }
        let amplifications = solve_all(&models, |model| Ok(model.steady_state()?.write_amplification))?;
        Ok(Grid { panel, spares, policies, amplifications })
    }

    /// Returns the value with these indices in `panel.loads`, `spares` and `policies`.
    pub fn value(&self, load: usize, spare: usize, policy: usize) -> f64 {
        self.amplifications[(load * self.spares.len() + spare) * self.policies.len() + policy]
    }

    /// Returns all values.
    pub fn points(&self) -> impl Iterator<Item = GridPoint> + '_ {
        let (spares, policies) = (self.spares.len(), self.policies.len());
        self.amplifications.iter().enumerate().map(move |(index, &amplification)| {
            let (load, spare) =
                (self.panel.loads[index / (spares * policies)], self.spares[index / policies % spares]);
            (load, spare, self.policies[index % policies], amplification)
        })
    }

    /// Tests the statements of sec. 3.3 about more skewed loads with the values of several panels.
    pub fn check(grids: &[Grid], statements: &mut Statements) {
        let over_loads = |grid: &Grid, value: &dyn Fn(usize) -> f64| -> Vec<f64> {
            (0..grid.panel.loads.len()).map(value).collect()
        };
        let (mut hotter, mut gaps) = (Vec::new(), Vec::new());
        for grid in grids {
            for (spare, spare_factor) in grid.spares.iter().enumerate() {
                let case =
                    |policies: String| format!("{}, S_f = {spare_factor}, d = {policies}", grid.panel.title);
                for (at, policy) in grid.policies.iter().enumerate() {
                    let values = over_loads(grid, &|load| grid.value(load, spare, at));
                    hotter.push((case(policy.choices()), is_rising(values)));
                }
                for (at, pair) in grid.policies.windows(2).enumerate() {
                    let values = over_loads(grid, &|load| {
                        grid.value(load, spare, at) - grid.value(load, spare, at + 1)
                    });
                    let names = format!("{} and {}", pair[0].choices(), pair[1].choices());
                    gaps.push((case(names), is_falling(values)));
                }
            }
        }
        statements.check("WA rises as the hot data gets hotter", hotter);
        statements.check("the difference between two neighbouring d falls as the data gets hotter", gaps);
    }
}
