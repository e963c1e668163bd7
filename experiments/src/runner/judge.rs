//! Decision on the claims of an item by its data.

use crate::Failure;
use crate::manifest::{Claim, Item, Numbers, Tolerance, Verdict};
use crate::statements;
use crate::table::{Row, read_table};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A claim with its decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecidedClaim {
    /// Text of the claim.
    pub says: String,
    /// True if the claim was added by the manifest, false if it is a claim of the paper.
    pub ours: bool,
    /// Number of cases that were tested.
    pub cases: u64,
    /// Number of cases in which the claim holds.
    pub holds_in: u64,
    /// Printed value of the case with the largest deviation; `None` for statements.
    pub printed: Option<f64>,
    /// Measured value of the case with the largest deviation; `None` for statements.
    pub measured: Option<f64>,
    /// Cases in which the claim does not hold, some of them with their names.
    pub exceptions: String,
    /// Resulting verdict.
    pub verdict: Verdict,
}

/// Decides the claims of `item` with the tables in `folder`.
///
/// # Errors
///
/// Returns an error if a table, column or statement is missing; a claim whose rows are missing is undecided.
pub fn decide_claims(item: &Item, folder: &Path) -> Result<Vec<DecidedClaim>, Failure> {
    item.claims
        .iter()
        .map(|claim| {
            decide(claim, folder).map_err(|error| format!("claim \"{}\": {error}", claim.text).into())
        })
        .collect()
}

/// Returns the verdict on an item with these claims. The verdict depends on the claims of the paper or, if there are
/// none, on the additional claims.
pub fn verdict(decided: &[DecidedClaim]) -> Verdict {
    let verdicts_of = |ours: bool| decided.iter().filter(move |one| one.ours == ours).map(|one| one.verdict);
    Verdict::combine(verdicts_of(false))
        .or_else(|| Verdict::combine(verdicts_of(true)))
        .unwrap_or(Verdict::Undecided)
}

fn decide(claim: &Claim, folder: &Path) -> Result<DecidedClaim, Failure> {
    let decision = match (&claim.statement, &claim.numbers) {
        (Some(text), _) => decide_statement(text, folder)?,
        (None, Some(numbers)) => decide_numbers(numbers, folder)?,
        (None, None) => return Err("neither a statement nor numbers".into()),
    };
    let verdict = match decision.holds_in {
        _ if decision.cases == 0 => Verdict::Undecided,
        0 => Verdict::NotReproduced,
        all if all == decision.cases => Verdict::Reproduced,
        _ => Verdict::Partly,
    };
    Ok(DecidedClaim { says: claim.text.clone(), ours: claim.is_addition, verdict, ..decision })
}

fn undecided() -> DecidedClaim {
    DecidedClaim {
        says: String::new(),
        ours: false,
        cases: 0,
        holds_in: 0,
        printed: None,
        measured: None,
        exceptions: String::new(),
        verdict: Verdict::Undecided,
    }
}

fn decide_statement(text: &str, folder: &Path) -> Result<DecidedClaim, Failure> {
    let rows = read_table(folder, statements::FILE)?;
    let row = rows.iter().find(|row| row.field("statement").is_ok_and(|found| found == text));
    let row = row.ok_or_else(|| format!("{}.csv has no statement \"{text}\"", statements::FILE))?;
    let count = |column: &str| -> Result<u64, Failure> { Ok(row.field(column)?.parse()?) };
    Ok(DecidedClaim {
        cases: count("cases")?,
        holds_in: count("holds_in")?,
        exceptions: row.field("exceptions")?.to_owned(),
        ..undecided()
    })
}

fn decide_numbers(numbers: &Numbers, folder: &Path) -> Result<DecidedClaim, Failure> {
    let rows = read_table(folder, &numbers.table)?;
    let mut decision = undecided();
    let (mut exceptions, mut largest_distance) = (Vec::new(), -1.0);
    for row in &rows {
        let mut is_selected = !row.field(&numbers.measured_column)?.is_empty();
        for (column, value) in &numbers.rows {
            is_selected &= row.field(column)? == value;
        }
        if !is_selected {
            continue;
        }
        let measured = row.number(&numbers.measured_column)?;
        let printed = match (numbers.printed, &numbers.printed_column) {
            (Some(printed), _) => printed,
            (None, Some(column)) => row.number(column)?,
            (None, None) => return Err("nothing that is printed".into()),
        };
        decision.cases += 1;
        if is_within_tolerance(measured, printed, &numbers.tolerance, row)? {
            decision.holds_in += 1;
        } else {
            exceptions.push(format!("{measured} instead of {printed}"));
        }
        let distance = (measured - printed).abs() / printed.abs().max(f64::MIN_POSITIVE);
        if distance > largest_distance {
            largest_distance = distance;
            (decision.printed, decision.measured) = (Some(printed), Some(measured));
        }
    }
    decision.exceptions = statements::list_first(&exceptions);
    Ok(decision)
}

