//! Van Houdt (2013), Figure 4: write amplification of the double frontier over the number of choices.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::figures::load_name;
use crate::session::Session;
use crate::statements::{Statements, is_falling, is_rising};
use crate::table::Table;
use crate::theory::{Load, Model, Policy, solve_all};
use wearwell_theory::OptimalChoices;
use wearwell_theory::mean_field::Structure;

const LOADS: [(&str, Load); 2] = [("left", (0.8, 0.05)), ("right", (0.9, 0.20))];
const PAGES: [u32; 3] = [16, 32, 64];
const SPARES: [f64; 4] = [0.06, 0.09, 0.12, 0.15];

/// Largest number of choices in the search for the optimum.
const MAX_CHOICES: u32 = 150;

/// Step and end of the values of `d`, in the caption and in the text.
const CHOICE_SETS: [(&str, u32, u32); 2] = [("caption", 4, 32), ("text", 3, 24)];

struct Curve {
    panel: &'static str,
    model: Model,
    optimum: OptimalChoices,
    /// Write amplification for unbounded `d`.
    unbounded: f64,
}

impl Curve {
    fn name(&self) -> String {
        let Model { pages_per_block, spare_factor, load, .. } = &self.model;
        format!("{}, b = {pages_per_block}, S_f = {spare_factor}", load_name(*load))
    }

    fn at(&self, choices: u32) -> f64 {
        self.optimum.scan[choices as usize - 1].write_amplification
    }

    fn key(&self) -> Vec<String> {
        let Model { pages_per_block, spare_factor, load: (r, f), .. } = &self.model;
        let fields = [format!("{r:.2}"), format!("{f:.2}"), pages_per_block.to_string()];
        fields.into_iter().chain([format!("{spare_factor:.2}")]).collect()
    }
}

/// Returns the curves over the spare factors, for each load and each `b`.
fn curves() -> Result<Vec<Curve>, Failure> {
    let mut models = Vec::new();
    for (panel, load) in LOADS {
        for pages_per_block in PAGES {
            for spare_factor in SPARES {
                let (structure, policy) = (Structure::Double, Policy::Limit);
                models.push((panel, Model { structure, pages_per_block, spare_factor, policy, load }));
            }
        }
    }
    let all_models: Vec<Model> = models.iter().map(|(_, model)| *model).collect();
    let answers = solve_all(&all_models, |model| {
        Ok((model.scan(MAX_CHOICES)?, model.steady_state()?.write_amplification))
    })?;
    let curves = models.into_iter().zip(answers);
    Ok(curves
        .map(|((panel, model), (found, limit))| Curve { panel, model, optimum: found, unbounded: limit })
        .collect())
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let curves = curves()?;
    let mut table = Table::new(&["r", "f", "b", "S_f", "set", "d", "write_amplification"]);
    let mut optima =
        Table::new(&["r", "f", "b", "S_f", "optimal_d", "write_amplification", "at_d_150", "for_large_d"]);
    for curve in &curves {
        for (set, step, end) in CHOICE_SETS {
            for choices in (step..=end).step_by(step as usize) {
                let fields = [set.to_owned(), choices.to_string(), format!("{:.4}", curve.at(choices))];
                table.push(curve.key().into_iter().chain(fields).collect());
            }
        }
        let best = curve.optimum.best;
        let values = [best.write_amplification, curve.at(MAX_CHOICES), curve.unbounded]
            .map(|value| format!("{value:.4}"));
        optima.push(curve.key().into_iter().chain([best.choices.to_string()]).chain(values).collect());
    }
    table.write(session, "data")?;
    optima.publish(session, "optima")?;
    for (panel, load) in LOADS {
        draw(session, panel, load, &curves)?;
    }
    check(&curves).publish(session)
}

