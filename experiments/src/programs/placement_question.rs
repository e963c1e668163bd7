//! Comparison of placements that use knowledge of the data with the double frontier, which uses no knowledge.
//!
//! Van Houdt (2013), sec. 5, leaves the benefit of policies that identify hot data open. Every placement runs on the
//! same drive, with a free pool of the same size, under hot and cold data.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::interval::Interval;
use crate::replicas::{Replica, phases, run_all, scenario, write_amplification};
use crate::session::Session;
use crate::table::{Fields, Table};
use wearwell_stack::Scenario;

/// Shares of the writes and of the space that are hot, `(r, f)`.
const LOADS: [(f64, f64); 6] = [(0.8, 0.2), (0.8, 0.05), (0.9, 0.2), (0.9, 0.05), (0.95, 0.2), (0.95, 0.05)];

const VICTIMS: [(&str, &str); 2] =
    [("greedy", "\"greedy\""), ("d = 10", "{ policy = \"d_choices\", choices = 10 }")];

const PLACEMENTS: [(&str, &str); 9] = [
    ("single", "\"single\""),
    ("double", "\"double\""),
    ("oracle", "\"oracle\""),
    ("oracle, cleaning apart", "{ kind = \"oracle\", separate_cleaning = true }"),
    ("host_hint", "\"host_hint\""),
    ("host_hint, cleaning apart", "{ kind = \"host_hint\", cleaned = \"apart\" }"),
    ("write_count", "\"write_count\""),
    ("bloom", "\"bloom\""),
    ("age_classes", "\"age_classes\""),
];

/// Index of the placement with which the other placements are compared.
const BASELINE: usize = 1;

fn scenario_of(victim: &str, placement: &str, load: (f64, f64), length: f64) -> Result<Scenario, Failure> {
    let (r, f) = load;
    // The warm-up and the measurement each last five turnovers of the cold data, as for the tables of the paper.
    let phases = phases(2.0, length * (5.0 * (1.0 - f) / (1.0 - r)).max(20.0));
    scenario(&format!(
        r#"
        [device]
        blocks_per_plane = 2000
        pages_per_block = 32
        spare_factor = 0.1
        [ftl]
        victim = {victim}
        placement = {placement}
        # Enough for the placement with the most streams; the same for all, so that none has more room.
        free_blocks_low = 8
        free_blocks_high = 8
        [workload]
        kind = "hot_cold"
        hot_writes = {r:?}
        hot_space = {f:?}
        hint = "temperature"
        {phases}
        "#
    ))
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let mut scenarios = Vec::new();
    for (_, victim) in VICTIMS {
        for load in LOADS {
            for (_, placement) in PLACEMENTS {
                scenarios.push(scenario_of(victim, placement, load, session.length)?);
            }
        }
    }
    let replicas = run_all(session, &scenarios)?;
    let mut table = Table::default();
    for (at, group) in replicas.chunks(PLACEMENTS.len()).enumerate() {
        let (victim, load) = (VICTIMS[at / LOADS.len()].0, LOADS[at % LOADS.len()]);
        add_rows(&mut table, victim, load, group);
    }
    table.publish(session, "data")?;
    for (victim, groups) in VICTIMS.iter().zip(replicas.chunks(PLACEMENTS.len() * LOADS.len())) {
        draw(session, victim.0, groups)?;
    }
    Ok(())
}

fn add_rows(table: &mut Table, victim: &str, (r, f): (f64, f64), group: &[Vec<Replica>]) {
    let baseline = write_amplification(&group[BASELINE]).mean;
    for ((name, _), replicas) in PLACEMENTS.iter().zip(group) {
        let ours = write_amplification(replicas);
        let spilled =
            replicas.iter().map(|replica| replica.spilled_share).sum::<f64>() / replicas.len() as f64;
        table.add(
            Fields::default()
                .text("victim", victim)
                .number("r", r, 2)
                .number("f", f, 2)
                .text("placement", name.replace(',', ";"))
                .number("write_amplification", ours.mean, 4)
                .number("ci", ours.half_width, 4)
                .text("vs_double_percent", format!("{:+.2}", 100.0 * (ours.mean / baseline - 1.0)))
                .number("spilled_percent", 100.0 * spilled, 3),
        );
    }
}

fn draw(session: &Session, victim: &str, groups: &[Vec<Replica>]) -> Result<(), Failure> {
    let series: Vec<Series> = PLACEMENTS
        .iter()
        .enumerate()
        .map(|(placement, (name, _))| Series {
            name: (*name).to_owned(),
            points: points_of(placement, groups),
            has_line: true,
        })
        .collect();
    let title = format!("Write amplification by placement, {victim}, b = 32, S_f = 0.1");
    let x = "(r, f): 1 (.8, .2)  2 (.8, .05)  3 (.9, .2)  4 (.9, .05)  5 (.95, .2)  6 (.95, .05)";
    let chart = Chart { title: &title, x, y: "write amplification" };
    let file = victim.replace(" = ", "");
    chart.draw(session, &file, &series)
}

fn points_of(placement: usize, groups: &[Vec<Replica>]) -> Vec<(f64, Interval)> {
    let of_each_load = groups.chunks(PLACEMENTS.len()).enumerate();
    of_each_load.map(|(at, group)| ((at + 1) as f64, write_amplification(&group[placement]))).collect()
}
