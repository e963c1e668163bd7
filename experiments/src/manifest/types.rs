//! What a manifest says: a paper, its figures, tables and printed claims, and what became of each.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A paper, or a set of questions of our own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// How it is named in commands.
    pub name: String,
    /// Authors, title, where it appeared.
    pub title: String,
    /// What it is about, in a sentence.
    pub about: String,
    /// What can be reproduced, in the order of the paper.
    #[serde(default, rename = "item")]
    pub items: Vec<Item>,
}

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A figure of the paper.
    Figure,
    /// A table of the paper.
    Table,
    /// Something that its text says.
    Claim,
    /// A question that it leaves open.
    Question,
}

/// A figure, a table, a printed claim or a question.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// How it is named in commands, after its paper and a slash.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// What it is about.
    pub title: String,
    /// What the paper says or shows, in our words.
    pub says: String,
    /// The program that finds it out, by its name in the table of programs.
    #[serde(default)]
    pub program: Option<String>,
    /// Another item, by its full name, whose data decides this one too.
    #[serde(default)]
    pub data_of: Option<String>,
    /// Why it cannot be reproduced here, where it has neither.
    #[serde(default)]
    pub impossible: Option<String>,
    /// Settings of the program for an answer within minutes.
    #[serde(default)]
    pub quick: toml::Table,
    /// Settings of the program as in the paper, or better.
    #[serde(default)]
    pub full: toml::Table,
    /// What there is to say beside tables, plots and verdicts: how it is set up, what was found. Markdown.
    #[serde(default)]
    pub text: Option<String>,
    /// What is held against the paper.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
}

/// A sentence and how it is decided: by a statement that the program tries, or by numbers of its tables.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The paper's sentence in our words.
    pub says: String,
    /// Whether it is ours and not the paper's; then it does not count for the paper's verdict.
    #[serde(default)]
    pub ours: bool,
    /// A statement of the program, by its text: holds in all cases, in some or in none.
    #[serde(default)]
    pub statement: Option<String>,
    /// Numbers of a table of the program, each near enough to what is printed.
    #[serde(default)]
    pub numbers: Option<Numbers>,
    /// Our verdict on the full run.
    pub verdict: Verdict,
    /// Why, where it differs.
    #[serde(default)]
    pub why: Option<String>,
}

/// Cells of a table of the program, and what they are held against.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Numbers {
    /// The table, by the name of its file.
    pub table: String,
    /// Its rows: those with these fields, and a number of ours; all without.
    #[serde(default, rename = "where")]
    pub rows: BTreeMap<String, String>,
    /// The column with our numbers.
    pub ours: String,
    /// What the paper prints for all of these rows.
    #[serde(default)]
    pub printed: Option<f64>,
    /// Or the column with what it prints for each.
    #[serde(default)]
    pub printed_column: Option<String>,
    /// How near is near enough.
    pub tolerance: Tolerance,
}

/// How near two numbers are to be.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// So much at most, in the number's own unit.
    #[serde(default)]
    pub within: Option<f64>,
    /// So many per cent of what is printed at most.
    #[serde(default)]
    pub percent: Option<f64>,
    /// Columns with half-widths of intervals: their root of the sum of squares at most.
    #[serde(default)]
    pub half_widths: Vec<String>,
    /// Ours is this or more than what is printed, whatever the distance.
    #[serde(default)]
    pub at_least: bool,
    /// Ours is this or less, whatever the distance.
    #[serde(default)]
    pub at_most: bool,
    /// Where that comes from.
    pub from: String,
}

/// What became of a claim or an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It holds in every case that was tried.
    Reproduced,
    /// In some cases, or some of its claims.
    Partly,
    /// In none.
    NotReproduced,
    /// It needs what cannot be had.
    Impossible,
    /// Its data has no case of it, as under settings other than the manifest's.
    Undecided,
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Partly => "partly reproduced",
            Verdict::NotReproduced => "not reproduced",
            Verdict::Impossible => "impossible here",
            Verdict::Undecided => "not decided",
        }
    }

    /// Of several: all, some or none of those that are decided reproduced.
    pub fn of_all(verdicts: impl IntoIterator<Item = Verdict>) -> Option<Verdict> {
        let decided = verdicts.into_iter().filter(|verdict| *verdict != Verdict::Undecided);
        decided.reduce(|one, other| if one == other { one } else { Verdict::Partly })
    }
}

impl Item {
    /// What our verdict on it is, by those on the paper's claims.
    pub fn verdict(&self) -> Verdict {
        if self.impossible.is_some() {
            return Verdict::Impossible;
        }
        let of_paper = self.claims.iter().filter(|claim| !claim.ours).map(|claim| claim.verdict);
        let of_ours = self.claims.iter().map(|claim| claim.verdict);
        Verdict::of_all(of_paper).or_else(|| Verdict::of_all(of_ours)).unwrap_or(Verdict::Undecided)
    }
}
