//! Division of spare space checked against formulas, grids and optimality conditions.

use super::super::super::Class;
use super::*;

const CLEANINGS: [ClassCleaning; 3] = [ClassCleaning::Fifo, ClassCleaning::Greedy, ClassCleaning::Random];

fn drive(pages: u32, spare_factor: f64) -> Drive {
    Drive::new(pages, spare_factor).unwrap()
}

fn classes(shares: &[(f64, f64)]) -> Classes {
    let classes = shares.iter().map(|&(write_share, space_share)| Class { write_share, space_share });
    Classes::new(&classes.collect::<Vec<_>>()).unwrap()
}

/// For random cleaning the Lagrange condition gives spare space in proportion to `sqrt(r f)`.
#[test]
fn random_cleaning_divides_space_by_the_root_formula() {
    let three = classes(&[(0.7, 0.05), (0.2, 0.25), (0.1, 0.7)]);
    for of in [Classes::hot_cold(0.9, 0.1).unwrap(), three] {
        for spare_factor in [1e-6, 0.05, 0.5, 0.99] {
            let drive = drive(32, spare_factor);
            let found = separated(&drive, &of, ClassCleaning::Random).unwrap().write_amplification;
            let roots: f64 = of.as_slice().iter().map(|c| (c.write_share * c.space_share).sqrt()).sum();
            let expected = 1.0 + drive.load() * roots * roots / spare_factor;
            assert!((found / expected - 1.0).abs() < 1e-12, "{found}, not {expected}");
        }
    }
}

/// No point of a fine grid is better than the result, and the best point is barely worse.
#[test]
fn grid_of_divisions_has_no_better_point() {
    for (r, f) in [(0.9, 0.1), (0.8, 0.3), (0.99, 0.01), (0.3, 0.6)] {
        let of = Classes::hot_cold(r, f).unwrap();
        for (pages, spare_factor) in [(4, 0.05), (16, 0.1), (64, 0.07), (256, 0.3), (16, 0.01)] {
            let drive = drive(pages, spare_factor);
            for cleaning in CLEANINGS {
                let found = separated(&drive, &of, cleaning).unwrap().write_amplification;
                let pools = ClassPools::new(&drive, &of, cleaning);
                let best = (1..2000)
                    .map(|i| spare_factor * f64::from(i) / 2000.0)
                    .map(|e| pools.cost(0, e).unwrap() + pools.cost(1, spare_factor - e).unwrap())
                    .fold(f64::INFINITY, f64::min);
                assert!(
                    found <= best * (1.0 + 1e-12),
                    "{pages}, {spare_factor}, {r}, {f}: {found} above {best}"
                );
                assert!(
                    found > best * (1.0 - 1e-3),
                    "{pages}, {spare_factor}, {r}, {f}: {found} below {best}"
                );
            }
        }
    }
}

#[test]
fn three_classes_are_no_worse_than_a_grid() {
    let of = classes(&[(0.6, 0.03), (0.3, 0.27), (0.1, 0.7)]);
    let drive = drive(32, 0.1);
    for cleaning in CLEANINGS {
        let found = separated(&drive, &of, cleaning).unwrap().write_amplification;
        let pools = ClassPools::new(&drive, &of, cleaning);
        let mut best = f64::INFINITY;
        for i in 1..200 {
            for j in 1..200 - i {
                let parts = [i, j, 200 - i - j].map(|part| 0.1 * f64::from(part) / 200.0);
                let cost: f64 = (0..3).map(|class| pools.cost(class, parts[class]).unwrap()).sum();
                best = best.min(cost);
            }
        }
        assert!(found <= best && found > best * (1.0 - 1e-3), "{found}, {best}");
    }
}

