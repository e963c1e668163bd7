//! Yang et al. (2014), Figure 1: the four ways to stack logs are run, and write amplification is reported layer by
//! layer.

use crate::Failure;
use crate::replicas::{run_each, scenario};
use crate::session::Session;
use crate::statements::Statements;
use crate::table::Table;
use wearwell_stack::RunResult;

/// Panel, its scenario, and true if its layers form a chain with one user at the top.
const PANELS: [(&str, &str, bool); 4] = [
    ("a: a log on an FTL", include_str!("../../../scenarios/log_on_ftl.toml"), true),
    (
        "b: a log next to another application",
        include_str!("../../../scenarios/log_beside_random_writer.toml"),
        false,
    ),
    ("c: two logs on one FTL", include_str!("../../../scenarios/two_logs_one_ftl.toml"), false),
    (
        "d: a log on a file system on an FTL",
        include_str!("../../../scenarios/app_log_on_fs_on_ftl.toml"),
        false,
    ),
];

/// Measurement settings that all scenarios share.
const MEASURE: &str = "[measure]\nwarm_up = 2.0\ndrive_writes = 1.0\nwindow = 0.5\n";

pub fn run(session: &Session) -> Result<(), Failure> {
    let scenarios = PANELS.map(|(_, text, _)| {
        let (head, _) = text.split_once("[measure]").ok_or("a scenario without [measure]")?;
        scenario(&format!("{head}{MEASURE}"))
    });
    let scenarios = scenarios.into_iter().collect::<Result<Vec<_>, Failure>>()?;
    let results = run_each(session, &scenarios, "result", |result| Ok(result.clone()))?;
    let mut table = Table::new(&["panel", "layer", "incoming", "outgoing", "wa", "stack_wa"]);
    let mut statements = Statements::default();
    let (mut handed_on, mut products) = (Vec::new(), Vec::new());
    for ((panel, _, is_chain), results) in PANELS.into_iter().zip(&results) {
        let result = &results[0];
        for layer in &result.layers {
            let (incoming, outgoing) = writes(result, &layer.name);
            let ratio = |of: u64| format!("{:.4}", outgoing as f64 / of as f64);
            let total = result.nand.programs as f64 / result.phases.measured_host_pages as f64;
            let mut row =
                vec![panel.to_owned(), layer.name.clone(), incoming.to_string(), outgoing.to_string()];
            row.extend([ratio(incoming), format!("{total:.4}")]);
            table.push(row);
        }
        let bottom = result.layers.last().expect("a stack has an FTL");
        handed_on.push((panel.to_owned(), writes(result, &bottom.name).1 == result.nand.programs));
        if is_chain {
            products.push((panel.to_owned(), product_equals_total(result)));
        }
    }
    table.publish(session, "data")?;
    statements.check("figure 1: what the lowest log sends is what the flash programs", handed_on);
    statements.check("figure 1: TCWA is the product of the layers' write amplifications", products);
    statements.publish(session)
}

/// Returns the number of pages that a layer received, and the number of pages that it wrote.
fn writes(result: &RunResult, name: &str) -> (u64, u64) {
    let layer = result.layers.iter().find(|layer| layer.name == name).expect("a layer of the result");
    let outgoing = layer.outgoing.values().filter_map(|operations| operations.get("write")).sum();
    (layer.incoming.get("write").copied().unwrap_or(0), outgoing)
}

fn product_equals_total(result: &RunResult) -> bool {
    let amplification_of = |name: &str| {
        let (incoming, outgoing) = writes(result, name);
        outgoing as f64 / incoming as f64
    };
    let product: f64 = result.layers.iter().map(|layer| amplification_of(&layer.name)).product();
    let total = result.nand.programs as f64 / result.phases.measured_host_pages as f64;
    (product / total - 1.0).abs() < 1e-9
}
