//! Van Houdt (2013), Figure 3: distribution of the number of valid pages of a block, single frontier, b = 16, S_f =
//! 0.1, d = 10.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::figures::{Panel, load_name, named_panels};
use crate::session::Session;
use crate::statements::{Statements, is_falling};
use crate::table::Table;
use crate::theory::{Model, Policy, solve_all};
use wearwell_theory::mean_field::{SteadyState, Structure};

const PAGES: u32 = 16;

pub fn run(session: &Session) -> Result<(), Failure> {
    let panels = named_panels();
    let mut laws = Table::new(&["panel", "r", "f", "valid_pages", "share_of_blocks", "share_of_victims"]);
    let mut summary = Table::new(&[
        "panel",
        "r",
        "f",
        "write_amplification",
        "variance",
        "share_up_to_half",
        "hot_share_of_moved",
    ]);
    let mut solved = Vec::new();
    for panel in &panels {
        let models: Vec<Model> = panel.loads.iter().map(|&load| model(load)).collect();
        let states = solve_all(&models, Model::steady_state)?;
        for ((r, f), state) in panel.loads.iter().zip(&states) {
            let key = || vec![panel.name.to_owned(), format!("{r:.2}"), format!("{f:.2}")];
            for (pages, (of_blocks, of_victims)) in
                state.valid_pages.iter().zip(&state.victim_valid_pages).enumerate()
            {
                let shares = [pages.to_string(), format!("{of_blocks:.3e}"), format!("{of_victims:.3e}")];
                laws.push(key().into_iter().chain(shares).collect());
            }
            summary.push(key().into_iter().chain(measures(*r == *f, *f, state)).collect());
        }
        draw(session, panel, &states)?;
        solved.push((panel, states));
    }
    laws.write(session, "data")?;
    summary.publish(session, "summary")?;
    check(&solved).publish(session)
}

fn model(load: (f64, f64)) -> Model {
    let (structure, policy) = (Structure::Single, Policy::Choices(10));
    Model { structure, pages_per_block: PAGES, spare_factor: 0.1, policy, load }
}

fn measures(is_uniform: bool, f: f64, state: &SteadyState) -> [String; 4] {
    let hot_moved = if is_uniform { f } else { state.moved_shares[0] };
    [
        format!("{:.4}", state.write_amplification),
        format!("{:.4}", variance(state)),
        format!("{:.3e}", share_up_to(state, PAGES as usize / 2)),
        format!("{hot_moved:.4}"),
    ]
}

/// Returns the share of the blocks with at most `pages` valid pages.
fn share_up_to(state: &SteadyState, pages: usize) -> f64 {
    state.valid_pages[..=pages].iter().sum()
}

fn variance(state: &SteadyState) -> f64 {
    let moment = |power: i32| -> f64 {
        state.valid_pages.iter().enumerate().map(|(pages, share)| (pages as f64).powi(power) * share).sum()
    };
    moment(2) - moment(1).powi(2)
}

fn check(solved: &[(&Panel, Vec<SteadyState>)]) -> Statements {
    let mut statements = Statements::default();
    let of_panels = |measure: &dyn Fn(&SteadyState) -> f64| -> Vec<(String, bool)> {
        let of_panel = |(panel, states): &(&Panel, Vec<SteadyState>)| {
            (panel.title.to_owned(), is_falling(states.iter().map(measure)))
        };
        solved.iter().map(of_panel).collect()
    };
    statements
        .check("the variance of the valid pages falls as the hot data gets hotter", of_panels(&variance));
    let scarce = (0..=PAGES as usize / 2).flat_map(|pages| {
        let cases = of_panels(&|state| share_up_to(state, pages));
        cases.into_iter().map(move |(panel, holds)| (format!("{panel}, at most {pages}"), holds))
    });
    statements
        .check("blocks with at most j = 0 to 8 valid pages get scarcer as the hot data gets hotter", scarce);
    let cold = solved.iter().flat_map(|(panel, states)| {
        let hotter = panel.loads.iter().zip(states).filter(|((r, f), _)| r != f);
        hotter.map(|(load, state)| (load_name(*load), state.moved_shares[0] < load.1))
    });
    statements.check("victims hold a smaller share of hot pages than the drive", cold);
    statements
}

fn draw(session: &Session, panel: &Panel, states: &[SteadyState]) -> Result<(), Failure> {
    let line = |(load, state): (&(f64, f64), &SteadyState)| {
        let points = state.valid_pages.iter().enumerate().map(|(pages, share)| (pages as f64, *share));
        Series::line(load_name(*load), points)
    };
    let series: Vec<Series> = panel.loads.iter().zip(states).map(line).collect();
    let title =
        format!("Figure 3 ({}): single frontier, b = 16, S_f = 0.1, d = 10, {}", panel.name, panel.title);
    let chart = Chart { title: &title, x: "valid pages", y: "share of the blocks" };
    chart.draw(session, panel.name, &series)
}
