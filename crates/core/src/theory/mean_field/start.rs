//! Where the search for a steady state begins: the drive as cyclic cleaning would leave it.

use super::Structure;
use super::lattice::Lattice;
use crate::theory::{Classes, Drive};

/// A guess of the law of full blocks and of the host pages a victim gives.
pub(super) struct Start {
    pub full_blocks: Vec<f64>,
    pub host_pages: f64,
}

impl Start {
    /// From the closed form of cyclic cleaning: what share of the pages of each class is copied.
    pub fn cyclic(drive: &Drive, classes: &Classes, structure: Structure, lattice: &Lattice) -> Self {
        let pages = lattice.pages();
        let (amplification, copied) = fifo(drive, classes);
        let fresh: Vec<f64> = classes.as_slice().iter().map(|class| class.write_share).collect();
        let host_share = 1.0 / amplification;
        let mixed = |share: f64| -> Vec<f64> {
            fresh.iter().zip(&copied).map(|(fresh, copied)| share * fresh + (1.0 - share) * copied).collect()
        };
        let full_blocks = match structure {
            Structure::Single => lattice.multinomial(pages, &mixed(host_share)),
            Structure::Double => {
                let host = lattice.multinomial(pages, &fresh);
                let cleaned = lattice.multinomial(pages, &copied);
                host.iter().zip(&cleaned).map(|(a, b)| host_share * a + (1.0 - host_share) * b).collect()
            }
        };
        Start { full_blocks, host_pages: pages as f64 * host_share }
    }
}

/// Amplification A of cyclic cleaning, `A = sum_t r_t / (1 - s_t)` with `s_t = exp(-r_t / (A rho f_t))`, and the shares of
/// the classes among the copied pages.
fn fifo(drive: &Drive, classes: &Classes) -> (f64, Vec<f64>) {
    let survival = |amplification: f64, heat: f64| (-heat / (amplification * drive.load())).exp();
    let excess = |amplification: f64| -> f64 {
        let classes = classes.as_slice().iter();
        classes.map(|class| class.write_share / (1.0 - survival(amplification, class.heat()))).sum::<f64>()
            - amplification
    };
    let (mut low, mut high) = (1.0, 2.0);
    while excess(high) > 0.0 && high < 1e9 {
        high *= 2.0;
    }
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if excess(middle) > 0.0 { low = middle } else { high = middle }
    }
    let copied = classes.as_slice().iter().map(|class| {
        let survival = survival(high, class.heat());
        class.write_share * survival / (1.0 - survival)
    });
    let mut copied: Vec<f64> = copied.collect();
    let sum: f64 = copied.iter().sum();
    copied.iter_mut().for_each(|share| *share = if sum > 0.0 { *share / sum } else { 0.0 });
    if sum <= 0.0 {
        copied = classes.as_slice().iter().map(|class| class.space_share).collect();
    }
    (high, copied)
}
