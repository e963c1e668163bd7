//! Effect of TRIM.
//!
//! Van Houdt (2013), sec. 2.1, assumes that the host never trims. In this program, a share `t` of the requests
//! discards a page, which is drawn from the same distribution as the writes. Each drive is compared with a drive
//! without TRIM that has the spare space which TRIM should provide.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::interval::Interval;
use crate::replicas::{Replica, phases, run_all, scenario, write_amplification};
use crate::session::Session;
use crate::table::{Fields, Table};
use wearwell_stack::Scenario;

/// Shares of the writes and of the space that are hot, `(r, f)`; the first load is uniform.
const LOADS: [(f64, f64); 3] = [(0.2, 0.2), (0.8, 0.2), (0.9, 0.1)];

const TRIM_RATIOS: [f64; 5] = [0.0, 0.05, 0.1, 0.2, 0.3];

const PLACEMENTS: [&str; 2] = ["single", "double"];

const SPARE_FACTOR: f64 = 0.1;

/// Returns the spare factor of a drive on which a share `t` of the requests trims.
///
/// The probabilities that a request to a page is a trim or a write are `t` and `1 - t`, for any distribution, so a
/// share `1 - t` of the pages holds data. A page with data is invalidated at the same rate per host write as on a
/// drive with only this number of logical pages. With `U` uniform pages at rate `1 / U` per request, including trims,
/// that is `1 / (U (1 - t))` per write.
fn effective_spare_factor(trim_ratio: f64) -> f64 {
    1.0 - (1.0 - SPARE_FACTOR) * (1.0 - trim_ratio)
}

fn scenario_of(
    placement: &str,
    (r, f): (f64, f64),
    spare_factor: f64,
    trim_ratio: f64,
    length: f64,
) -> Result<Scenario, Failure> {
    let phases = phases(2.0, length * (5.0 * (1.0 - f) / (1.0 - r)).max(20.0));
    scenario(&format!(
        r#"
        [device]
        blocks_per_plane = 5000
        pages_per_block = 32
        spare_factor = {spare_factor:?}
        [ftl]
        victim = {{ policy = "d_choices", choices = 10 }}
        placement = "{placement}"
        reclaim = "in_place"
        copy_order = "random"
        [workload]
        kind = "hot_cold"
        hot_writes = {r:?}
        hot_space = {f:?}
        trim_ratio = {trim_ratio:?}
        {phases}
        "#
    ))
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let mut scenarios = Vec::new();
    for placement in PLACEMENTS {
        for load in LOADS {
            for trim_ratio in TRIM_RATIOS {
                let spare_factor = effective_spare_factor(trim_ratio);
                scenarios.push(scenario_of(placement, load, SPARE_FACTOR, trim_ratio, session.length)?);
                scenarios.push(scenario_of(placement, load, spare_factor, 0.0, session.length)?);
            }
        }
    }
    let replicas = run_all(session, &scenarios)?;
    publish(session, &replicas)
}

/// Returns the curves, each of which has a placement and a load.
fn curves() -> impl Iterator<Item = (&'static str, (f64, f64))> {
    PLACEMENTS.into_iter().flat_map(|placement| LOADS.into_iter().map(move |load| (placement, load)))
}

fn publish(session: &Session, replicas: &[Vec<Replica>]) -> Result<(), Failure> {
    let mut table = Table::default();
    let mut series = Vec::new();
    for ((placement, (r, f)), curve) in curves().zip(replicas.chunks(2 * TRIM_RATIOS.len())) {
        let mut points = Vec::new();
        for (trim_ratio, pair) in TRIM_RATIOS.into_iter().zip(curve.chunks(2)) {
            let drive = Fields::default().text("placement", placement).number("r", r, 2).number("f", f, 2);
            table.add(compare(drive, trim_ratio, &pair[0], &pair[1]));
            points.push((trim_ratio, write_amplification(&pair[0])));
        }
        series.push(Series { name: format!("{placement}, r = {r}, f = {f}"), points, has_line: true });
    }
    table.publish(session, "data")?;
    let title = "Write amplification with TRIM, d = 10, b = 32, S_f = 0.1";
    let chart = Chart { title, x: "share of the requests that trim", y: "write amplification" };
    chart.draw(session, "plot", &series)
}

fn compare(drive: Fields, trim_ratio: f64, with: &[Replica], reference: &[Replica]) -> Fields {
    let (ours, theirs) = (write_amplification(with), write_amplification(reference));
    let mapped =
        Interval::from_values(&with.iter().map(|replica| replica.mapped_share).collect::<Vec<_>>()).mean;
    drive
        .number("trim_ratio", trim_ratio, 2)
        .number("mapped_share", mapped, 4)
        .number("effective_spare_factor", 1.0 - (1.0 - SPARE_FACTOR) * mapped, 4)
        .number("write_amplification", ours.mean, 4)
        .number("ci", ours.half_width, 4)
        .number("twin_without_trim", theirs.mean, 4)
        .number("twin_ci", theirs.half_width, 4)
        .text("diff_percent", format!("{:+.3}", 100.0 * (ours.mean / theirs.mean - 1.0)))
        .text("diff_in_ci", format!("{:+.2}", ours.distance(&theirs)))
}
