//! The fewest valid pages among blocks drawn at random, where how many are drawn is learnt while running.

use super::{Blocks, Victim, VictimPolicy};
use crate::config::{ConfigError, Entry, StoreSize};
use crate::seed::{Random, below};
use crate::units::BlockId;
use rand::RngCore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Blocks drawn for each victim at first, 1 to 256; the nearest of the numbers that are tried.
    #[schemars(range(min = 1, max = 256))]
    pub choices: u32,
    /// Victims for each block that are let go by after a number of choices has changed, before the two are compared; 0 or more.
    #[schemars(range(min = 0.0))]
    pub settle: f64,
    /// How many standard errors the two must differ by before a number is changed; above 0.
    pub sureness: f64,
}

impl Default for Config {
    fn default() -> Self {
        Config { choices: 10, settle: 1.0, sureness: 3.0 }
    }
}

impl Victim for Config {
    const ENTRY: Entry = Entry {
        name: "learnt_choices",
        help: "fewest valid pages among blocks drawn at random, as many as leave the emptier victims of two numbers tried at a time",
        source: "our own, on the d-choices of Van Houdt, Performance Evaluation 70 (2013), and Li, Lee and Lui, SIGMETRICS 2013",
    };
    type Policy = LearntChoices;

    fn build(&self, size: &StoreSize) -> Result<LearntChoices, ConfigError> {
        if !(1..=256).contains(&self.choices) {
            let problem = format!("is {}; it must be from 1 to 256", self.choices);
            return Err(ConfigError::new("choices", problem));
        }
        if !(self.settle >= 0.0 && self.settle <= 1e6) {
            return Err(ConfigError::new(
                "settle",
                format!("is {}; it must be from 0 to a million", self.settle),
            ));
        }
        if !(self.sureness > 0.0 && self.sureness.is_finite()) {
            return Err(ConfigError::new("sureness", format!("is {}; it must be above 0", self.sureness)));
        }
        let settle = (self.settle * f64::from(size.blocks)) as u64;
        let forget = u64::from(size.blocks).saturating_mul(VICTIMS_REMEMBERED);
        Ok(LearntChoices {
            arms: Arms::new(self.choices, settle, self.sureness, forget),
            random: size.seed.of("victim").random(),
            half: 0,
        })
    }
}

/// Numbers of choices that are tried, each about a fifth or a half more than the one before.
const LADDER: [u32; 16] = [1, 2, 3, 4, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128, 256];

/// Victims for each block after which half of what was seen is forgotten, so that an old load does not outvote a new one.
const VICTIMS_REMEMBERED: u64 = 4;

/// Victims of a half before it is compared.
const FEWEST_VICTIMS: u64 = 64;

/// Draws for one victim that may all miss the candidates of a half before the whole drive is drawn from.
const MOST_DRAWS: u32 = 4096;

/// Draws from one half of the blocks, those of even and of odd number in turns, and keeps two neighbours of the ladder on
/// trial, one on each half.
///
/// Both halves get equally many victims and what is written is the same on both, so that the emptier victims are the better
/// number's, whatever the load does meanwhile: how empty victims are before and after a change of the number on the whole drive
/// would tell more of the load, and more choices at once find emptier victims for a while whatever they cost later. The half
/// with the worse number then gets the other neighbour of the better one.
pub struct LearntChoices {
    arms: Arms,
    random: Random,
    /// Whose turn it is.
    half: usize,
}

/// What the victims of a half held, since it was settled.
#[derive(Clone, Copy, Default)]
struct Seen {
    victims: f64,
    sum: f64,
    squares: f64,
}

impl Seen {
    fn add(&mut self, valid_pages: u32) {
        let valid_pages = f64::from(valid_pages);
        self.victims += 1.0;
        self.sum += valid_pages;
        self.squares += valid_pages * valid_pages;
    }

    fn mean(&self) -> f64 {
        self.sum / self.victims
    }

    /// The square of the standard error of the mean.
    fn uncertainty(&self) -> f64 {
        (self.squares / self.victims - self.mean().powi(2)).max(0.0) / self.victims
    }

    fn halve(&mut self) {
        *self = Seen { victims: 0.5 * self.victims, sum: 0.5 * self.sum, squares: 0.5 * self.squares };
    }
}

/// The numbers on trial.
struct Arms {
    /// The place on the ladder of each half's number.
    at: [usize; 2],
    seen: [Seen; 2],
    /// Victims to let go by.
    unsettled: u64,
    settle: u64,
    sureness: f64,
    /// Victims of a half after which half of them are forgotten.
    forget: u64,
}

impl Arms {
    fn new(choices: u32, settle: u64, sureness: f64, forget: u64) -> Self {
        let nearest = (0..LADDER.len()).min_by_key(|&at| LADDER[at].abs_diff(choices)).unwrap_or(0);
        let low = nearest.min(LADDER.len() - 2);
        Arms { at: [low, low + 1], seen: [Seen::default(); 2], unsettled: settle, settle, sureness, forget }
    }

    fn choices(&self, half: usize) -> u32 {
        LADDER[self.at[half]]
    }

