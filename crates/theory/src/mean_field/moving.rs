//! A hot set that moves: hot pages become cold and others hot, again and again.

use super::lattice::Lattice;
use crate::error::between;
use crate::{Classes, TheoryError};

/// Most moves on a path.
const MOST_MOVES: f64 = 1e6;

/// When and how the hot set moves: each page of it becomes cold, and of the cold ones as many become hot, each with the same chance.
///
/// That chance is all that the model knows: pages that were hot together before are not told from others.
pub(super) struct Moves {
    every: f64,
    made: f64,
    /// By the number of cold pages: how many of them become hot, and with which chances.
    becomes_hot: Vec<Vec<f64>>,
}

impl Moves {
    /// The moves of the hotter of two `classes` once in `every` of `drive_writes` drive writes.
    pub fn new(
        classes: &Classes,
        lattice: &Lattice,
        every: f64,
        drive_writes: f64,
    ) -> Result<Self, TheoryError> {
        between("moves_every", every, 0.0, f64::INFINITY)?;
        if drive_writes / every > MOST_MOVES {
            return Err(TheoryError::parameter(
                "moves_every",
                format!("{every:e} makes more than {MOST_MOVES} moves"),
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
        Ok(Moves { every, made: 0.0, becomes_hot })
    }

    /// When the next move is due, drive writes.
    pub fn next(&self) -> f64 {
        (self.made + 1.0) * self.every
    }

    /// Makes it: of a block with `i` hot and `k` cold pages the `i` are cold, and each of the `k` is hot by chance.
    pub fn make(&mut self, lattice: &Lattice, state: &mut [f64]) {
        self.made += 1.0;
        let (pages, size) = (lattice.pages(), lattice.size());
        for level in 0..=pages {
            let of = &mut state[level * size..(level + 1) * size];
            let before = of[..=level].to_vec();
            of.fill(0.0);
            for (hot, mass) in before.into_iter().enumerate() {
                let law = &self.becomes_hot[level - hot][..=level - hot];
                of.iter_mut().zip(law).for_each(|(content, share)| *content += mass * share);
            }
        }
    }
}
