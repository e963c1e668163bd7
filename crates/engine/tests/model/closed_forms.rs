//! Write amplification in closed form, or nearly so, for uniform random writes to a device of very many blocks.
//!
//! `load` is the utilisation: logical over physical pages (rho of Van Houdt, 2013). `pages` is the number of pages in
//! a block (b), and `E` the number of host writes between two victims; in all cases WA = b / E.

use wearwell_theory::closed_forms as library;
use wearwell_theory::{Classes, Drive};

/// Random victims: a victim holds the mean fraction of valid pages, so WA = 1 / (1 - rho) for any block size. Van
/// Houdt, SIGMETRICS 2013.
pub fn random(load: f64) -> f64 {
    1.0 / (1.0 - load)
}

/// Cyclic cleaning. Let x be the fraction of invalid pages in victims; then WA = 1 / x, and a round of the device takes
/// b N x host writes, spread over b N rho logical pages. A page survives one round with probability 1 - x = exp(-x /
/// rho). Robinson (1996); Menon (HPDC 1995).
pub fn fifo(load: f64) -> f64 {
    let mut invalid = 1.0 - load;
    for _ in 0..10_000 {
        invalid = 1.0 - (-invalid / load).exp();
    }
    1.0 / invalid
}

/// Exactly greedy cleaning of blocks of finite size.
///
/// Let x be the mean number of valid pages in victims, j = ceil(x) and E = b - x. In a block with k valid pages, one
/// page is invalidated after b rho N / (k E) victims. Before blocks are taken, they pass through the levels b, b - 1,
/// .. j + 1, and a fraction j - x of them also through level j. Therefore N = (b rho N / E) (1/b + .. + 1/(j+1) + (j -
/// x)/j), which is linear in x for each j. This is the balance as in Desnoyers, ACM TOS 10(2), 2014, sec. 4, without
/// its smoothing over j.
pub fn greedy(load: f64, pages: u32) -> f64 {
    let b = f64::from(pages);
    let valid = b * load;
    // At j = b the balance has the solution x = b for any load, in which no page is written and no page is gained.
    let mut above = 1.0 / b;
    for j in (1..pages).rev().map(f64::from) {
        let x = (b - valid * (above + 1.0)) / (1.0 - valid / j);
        if j - 1.0 < x && x <= j {
            return b / (b - x);
        }
        above += 1.0 / j;
    }
    panic!("no victim level balances load {load}");
}

/// The fixed point of the d-choices mean field under uniform writes: Van Houdt (2013), eq. (3), (4), (7) with r = f.
///
/// For a given E, the fraction m_j of blocks with j valid pages is calculated from the fractions with more valid
/// pages; S_j is the fraction of blocks with at least j. The inflow to level j, E (j+1) m_{j+1} / (b rho), either
/// falls to level j - 1 or is selected with probability S_j^d - S_{j+1}^d. E is correct if the mean number of valid
/// pages of a block is b rho; this mean falls as E rises.
pub fn d_choices(load: f64, pages: u32, choices: f64) -> f64 {
    let b = f64::from(pages);
    let host = bisect(0.0, b, |host| valid_pages(host / (b * load), pages, choices) < b * load);
    b / host
}

/// Returns the mean valid pages of a block if a valid page is invalidated at `rate` per victim.
fn valid_pages(rate: f64, pages: u32, choices: f64) -> f64 {
    let (mut inflow, mut above, mut total) = (1.0, 0.0f64, 0.0);
    for j in (1..=pages).rev().map(f64::from) {
        let selected = |here: f64| (above + here).powf(choices) - above.powf(choices);
        let here = bisect(0.0, 1.0 - above, |here| rate * j * here + selected(here) > inflow);
        inflow = rate * j * here;
        above += here;
        total += j * here;
    }
    total
}

/// Returns the smallest argument between `low` and `high` for which the monotonic condition `condition` holds.
fn bisect(mut low: f64, mut high: f64, condition: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if condition(middle) { high = middle } else { low = middle }
    }
    0.5 * (low + high)
}

#[test]
fn closed_forms_give_published_numbers() {
    let assert_near =
        |value: f64, printed: f64| assert!((value - printed).abs() < 6e-5, "{value}, not {printed}");
    assert_near(d_choices(0.9, 32, 10.0), 4.7365);
    assert_near(d_choices(0.7, 128, 10.0), 1.8969);
    assert_near(d_choices(0.9, 32, 1.0), 10.0);
    // With one page per block, the closed form is 1 / (1 - rho^d).
    assert_near(d_choices(0.8, 1, 3.0), 1.0 / (1.0 - 0.8f64.powi(3)));
    assert_near(fifo(0.9), 5.1787);
    assert_near(random(0.9), 10.0);
    // With many choices the result approaches greedy.
    assert!((d_choices(0.9, 32, 3000.0) / greedy(0.9, 32) - 1.0).abs() < 1e-3);
}

#[test]
fn library_matches_the_closed_forms() {
    for pages in [2, 16, 128] {
        for load in [0.75, 0.9, 0.97] {
            let drive = Drive::new(pages, 1.0 - load).unwrap();
            let assert_near =
                |ours: f64, theirs: f64| assert!((ours / theirs - 1.0).abs() < 1e-10, "{ours}, {theirs}");
            assert_near(random(load), library::random(&drive).unwrap());
            assert_near(fifo(load), library::fifo(&drive, &Classes::uniform()).unwrap());
            assert_near(greedy(load, pages), library::greedy(&drive).unwrap());
        }
    }
}
