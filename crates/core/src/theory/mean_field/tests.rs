use super::*;
use crate::theory::selection::{DChoices, GreedyLimit, Random, RandomNotFull, RandomPlusPlus};

/// b, S_f, d, r, f, write amplification.
type Row = (u32, f64, f64, f64, f64, f64);

/// Table 1 of the paper, ODE column.
const TABLE_1: &[Row] = &[
    (16, 0.10, 16.0, 0.92, 0.23, 4.5925),
    (32, 0.07, 9.0, 0.81, 0.06, 7.6481),
    (32, 0.08, 5.0, 0.94, 0.25, 6.5347),
    (32, 0.13, 14.0, 0.87, 0.12, 4.4551),
    (64, 0.06, 4.0, 0.85, 0.17, 9.2976),
    (64, 0.09, 6.0, 0.79, 0.08, 6.5886),
    (64, 0.11, 11.0, 0.94, 0.28, 4.8997),
];

/// Table 2 of the paper, ODE column.
const TABLE_2: &[Row] = &[
    (16, 0.05, 12.0, 0.83, 0.24, 6.7745),
    (32, 0.05, 6.0, 0.74, 0.15, 8.4562),
    (32, 0.08, 11.0, 0.81, 0.22, 5.5623),
    (32, 0.13, 2.0, 0.91, 0.24, 4.9148),
    (64, 0.05, 6.0, 0.87, 0.12, 8.2524),
    (64, 0.05, 20.0, 0.94, 0.26, 8.9138),
    (64, 0.09, 3.0, 0.94, 0.06, 4.6364),
];

fn solve(
    pages: u32,
    spare: f64,
    classes: Classes,
    structure: Structure,
    selection: &dyn Selection,
) -> SteadyState {
    let drive = Drive::new(pages, spare).unwrap();
    MeanField::new(drive, classes, structure, selection).unwrap().steady_state().unwrap()
}

fn row(row: &Row, structure: Structure) -> SteadyState {
    let &(pages, spare, choices, r, f, _) = row;
    let selection = DChoices::new(choices).unwrap();
    solve(pages, spare, Classes::hot_cold(r, f).unwrap(), structure, &selection)
}

#[test]
fn tables_1_and_2_to_every_printed_digit() {
    for (rows, structure) in [(TABLE_1, Structure::Single), (TABLE_2, Structure::Double)] {
        for printed in rows {
            let start = std::time::Instant::now();
            let state = row(printed, structure);
            println!(
                "{printed:?} {} {:?} {:e} {}",
                state.write_amplification,
                start.elapsed(),
                state.residual,
                state.evaluations
            );
            assert!(
                (state.write_amplification - printed.5).abs() <= 5e-5,
                "{printed:?}: {}",
                state.write_amplification
            );
        }
    }
}

#[test]
fn other_laws() {
    for structure in [Structure::Single, Structure::Double] {
        let c = || Classes::hot_cold(0.9, 0.1).unwrap();
        for s in [&Random as &dyn Selection, &RandomNotFull, &RandomPlusPlus, &GreedyLimit] {
            let state = solve(32, 0.1, c(), structure, s);
            println!(
                "{} {} {:e} {}",
                s.describe(),
                state.write_amplification,
                state.residual,
                state.evaluations
            );
        }
    }
}

#[test]
fn random_points_converge() {
    use rand::Rng;
    let mut random = crate::seed::Seed(7).random();
    let mut worst = 0;
    let mut total = 0;
    let mut slow = 0;
    for n in 0..3000 {
        let pages = [4, 8, 16, 32, 64, 5, 12][random.random_range(0..7)];
        let spare = 10f64.powf(random.random_range(-2.0..-0.3));
        let d = (200f64).powf(random.random_range(0.0..1.0));
        let (r, f) = (random.random_range(0.01..0.99), random.random_range(0.01..0.99));
        let s = if n % 2 == 0 { Structure::Single } else { Structure::Double };
        let drive = Drive::new(pages, spare).unwrap();
        let sel = DChoices::new(d).unwrap();
        match MeanField::new(drive, Classes::hot_cold(r, f).unwrap(), s, &sel).unwrap().steady_state() {
            Ok(st) => {
                total += st.evaluations;
                if st.evaluations > 120 {
                    slow += 1;
                }
                if false {
                    println!("{pages} {spare} {d} {r} {f} {s:?} {} {:e}", st.evaluations, st.residual);
                }
                worst = worst.max(st.evaluations)
            }
            Err(e) => println!("FAIL {e}"),
        }
    }
    println!("worst {worst} slow {slow} mean {}", total as f64 / 3000.0);
}

#[test]
fn paths() {
    for structure in [Structure::Single, Structure::Double] {
        for from in [Beginning::Fresh, Beginning::Sequential, Beginning::Mixed] {
            let t = std::time::Instant::now();
            let sel = DChoices::new(10.0).unwrap();
            let m = MeanField::new(
                Drive::new(32, 0.1).unwrap(),
                Classes::hot_cold(0.9, 0.1).unwrap(),
                structure,
                &sel,
            )
            .unwrap();
            let path = m.transient(from, 60.0, 30).unwrap();
            println!(
                "{structure:?} {from:?} {:?} steady {}",
                t.elapsed(),
                m.steady_state().unwrap().write_amplification
            );
            for p in path.iter().step_by(3) {
                println!(
                    "  {:.6} {:.6} {:.4} {:?} {}",
                    p.drive_writes,
                    p.write_amplification,
                    p.erased,
                    p.class_pages,
                    p.valid_pages.iter().sum::<f64>()
                );
            }
        }
    }
}