fn is_within_tolerance(
    measured: f64,
    printed: f64,
    tolerance: &Tolerance,
    row: &Row,
) -> Result<bool, Failure> {
    let distance = (measured - printed).abs();
    if tolerance.at_least || tolerance.at_most {
        return Ok(if tolerance.at_least { measured >= printed } else { measured <= printed });
    }
    if let Some(within) = tolerance.within {
        return Ok(distance <= within);
    }
    if let Some(percent) = tolerance.percent {
        return Ok(distance <= percent / 100.0 * printed.abs());
    }
    let mut combined: f64 = 0.0;
    for column in &tolerance.half_widths {
        combined = combined.hypot(row.number(column)?);
    }
    Ok(distance <= combined)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "# command\nstore,log2_blocks,wa,wa_ci,paper\n\
                         bitmap,16,1.117,0.01,1.1\ngecko,16,0.0267,0.001,0.02\ngecko,22,0.0371,0.001,0.05\n";

    fn decide_text(claim: &str) -> Result<DecidedClaim, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("data.csv"), TABLE).unwrap();
        let statements =
            "# command\nstatement,cases,holds_in,exceptions\n\"it falls, and falls\",4,3,d = 2\n";
        std::fs::write(folder.path().join("statements.csv"), statements).unwrap();
        let claim: Claim = toml::from_str(&format!("says = \"so\"\nverdict = \"partly\"\n{claim}")).unwrap();
        decide(&claim, folder.path()).map_err(|error| error.to_string())
    }

    fn numbers(rows: &str, rest: &str) -> Result<DecidedClaim, String> {
        decide_text(&format!("[numbers]\ntable = \"data\"\nwhere = {{ {rows} }}\nours = \"wa\"\n{rest}"))
    }

    #[test]
    fn statements_are_found_by_their_text_and_counted() {
        let decided = decide_text("statement = \"it falls, and falls\"").unwrap();
        assert_eq!((decided.cases, decided.holds_in, decided.verdict), (4, 3, Verdict::Partly));
        assert_eq!(decided.exceptions, "d = 2");
        assert!(decide_text("statement = \"it rises\"").unwrap_err().contains("no statement \"it rises\""));
    }

    #[test]
    fn numbers_hold_within_their_tolerance() {
        let bitmap = "store = \"bitmap\"";
        let near =
            numbers(bitmap, "printed = 1.1\ntolerance = { percent = 2.0, from = \"digits\" }").unwrap();
        assert_eq!((near.verdict, near.measured), (Verdict::Reproduced, Some(1.117)));
        let far = numbers(bitmap, "printed = 1.1\ntolerance = { within = 0.01, from = \"digits\" }").unwrap();
        assert_eq!((far.verdict, &far.exceptions[..]), (Verdict::NotReproduced, "1.117 instead of 1.1"));
        let at_least = numbers(bitmap, "printed = 1.1\ntolerance = { at_least = true, from = \"its word\" }");
        assert_eq!(at_least.unwrap().verdict, Verdict::Reproduced);
    }

    #[test]
    fn rows_are_compared_with_their_printed_values() {
        let widths = "printed_column = \"paper\"\ntolerance = { half_widths = [\"wa_ci\"], from = \"t\" }";
        let decided = numbers("", widths).unwrap();
        assert_eq!((decided.cases, decided.holds_in), (3, 0));
        assert_eq!(decided.printed, Some(0.02), "the furthest, in proportion");
        let percent = "printed_column = \"paper\"\ntolerance = { percent = 30.0, from = \"t\" }";
        assert_eq!(numbers("store = \"gecko\"", percent).unwrap().verdict, Verdict::Partly);
    }

    #[test]
    fn missing_tables_columns_and_statements_are_errors() {
        let tolerance = "printed = 1.1\ntolerance = { within = 0.01, from = \"digits\" }";
        assert_eq!(numbers("store = \"log\"", tolerance).unwrap().verdict, Verdict::Undecided);
        assert!(
            numbers("shop = \"log\"", tolerance).unwrap_err().contains("no column `shop`; there are store")
        );
    }
}
