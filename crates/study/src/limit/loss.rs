//! Rewrites attributed to placement, victim choice and block size.

/// Rewrites per host page of a placement and a victim policy, by cause.
///
/// The three parts sum to all rewrites. With blocks of a single page nothing is ever rewritten. Rewrites of the best
/// offline placement and victim policy are therefore attributed to the block size, and the remainder to the two
/// policies. The attribution depends on which of the two is replaced first, so each part is the mean over both orders
/// (Shapley, Contributions to the Theory of Games II, 1953).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RewriteLoss {
    /// Rewrites attributed to placement.
    pub placement: f64,
    /// Rewrites attributed to the choice of victims.
    pub victim: f64,
    /// Rewrites attributed to blocks of more than one page.
    pub block_size: f64,
}

impl RewriteLoss {
    /// Computes the parts from four write amplifications: `amplification` with the given policies, `placed` with the
    /// best placement, `chosen` with the best victim policy, and `best` with both replaced.
    pub fn of(amplification: f64, placed: f64, chosen: f64, best: f64) -> Self {
        RewriteLoss {
            placement: 0.5 * ((amplification - placed) + (chosen - best)),
            victim: 0.5 * ((amplification - chosen) + (placed - best)),
            block_size: best - 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_sum_to_all_rewrites() {
        let loss = RewriteLoss::of(4.0, 2.0, 3.0, 1.5);
        assert_eq!(loss, RewriteLoss { placement: 1.75, victim: 0.75, block_size: 0.5 });
        assert_eq!(loss.placement + loss.victim + loss.block_size, 3.0);
        // With the best policies, the whole loss is due to the block size.
        assert_eq!(
            RewriteLoss::of(1.5, 1.5, 1.5, 1.5),
            RewriteLoss { placement: 0.0, victim: 0.0, block_size: 0.5 }
        );
    }
}
