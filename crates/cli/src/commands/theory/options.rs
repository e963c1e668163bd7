//! Options that the models share: the drive and the cleaning policy.

use crate::exit::Failure;
use clap::ValueEnum;
use serde_json::{Value, json};
use wearwell_study::Row;
use wearwell_theory::Drive;
use wearwell_theory::mean_field::Structure;
use wearwell_theory::selection::{DChoices, GreedyLimit, Random, RandomNotFull, RandomPlusPlus, Selection};

/// Spare factor of the canonical scenario.
const SPARE_FACTOR: f64 = 0.1;
/// Number of choices of the canonical scenario.
const CHOICES: f64 = 10.0;

/// Block size.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Drive")]
pub struct BlockArgs {
    /// Pages of a block (b)
    #[arg(long, value_name = "B", default_value_t = 128)]
    pub pages_per_block: u32,
}

/// Drive parameters.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Drive")]
pub struct DriveArgs {
    #[command(flatten)]
    pub block: BlockArgs,
    #[command(flatten)]
    pub spare: SpareArgs,
}

/// Spare space, in one of its four measures.
#[derive(clap::Args, Clone, Debug)]
#[group(id = "spare space", multiple = false)]
#[command(next_help_heading = "Drive")]
pub struct SpareArgs {
    /// Spare space as (T - U) / T, for T physical and U logical pages; 0.1 unless given in one of the measures
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub spare_factor: Option<f64>,
    /// Spare space as U / T
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub load: Option<f64>,
    /// Spare space as (T - U) / U; 0.07 is the vendors' 7 %
    #[arg(long, value_name = "RATIO", allow_negative_numbers = true)]
    pub over_provisioning: Option<f64>,
    /// Spare space as T / U
    #[arg(long, value_name = "RATIO", allow_negative_numbers = true)]
    pub alpha: Option<f64>,
}

impl DriveArgs {
    /// Returns the drive of the model.
    pub fn drive(&self) -> Result<Drive, Failure> {
        Ok(Drive::new(self.block.pages_per_block, self.spare.spare_factor()?)?)
    }
}

impl SpareArgs {
    fn spare_factor(&self) -> Result<f64, Failure> {
        let measures = [
            ("load", self.load, "strictly between 0 and 1", self.load.map(|load| 1.0 - load)),
            (
                "over-provisioning",
                self.over_provisioning,
                "above 0",
                self.over_provisioning.map(|op| op / (1.0 + op)),
            ),
            ("alpha", self.alpha, "above 1", self.alpha.map(|alpha| 1.0 - 1.0 / alpha)),
        ];
        for (name, value, allowed, spare_factor) in measures {
            let (Some(value), Some(spare_factor)) = (value, spare_factor) else { continue };
            let is_sound = value.is_finite() && value > 0.0 && spare_factor > 0.0 && spare_factor < 1.0;
            return if is_sound {
                Ok(spare_factor)
            } else {
                Err(Failure::Usage(format!("--{name}: {value} is not a finite number {allowed}")))
            };
        }
        Ok(self.spare_factor.unwrap_or(SPARE_FACTOR))
    }
}

/// Policies of the mean field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Policy {
    /// The block with the fewest valid pages of `--choices` drawn at random
    DChoices,
    /// Any block
    Random,
    /// A random block with fewer valid pages than the average one
    RandomPlusPlus,
    /// A random block that is not full of valid pages
    RandomNotFull,
    /// d-choices as the number of draws grows without bound
    GreedyLimit,
}

/// Options that select the cleaning policy.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Cleaning")]
pub struct PolicyArgs {
    /// Cleaning policy: selects the next block to clean
    #[arg(long, value_enum, default_value_t = Policy::DChoices)]
    policy: Policy,
    /// Blocks drawn by d-choices (d), 1 or more, may be fractional; 10 unless given
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    choices: Option<f64>,
}

impl PolicyArgs {
    /// Returns the policy of the model.
    pub fn selection(&self) -> Result<Box<dyn Selection>, Failure> {
        if self.policy != Policy::DChoices && self.choices.is_some() {
            return Err(Failure::Usage("--choices: only --policy d-choices draws a number of blocks".into()));
        }
        Ok(match self.policy {
            Policy::DChoices => Box::new(DChoices::new(self.choices.unwrap_or(CHOICES))?),
            Policy::Random => Box::new(Random),
            Policy::RandomPlusPlus => Box::new(RandomPlusPlus),
            Policy::RandomNotFull => Box::new(RandomNotFull),
            Policy::GreedyLimit => Box::new(GreedyLimit),
        })
    }

    /// Returns the policy as parameters of an answer.
    pub fn parameters(&self) -> Row {
        let name = self.policy.to_possible_value().expect("no policy is hidden").get_name().to_owned();
        let mut row = vec![("policy".to_owned(), json!(name))];
        if self.policy == Policy::DChoices {
            row.push(("choices".to_owned(), json!(self.choices.unwrap_or(CHOICES))));
        }
        row
    }

    /// Returns the same policy for the simulator.
    pub fn simulated(&self) -> Result<Value, Failure> {
        let choices = self.choices.unwrap_or(CHOICES);
        match self.policy {
            Policy::DChoices if choices.fract() != 0.0 => {
                Err(Failure::Usage(format!("--choices: {choices} is not whole, and blocks are drawn whole")))
            }
            Policy::DChoices => Ok(json!({ "policy": "d_choices", "choices": choices as u32 })),
            Policy::Random => Ok(json!("random")),
            Policy::RandomPlusPlus => Ok(json!("random_plus_plus")),
            Policy::RandomNotFull => Ok(json!("random_not_full")),
            Policy::GreedyLimit => {
                Err(Failure::Usage("--policy: greedy-limit has no path; take many choices instead".into()))
            }
        }
    }

    /// True if any of these options was given.
    pub fn is_given(&self) -> bool {
        self.policy != Policy::DChoices || self.choices.is_some()
    }
}

/// Number of write frontiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Frontiers {
    /// Host writes and moved pages share a block
    Single,
    /// Host writes and moved pages go to separate blocks
    Double,
}

impl Frontiers {
    /// Returns the same structure in the terms of the model.
    pub fn structure(self) -> Structure {
        match self {
            Frontiers::Single => Structure::Single,
            Frontiers::Double => Structure::Double,
        }
    }

    /// Returns `single` or `double`.
    pub fn name(structure: Structure) -> &'static str {
        match structure {
            Structure::Single => "single",
            Structure::Double => "double",
        }
    }
}

/// Returns a drive as parameters of an answer.
pub fn drive_parameters(drive: &Drive) -> Row {
    let pages = ("pages_per_block".to_owned(), json!(drive.pages_per_block()));
    vec![pages, ("spare_factor".to_owned(), json!(drive.spare_factor()))]
}

/// Formats a number with at most four digits, without trailing zeros.
pub fn short(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
