//! What of a policy's rewriting is lost by placement, by victim choice and by the size of blocks.

/// What a placement and a victim policy rewrite for each page of the host, and why.
///
/// The three add up to all of it. With blocks of a single page nothing is ever rewritten, so whatever the best placement and the best
/// victim policy still rewrite, those which know the future, is owed to the size of blocks; the rest to not being them. Which of the two
/// is put right first makes a difference, so that each is the mean of both orders (Shapley, Contributions to the Theory of Games
/// II, 1953).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// By where pages are put.
    pub placement: f64,
    /// By which block is cleaned.
    pub victim: f64,
    /// By blocks of more than a page.
    pub block_size: f64,
}

impl Loss {
    /// Of write amplification `own`, with `placed` that of the best placement and the own victim policy, `chosen` that of the own
    /// placement and the best victim policy, and `best` that of both.
    pub fn of(own: f64, placed: f64, chosen: f64, best: f64) -> Self {
        Loss {
            placement: 0.5 * ((own - placed) + (chosen - best)),
            victim: 0.5 * ((own - chosen) + (placed - best)),
            block_size: best - 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_add_up_to_all_that_is_rewritten() {
        let loss = Loss::of(4.0, 2.0, 3.0, 1.5);
        assert_eq!(loss, Loss { placement: 1.75, victim: 0.75, block_size: 0.5 });
        assert_eq!(loss.placement + loss.victim + loss.block_size, 3.0);
        // The best loses by the size of blocks alone.
        assert_eq!(Loss::of(1.5, 1.5, 1.5, 1.5), Loss { placement: 0.0, victim: 0.0, block_size: 0.5 });
    }
}