    /// A victim of `half` held so many valid pages.
    fn note(&mut self, half: usize, valid_pages: u32) {
        if self.unsettled > 0 {
            self.unsettled -= 1;
            return;
        }
        self.seen[half].add(valid_pages);
        let [even, odd] = self.seen;
        if even.victims.min(odd.victims) < FEWEST_VICTIMS as f64 {
            return;
        }
        let error = (even.uncertainty() + odd.uncertainty()).sqrt();
        if (even.mean() - odd.mean()).abs() > self.sureness * error {
            self.step(usize::from(odd.mean() < even.mean()));
        } else if even.victims + odd.victims > self.forget as f64 {
            self.seen.iter_mut().for_each(Seen::halve);
        }
    }

    /// `better` has the better number: the other half goes on to its other neighbour, if there is one.
    fn step(&mut self, better: usize) {
        let other = 1 - better;
        let (from, by) = (self.at[other], self.at[better]);
        let next = if from < by { by + 1 } else { by.wrapping_sub(1) };
        self.seen = [Seen::default(); 2];
        if next < LADDER.len() {
            self.at[other] = next;
            self.unsettled = self.settle;
        }
    }
}

impl LearntChoices {
    /// The first of those drawn from blocks `first`, `first + step`, … with the fewest valid pages, if a candidate is among them.
    fn draw(&mut self, choices: u32, first: u32, step: u32, blocks: &Blocks) -> Option<BlockId> {
        let count = (blocks.len() - first).div_ceil(step);
        let mut best: Option<(u32, BlockId)> = None;
        for _ in 0..choices {
            let block = BlockId(first + step * below(&mut self.random, u64::from(count)) as u32);
            let score = blocks.score(block);
            if Blocks::is_candidate_score(score) && best.is_none_or(|(least, _)| score < least) {
                best = Some((score, block));
            }
        }
        best.map(|(_, block)| block)
    }
}

impl VictimPolicy for LearntChoices {
    fn select(&mut self, blocks: &Blocks) -> BlockId {
        let half = self.half;
        self.half = 1 - half;
        let choices = self.arms.choices(half);
        if blocks.len() > 1 {
            for _ in 0..MOST_DRAWS.div_ceil(choices) {
                if let Some(block) = self.draw(choices, half as u32, 2, blocks) {
                    self.arms.note(half, blocks.score(block));
                    return block;
                }
            }
        }
        // A half without a candidate: a drive of few blocks.
        loop {
            if let Some(block) = self.draw(choices, 0, 1, blocks) {
                return block;
            }
        }
    }

    fn final_draw(&mut self) -> u64 {
        self.random.next_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arms(choices: u32) -> Arms {
        Arms::new(choices, 0, 3.0, 1_000)
    }

    /// Shows both halves so many victims, whose mean is `mean` of the number that is tried.
    fn show(arms: &mut Arms, victims: u32, mean: impl Fn(u32) -> u32) {
        for victim in 0..2 * victims {
            let half = victim as usize % 2;
            let noise = (victim / 2).wrapping_mul(2_654_435_761) >> 30;
            arms.note(half, 10 + mean(arms.choices(half)) + noise);
        }
    }

    fn tried(arms: &Arms) -> [u32; 2] {
        let mut tried = [arms.choices(0), arms.choices(1)];
        tried.sort_unstable();
        tried
    }

    #[test]
    fn it_starts_at_the_nearest_number() {
        assert_eq!(tried(&arms(10)), [10, 12]);
        assert_eq!(tried(&arms(1)), [1, 2]);
        assert_eq!(tried(&arms(256)), [128, 256]);
    }

    #[test]
    fn it_walks_to_the_least_and_stays_about_there() {
        for start in [1, 10, 256] {
            let mut arms = arms(start);
            show(&mut arms, 3_000, |choices| choices.abs_diff(24));
            assert!(tried(&arms).contains(&24), "from {start}: {:?}", tried(&arms));
        }
    }

    #[test]
    fn it_follows_where_the_least_goes() {
        let mut arms = arms(10);
        show(&mut arms, 3_000, |choices| choices.abs_diff(64));
        assert!(tried(&arms).contains(&64));
        show(&mut arms, 6_000, |choices| choices.abs_diff(3));
        assert!(tried(&arms).contains(&3), "{:?}", tried(&arms));
    }

    #[test]
    fn it_stays_where_both_are_alike_and_at_the_ends() {
        let mut middle = arms(10);
        show(&mut middle, 5_000, |_| 5);
        assert_eq!(tried(&middle), [10, 12]);
        let mut end = arms(256);
        show(&mut end, 5_000, |choices| 300 - choices);
        assert_eq!(tried(&end), [128, 256]);
    }

    #[test]
    fn what_a_change_left_is_let_go_by() {
        let mut arms = Arms::new(10, 500, 3.0, 1_000_000);
        show(&mut arms, 200, |choices| choices);
        assert_eq!(tried(&arms), [10, 12], "the first 500 victims do not count");
        show(&mut arms, 200, |choices| choices);
        assert_eq!(tried(&arms), [8, 10]);
    }
}
