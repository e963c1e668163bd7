//! Victim policy that takes the fewest valid pages among blocks drawn at random, and learns the number of draws while
//! running.

use super::{Blocks, Properties, VictimKind, VictimPolicy};
use crate::config::{ConfigError, Entry, StoreSize};
use crate::seed::{Random, random_below};
use crate::units::BlockId;
use rand::RngCore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Initial number of blocks drawn for each victim, 1 to 256; rounded to the nearest number of the ladder.
    #[schemars(range(min = 1, max = 256))]
    pub choices: u32,
    /// Length of an epoch in victims per block, above 0. The tried number and the base number alternate by epoch; the
    /// first half of each epoch is ignored.
    pub epoch: f64,
    /// Number of standard errors by which the trial must differ from the base to be decided; above 0.
    #[serde(alias = "sureness")]
    pub confidence: f64,
}

impl Default for Config {
    fn default() -> Self {
        Config { choices: 10, epoch: 4.0, confidence: 3.0 }
    }
}

impl VictimKind for Config {
    const ENTRY: Entry = Entry {
        name: "learnt_choices",
        help: "fewest valid pages among blocks drawn at random, as many as were found to leave victims emptiest while running",
        source: "our own, on the d-choices of Van Houdt, Performance Evaluation 70 (2013), and Li, Lee and Lui, SIGMETRICS 2013",
    };
    const PROPERTIES: Properties = Properties { draws_random: true, ..Properties::NONE };
    type Policy = LearntChoices;

    fn build(&self, size: &StoreSize) -> Result<LearntChoices, ConfigError> {
        if !(1..=256).contains(&self.choices) {
            let problem = format!("is {}; it must be from 1 to 256", self.choices);
            return Err(ConfigError::new("choices", problem));
        }
        if !(self.epoch > 0.0 && self.epoch <= 1e6) {
            return Err(ConfigError::new("epoch", format!("is {}; it must be above 0", self.epoch)));
        }
        if !(self.confidence > 0.0 && self.confidence.is_finite()) {
            return Err(ConfigError::new(
                "confidence",
                format!("is {}; it must be above 0", self.confidence),
            ));
        }
        let epoch = ((self.epoch * f64::from(size.blocks)) as u64).max(MIN_EPOCH_VICTIMS);
        Ok(LearntChoices {
            trial: Trial::new(self.choices, epoch, self.confidence),
            random: size.seed.derive("victim").random(),
        })
    }
}

/// Numbers of choices that the policy may use, each 20 % to 100 % above the previous one.
const LADDER: [u32; 16] = [1, 2, 3, 4, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128, 256];

/// Minimum number of victims per epoch.
const MIN_EPOCH_VICTIMS: u64 = 64;

/// Minimum number of comparisons before a decision, and number of comparisons after which the other neighbour is tried.
const MIN_PAIRS: usize = 2;
const MAX_PAIRS: usize = 4;

/// Draws like [`super::d_choices`], alternating by epoch between two neighbours of the ladder, on the whole drive.
///
/// The number on trial is compared with the mean of the epochs before and after it, which cancels changes of the
/// workload that are linear over three epochs. Nothing is recorded in the first half of an epoch: more choices find
/// emptier victims at first, even if later victims cost more. Trials of two numbers at a time, each on half of the
/// blocks, were rejected. Cold pages moved by the half with fewer choices end in both halves and stay in the other
/// half, so that the smaller number always looks better.
pub struct LearntChoices {
    trial: Trial,
    random: Random,
}

/// Statistics of the valid pages in an epoch's victims.
#[derive(Clone, Copy, Default)]
struct EpochStats {
    victims: f64,
    sum: f64,
    squares: f64,
}

impl EpochStats {
    fn add(&mut self, valid_pages: u32) {
        let valid_pages = f64::from(valid_pages);
        self.victims += 1.0;
        self.sum += valid_pages;
        self.squares += valid_pages * valid_pages;
    }

    fn mean(&self) -> f64 {
        self.sum / self.victims
    }

    /// Returns the square of the standard error of the mean.
    fn squared_standard_error(&self) -> f64 {
        (self.squares / self.victims - self.mean().powi(2)).max(0.0) / self.victims
    }
}

/// The number in use (base), and its neighbour on trial.
struct Trial {
    /// Index of the base in the ladder.
    base: usize,
    /// Index of the number on trial in the ladder.
    trial: usize,
    /// True if the current epoch uses the number on trial.
    is_trial_epoch: bool,
    /// Number of victims so far in this epoch, and number of victims per epoch.
    victims: u64,
    epoch: u64,
    confidence: f64,
    current: EpochStats,
    /// Last epoch of the base, and the epoch of the trial after it.
    base_before: Option<EpochStats>,
    trial_stats: Option<EpochStats>,
    /// Differences of mean valid pages between the trial and the base, each with the square of its standard error.
    pairs: Vec<(f64, f64)>,
}

impl Trial {
    fn new(choices: u32, epoch: u64, confidence: f64) -> Self {
        let base = (0..LADDER.len()).min_by_key(|&at| LADDER[at].abs_diff(choices)).unwrap_or(0);
        let trial = if base + 1 < LADDER.len() { base + 1 } else { base - 1 };
        Trial {
            base,
            trial,
            is_trial_epoch: false,
            victims: 0,
            epoch,
            confidence,
            current: EpochStats::default(),
            base_before: None,
            trial_stats: None,
            pairs: Vec::with_capacity(MAX_PAIRS),
        }
    }

    fn choices(&self) -> u32 {
        LADDER[if self.is_trial_epoch { self.trial } else { self.base }]
    }

