//! Moving hot set: at intervals, hot pages become cold and other pages become hot.

use super::lattice::ContentLattice;
use crate::error::between;
use crate::{Classes, TheoryError};

/// Maximum number of moves on a path.
const MAX_MOVES: f64 = 1e6;

/// Schedule and effect of the moves. At a move, all hot pages become cold, and as many cold pages become hot, each with
/// equal probability.
///
/// The model knows only this probability: pages that were hot before are not distinguished from other cold pages.
pub(super) struct HotSetMoves {
    interval: f64,
    moves_made: f64,
    /// For each number of cold pages, the distribution of the number of them that become hot.
    becomes_hot: Vec<Vec<f64>>,
}

impl HotSetMoves {
    /// Returns the moves of the hotter of two `classes`, once per `every` drive writes, for `drive_writes` drive
    /// writes.
    pub fn new(
        classes: &Classes,
        lattice: &ContentLattice,
        every: f64,
        drive_writes: f64,
    ) -> Result<Self, TheoryError> {
        between("moves_every", every, 0.0, f64::INFINITY)?;
        if drive_writes / every > MAX_MOVES {
            return Err(TheoryError::parameter(
                "moves_every",
                format!("{every:e} makes more than {MAX_MOVES} moves"),
            ));
        }
        let [hot, cold] = classes.as_slice() else {
            let problem = format!("{} are no hot and cold pages that could change places", classes.count());
            return Err(TheoryError::parameter("classes", problem));
        };
        if hot.space_share > cold.space_share {
            let problem =
                format!("{} of the pages are hot; at most half can move to cold ones", hot.space_share);
            return Err(TheoryError::parameter("hot_space", problem));
        }
        let share = hot.space_share / cold.space_share;
        let becomes_hot =
            (0..=lattice.pages()).map(|cold| lattice.multinomial(cold, &[share, 1.0 - share])).collect();
        Ok(HotSetMoves { interval: every, moves_made: 0.0, becomes_hot })
    }

    /// Returns the time of the next move, in drive writes.
    pub fn next(&self) -> f64 {
        (self.moves_made + 1.0) * self.interval
    }

    /// Makes a move: in a block with `i` hot and `k` cold pages the `i` become cold, and each of the `k` becomes hot
    /// with a fixed probability.
    pub fn apply(&mut self, lattice: &ContentLattice, state: &mut [f64]) {
        self.moves_made += 1.0;
        let (pages, size) = (lattice.pages(), lattice.size());
        for level in 0..=pages {
            let of = &mut state[level * size..(level + 1) * size];
            let before = of[..=level].to_vec();
            of.fill(0.0);
            for (hot, mass) in before.into_iter().enumerate() {
                let distribution = &self.becomes_hot[level - hot][..=level - hot];
                of.iter_mut().zip(distribution).for_each(|(content, share)| *content += mass * share);
            }
        }
    }
}