/// The solution for many classes satisfies the Lagrange condition: the marginal value of spare space is equal for all
/// classes.
#[test]
fn marginal_value_of_space_is_equal_for_all_classes() {
    let shares: Vec<(f64, f64)> = (1..=10).map(|k| (f64::from(11 - k) / 55.0, f64::from(k) / 55.0)).collect();
    let (drive, of) = (drive(32, 0.1), classes(&shares));
    let found = separated(&drive, &of, ClassCleaning::Fifo).unwrap();
    let pools = ClassPools::new(&drive, &of, ClassCleaning::Fifo);
    let marginal_values = found.shares.iter().enumerate().map(|(class, share)| {
        let spare = share.physical_share * share.spare_factor;
        let step = 1e-4 * spare;
        (pools.cost(class, spare - step).unwrap() - pools.cost(class, spare + step).unwrap()) / (2.0 * step)
    });
    let marginal_values: Vec<f64> = marginal_values.collect();
    assert!(
        marginal_values.iter().all(|w| (w / marginal_values[0] - 1.0).abs() < 1e-4),
        "{marginal_values:?}"
    );
}

#[test]
fn equal_classes_match_one_drive() {
    let equal = classes(&[(0.5, 0.5), (0.2, 0.2), (0.3, 0.3)]);
    for cleaning in CLEANINGS {
        let drive = drive(32, 0.1);
        let one = separated(&drive, &Classes::uniform(), cleaning).unwrap();
        let three = separated(&drive, &equal, cleaning).unwrap();
        assert!((one.write_amplification / three.write_amplification - 1.0).abs() < 1e-12);
        // Random and FIFO have a unique best division; the costs of greedy have linear pieces.
        if !matches!(cleaning, ClassCleaning::Greedy) {
            assert!(three.shares.iter().all(|share| (share.spare_factor - 0.1).abs() < 1e-5));
        }
    }
}

/// The physical shares of the classes sum to 1, and an equal division of the space is not better.
#[test]
fn shares_sum_to_the_drive() {
    let (drive, of) = (drive(16, 0.07), classes(&[(0.6, 0.03), (0.3, 0.27), (0.1, 0.7)]));
    for cleaning in CLEANINGS {
        let found = separated(&drive, &of, cleaning).unwrap();
        let physical: f64 = found.shares.iter().map(|share| share.physical_share).sum();
        assert!((physical - 1.0).abs() < 1e-12);
        let combined = separated(&drive, &Classes::uniform(), cleaning).unwrap().write_amplification;
        assert!(found.write_amplification < combined);
        for (share, class) in found.shares.iter().zip(of.as_slice()) {
            let logical = share.physical_share * (1.0 - share.spare_factor);
            assert!((logical - drive.load() * class.space_share).abs() < 1e-12);
        }
    }
}

/// Convexity makes the pairwise minimum global and extends the bound to divisions that vary in time.
#[test]
fn cleaning_is_convex_in_physical_over_logical_pages() {
    for pages in [1, 2, 5, 64] {
        for cleaning in [ClassCleaning::Fifo, ClassCleaning::Greedy, ClassCleaning::Random] {
            let (drive, of) = (drive(pages, 0.5), Classes::uniform());
            let pools = ClassPools::new(&drive, &of, cleaning);
            let cost = |i: i32| pools.cost(0, 0.5 * f64::from(i) * 0.002).unwrap();
            for i in 2..3000 {
                assert!(cost(i - 1) + cost(i + 1) >= 2.0 * cost(i) * (1.0 - 1e-14), "{pages}, {i}");
            }
        }
    }
}

#[test]
fn extreme_parameters_give_finite_results() {
    for cleaning in CLEANINGS {
        for spare_factor in [1e-9, 0.1, 1.0 - 1e-9] {
            for (r, f) in [(1.0 - 1e-9, 1e-9), (1e-9, 0.5), (0.5, 1.0 - 1e-9)] {
                let drive = drive(32, spare_factor);
                let found = separated(&drive, &Classes::hot_cold(r, f).unwrap(), cleaning).unwrap();
                assert!(found.write_amplification >= 1.0 - 1e-12 && found.write_amplification.is_finite());
            }
        }
    }
}