    /// Records the valid pages of a victim.
    fn record(&mut self, valid_pages: u32) {
        self.victims += 1;
        if 2 * self.victims > self.epoch {
            self.current.add(valid_pages);
        }
        if self.victims < self.epoch {
            return;
        }
        let stats = std::mem::take(&mut self.current);
        self.victims = 0;
        if self.is_trial_epoch {
            self.trial_stats = Some(stats);
        } else {
            if let (Some(base_before), Some(tried)) = (self.base_before, self.trial_stats.take()) {
                let difference = tried.mean() - 0.5 * (base_before.mean() + stats.mean());
                self.pairs.push((
                    difference,
                    tried.squared_standard_error()
                        + 0.25 * (base_before.squared_standard_error() + stats.squared_standard_error()),
                ));
            }
            // Results from before the change do not describe the new base.
            self.base_before = if self.decide() { None } else { Some(stats) };
        }
        self.is_trial_epoch = !self.is_trial_epoch;
    }

    /// Adopts the number on trial if its victims are significantly emptier, and then tries the next number in the
    /// same direction. Switches to the other neighbour if they are significantly fuller, or without significance for
    /// long. Returns true if the number in use has changed.
    fn decide(&mut self) -> bool {
        if self.pairs.len() < MIN_PAIRS {
            return false;
        }
        let count = self.pairs.len() as f64;
        let mean = self.pairs.iter().map(|(difference, _)| difference).sum::<f64>() / count;
        let spread: f64 = self.pairs.iter().map(|(difference, _)| (difference - mean).powi(2)).sum();
        let within_epochs: f64 = self.pairs.iter().map(|(_, uncertainty)| uncertainty).sum::<f64>() / count;
        // The error is the larger of the spread between pairs and the spread within epochs.
        let error = (within_epochs.max(spread / (count - 1.0)) / count).sqrt();
        let is_significant = mean.abs() > self.confidence * error;
        if is_significant && mean < 0.0 {
            let (from, to) = (self.base, self.trial);
            self.base = to;
            self.start_trial(if to > from { to.checked_add(1) } else { to.checked_sub(1) }, from);
            return true;
        }
        if is_significant || self.pairs.len() == MAX_PAIRS {
            let opposite_neighbour =
                if self.trial > self.base { self.base.checked_sub(1) } else { Some(self.base + 1) };
            self.start_trial(opposite_neighbour, self.trial);
        }
        false
    }

    /// Tries the number at `index`, if the ladder has it, otherwise the number at `fallback`.
    fn start_trial(&mut self, index: Option<usize>, fallback: usize) {
        self.pairs.clear();
        self.trial = index.filter(|&place| place < LADDER.len()).unwrap_or(fallback);
    }
}

impl VictimPolicy for LearntChoices {
    fn select(&mut self, blocks: &Blocks) -> BlockId {
        loop {
            let mut best: Option<(u32, BlockId)> = None;
            for _ in 0..self.trial.choices() {
                let block = BlockId(random_below(&mut self.random, u64::from(blocks.len())) as u32);
                let score = blocks.score(block);
                if Blocks::is_candidate_score(score) && best.is_none_or(|(least, _)| score < least) {
                    best = Some((score, block));
                }
            }
            if let Some((score, block)) = best {
                self.trial.record(score);
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

    fn trial(choices: u32) -> Trial {
        Trial::new(choices, 100, 3.0)
    }

    /// Feeds `epochs` epochs of victims, with means `mean` for the number in use and the epoch.
    fn feed(trial: &mut Trial, epochs: u32, mean: impl Fn(u32, u32) -> u32) {
        for epoch in 0..epochs {
            for victim in 0..100_u32 {
                let noise = (epoch * 100 + victim).wrapping_mul(2_654_435_761) >> 30;
                trial.record(10 + mean(trial.choices(), epoch) + noise);
            }
        }
    }

    fn in_use(trial: &Trial) -> u32 {
        LADDER[trial.base]
    }

    #[test]
    fn initial_choices_are_rounded_to_the_ladder() {
        assert_eq!([1, 10, 11, 256].map(|choices| in_use(&trial(choices))), [1, 10, 10, 256]);
    }

    #[test]
    fn trial_finds_the_optimum_and_stays_there() {
        for start in [1, 10, 256] {
            let mut trial = trial(start);
            feed(&mut trial, 120, |choices, _| choices.abs_diff(24));
            assert_eq!(in_use(&trial), 24, "from {start}");
            feed(&mut trial, 200, |choices, _| choices.abs_diff(24));
            assert_eq!(in_use(&trial), 24, "from {start}");
        }
    }

    #[test]
    fn trial_follows_a_moving_optimum() {
        let mut trial = trial(10);
        feed(&mut trial, 120, |choices, _| choices.abs_diff(64));
        assert_eq!(in_use(&trial), 64);
        feed(&mut trial, 200, |choices, _| choices.abs_diff(3));
        assert_eq!(in_use(&trial), 3);
    }

    #[test]
    fn number_stays_if_all_numbers_perform_alike() {
        let mut constant = trial(10);
        feed(&mut constant, 200, |_, _| 5);
        assert_eq!(in_use(&constant), 10);
        let mut drifting = trial(10);
        feed(&mut drifting, 200, |_, epoch| epoch);
        assert_eq!(in_use(&drifting), 10, "a load that gets heavier by itself");
        let mut oscillating = trial(10);
        feed(&mut oscillating, 200, |_, epoch| epoch % 3 * 5);
        assert_eq!(in_use(&oscillating), 10, "one that comes and goes");
    }
}