/// Groups the curves of a panel that agree in `fixed`, each group in the order of `varied`.
fn families<'a>(
    curves: &'a [Curve],
    varied: fn(&Model) -> f64,
    fixed: fn(&Model) -> f64,
) -> Vec<Vec<&'a Curve>> {
    let mut families: Vec<Vec<&Curve>> = Vec::new();
    for curve in curves {
        let is_kin = |family: &&mut Vec<&'a Curve>| {
            family[0].panel == curve.panel && fixed(&family[0].model) == fixed(&curve.model)
        };
        match families.iter_mut().find(is_kin) {
            Some(family) => family.push(curve),
            None => families.push(vec![curve]),
        }
    }
    for family in &mut families {
        family.sort_by(|a, b| varied(&a.model).total_cmp(&varied(&b.model)));
    }
    families
}

fn check(curves: &[Curve]) -> Statements {
    let spare = |model: &Model| model.spare_factor;
    let pages = |model: &Model| f64::from(model.pages_per_block);
    let (over_spares, over_pages) = (families(curves, spare, pages), families(curves, pages, spare));
    let mut shown: Vec<u32> =
        CHOICE_SETS.iter().flat_map(|(_, step, end)| (*step..=*end).step_by(*step as usize)).collect();
    shown.sort_unstable();
    shown.dedup();
    let at_all = |families: &[Vec<&Curve>], holds: fn(Vec<f64>) -> bool| -> Vec<(String, bool)> {
        let cases = families.iter().flat_map(|family| shown.iter().map(move |choices| (family, *choices)));
        let outcome = |(family, choices): (&Vec<&Curve>, u32)| {
            let values = family.iter().map(|curve| curve.at(choices)).collect();
            (format!("{}, d = {choices}", family[0].name()), holds(values))
        };
        cases.map(outcome).collect()
    };
    let mut statements = Statements::default();
    statements.check("WA rises as S_f falls", at_all(&over_spares, is_falling));
    statements.check("WA rises with b", at_all(&over_pages, is_rising));
    let has_optimum = |curve: &Curve| {
        let best = curve.optimum.best;
        best.choices > 1 && best.choices < MAX_CHOICES && best.write_amplification < curve.unbounded
    };
    statements.check(
        "an optimal d exists: WA is higher at d = 1 and d = 150 and in the limit",
        curves.iter().map(|curve| (curve.name(), has_optimum(curve))),
    );
    let single_valley = curves.iter().map(|curve| {
        let best = curve.optimum.best.choices as usize;
        let values = || curve.optimum.scan.iter().map(|choice| choice.write_amplification);
        (curve.name(), is_falling(values().take(best)) && is_rising(values().skip(best - 1)))
    });
    statements.check("WA falls down to the optimum and rises from there to d = 150", single_valley);
    let optima =
        |family: &[&Curve]| -> Vec<u32> { family.iter().map(|curve| curve.optimum.best.choices).collect() };
    let ordered = |families: &[Vec<&Curve>]| -> Vec<(String, bool)> {
        let holds = |family: &Vec<&Curve>| optima(family).windows(2).all(|pair| pair[1] <= pair[0]);
        families.iter().map(|family| (family[0].name(), holds(family))).collect()
    };
    statements.check("the optimal d never rises with b", ordered(&over_pages));
    statements.check("the optimal d never falls as S_f falls", ordered(&over_spares));
    statements
}

/// Draws the curves over `d` as in the caption, with the optimum as a separate point.
fn draw(session: &Session, panel: &str, load: Load, curves: &[Curve]) -> Result<(), Failure> {
    let mut series = Vec::new();
    let of_panel = || curves.iter().filter(|curve| curve.panel == panel);
    for curve in of_panel() {
        let Model { pages_per_block, spare_factor, .. } = curve.model;
        let points = (2..=32).step_by(2).map(|choices| (f64::from(choices), curve.at(choices)));
        series.push(Series::line(format!("b = {pages_per_block}, S_f = {spare_factor}"), points));
    }
    let best = of_panel().map(|curve| curve.optimum.best);
    let points = best.map(|best| (f64::from(best.choices), best.write_amplification));
    series.push(Series { has_line: false, ..Series::line("optimal d".to_owned(), points) });
    let title = format!("Figure 4 ({panel}): double frontier, {}", load_name(load));
    let chart = Chart { title: &title, x: "choices d", y: "write amplification" };
    chart.draw(session, panel, &series)
}
