//! Mean field compared with the simulator at random points, at a level of confidence for all points together.

use std::ops::ControlFlow;
use std::time::Instant;
use wearwell_stack::Progress;
use wearwell_study::SweepObserver;
use wearwell_study::SweepOptions;
use wearwell_study::theory_check::{CheckOptions, PointComparison, check, grid};

struct NullObserver;

impl SweepObserver for NullObserver {
    fn progress(&self, _: usize, _: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn finished(&self, _: usize, _: usize) {}
}

#[test]
fn theory_agrees_with_simulation_at_random_points() {
    let start = Instant::now();
    let points = grid(24, 1, &[4, 8, 16, 32]);
    let options = CheckOptions { blocks: 2000, runs: 10, sweep: SweepOptions::default() };
    let compared = check(&points, &options, &NullObserver).unwrap();
    for of in &compared {
        println!(
            "{:?}: {:.5} (finite {:.5}), simulated {:.5} ± {:.5}, allowed {:.5}, {:+.2} blocks of spare",
            of.point,
            of.theory,
            of.theory_finite,
            of.simulated,
            of.half_width,
            of.family_half_width + of.allowance,
            of.blocks_of_spare(),
        );
    }
    println!("{:.1} s", start.elapsed().as_secs_f64());
    assert!(compared.len() >= 20);
    let apart: Vec<_> = compared.iter().filter(|of| !of.agrees()).collect();
    assert!(apart.is_empty(), "{apart:#?}");
    // Intervals are narrow enough to be conclusive, and no more points than expected by chance lie outside their own.
    for of in &compared {
        assert!(of.family_half_width < 0.015 * of.simulated, "{of:?}");
    }
    let alone = compared.iter().filter(|of| !of.agrees_alone()).count();
    assert!(alone <= 4, "{alone} of {} outside the interval of a single point", compared.len());
    // A theory with an error of 3 % would not pass.
    let wrong =
        compared.iter().map(|of| PointComparison { theory_finite: 1.03 * of.theory_finite, ..of.clone() });
    let found = wrong.filter(|of| !of.agrees()).count();
    assert!(found >= compared.len() - 2, "only {found} of {} wrong points are found", compared.len());
}
