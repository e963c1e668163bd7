//! Contents of a manifest: a paper with its figures, tables and printed claims, and the verdict on each.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A paper, or a set of additional questions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Name in commands.
    pub name: String,
    /// Authors, title and publication.
    pub title: String,
    /// Subject in one sentence.
    pub about: String,
    /// Items that can be reproduced, in the order of the paper.
    #[serde(default, rename = "item")]
    pub items: Vec<Item>,
}

/// Kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// A figure of the paper.
    Figure,
    /// A table of the paper.
    Table,
    /// A statement in the text of the paper.
    Claim,
    /// A question that the paper leaves open.
    Question,
}

/// A figure, a table, a printed claim or a question.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Name in commands, after its paper and a slash.
    pub name: String,
    /// Kind of the item.
    pub kind: ItemKind,
    /// Subject of the item.
    pub title: String,
    /// Statement or contents of the paper, in our words.
    #[serde(rename = "says")]
    pub summary: String,
    /// Program that computes the item, by its name in the table of programs.
    #[serde(default)]
    pub program: Option<String>,
    /// Full name of another item whose data also decides the claims of this item.
    #[serde(rename = "data_of", default)]
    pub data_source: Option<String>,
    /// Reason why the item cannot be reproduced here, if it has neither a program nor a source of data.
    #[serde(default)]
    pub impossible: Option<String>,
    /// Settings of the program for an answer within minutes.
    #[serde(default)]
    pub quick: toml::Table,
    /// Settings of the program as in the paper, or better.
    #[serde(default)]
    pub full: toml::Table,
    /// Additional text about set-up and results, in Markdown.
    #[serde(default)]
    pub text: Option<String>,
    /// Claims that are compared with the paper.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
}

/// A sentence of the paper, and the rule that decides if the sentence holds: a statement that the program tests, or
/// numbers of its tables.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Sentence of the paper, in our words.
    #[serde(rename = "says")]
    pub text: String,
    /// True if the claim is an addition of the manifest, which does not count for the verdict on the paper.
    #[serde(rename = "ours", default)]
    pub is_addition: bool,
    /// Text of a statement that the program tests. The statement holds in all cases, in some cases or in none.
    #[serde(default)]
    pub statement: Option<String>,
    /// Numbers of a table of the program, each of which must be near the number that the paper prints.
    #[serde(default)]
    pub numbers: Option<Numbers>,
    /// Verdict on the full run.
    pub verdict: Verdict,
    /// Reason for a difference.
    #[serde(default)]
    pub why: Option<String>,
}

/// Cells of a table of the program, and the values that they are compared with.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Numbers {
    /// Table of the program, by the name of its file.
    pub table: String,
    /// Fields that select rows of the table; if empty, all rows with a number are compared.
    #[serde(default, rename = "where")]
    pub rows: BTreeMap<String, String>,
    /// Column with our numbers.
    #[serde(rename = "ours")]
    pub measured_column: String,
    /// Value that the paper prints for all of these rows.
    #[serde(default)]
    pub printed: Option<f64>,
    /// Alternatively, the column with the values that the paper prints.
    #[serde(default)]
    pub printed_column: Option<String>,
    /// Allowed deviation.
    pub tolerance: Tolerance,
}

/// Allowed deviation between two numbers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// Maximum absolute deviation, in the unit of the number.
    #[serde(default)]
    pub within: Option<f64>,
    /// Maximum deviation in per cent of the printed value.
    #[serde(default)]
    pub percent: Option<f64>,
    /// Columns with half-widths of intervals: the deviation is limited by the root of the sum of their squares.
    #[serde(default)]
    pub half_widths: Vec<String>,
    /// True if our number may be any value that is not below the printed number.
    #[serde(default)]
    pub at_least: bool,
    /// True if our number may be any value that is not above the printed number.
    #[serde(default)]
    pub at_most: bool,
    /// Source of the tolerance.
    #[serde(rename = "from")]
    pub source: String,
}

/// Verdict on a claim or an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The claim holds in every case that was tested.
    Reproduced,
    /// The claim holds in some cases, or some claims of the item hold.
    Partly,
    /// The claim holds in no case.
    NotReproduced,
    /// The claim needs something that is not available.
    Impossible,
    /// The data contains no case of the claim, for example with settings other than those of the manifest.
    Undecided,
}

impl Verdict {
    /// Returns the verdict in words.
    pub fn label(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Partly => "partly reproduced",
            Verdict::NotReproduced => "not reproduced",
            Verdict::Impossible => "impossible here",
            Verdict::Undecided => "not decided",
        }
    }

    /// Combines verdicts: all, some or none of the decided claims are reproduced.
    pub fn combine(verdicts: impl IntoIterator<Item = Verdict>) -> Option<Verdict> {
        let decided = verdicts.into_iter().filter(|verdict| *verdict != Verdict::Undecided);
        decided.reduce(|one, other| if one == other { one } else { Verdict::Partly })
    }
}

impl Item {
    /// Returns the verdict on the item, by those on the paper's claims.
    pub fn verdict(&self) -> Verdict {
        if self.impossible.is_some() {
            return Verdict::Impossible;
        }
        let of_paper = self.claims.iter().filter(|claim| !claim.is_addition).map(|claim| claim.verdict);
        let of_ours = self.claims.iter().map(|claim| claim.verdict);
        Verdict::combine(of_paper).or_else(|| Verdict::combine(of_ours)).unwrap_or(Verdict::Undecided)
    }
}
