//! What each verdict owes to the numbers that no paper gives: every assumption halved and doubled.

use crate::Failure;
use crate::assumptions::{Assumption, Assumptions};
use crate::manifest::{Manifest, Verdict, find};
use crate::reproduce::{Plan, Record, reproduce};
use crate::session::Watch;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::Path;

/// By how much assumptions are changed.
pub const FACTORS: [f64; 2] = [0.5, 2.0];

/// The file that [`vary`] leaves in the output folder.
pub const FILE: &str = "assumptions.json";

/// A claim under a changed assumption.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The assumption.
    pub assumption: String,
    /// Its value in the register.
    pub value: f64,
    /// Its value here.
    pub changed_to: f64,
    /// The item.
    pub item: String,
    /// The claim.
    pub claim: String,
    /// In how many of how many cases it holds with the value of the register, and here.
    pub holds_in: [u64; 2],
    /// How many cases there are, likewise.
    pub cases: [u64; 2],
    /// The verdict, likewise.
    pub verdicts: [Verdict; 2],
}

impl Effect {
    /// Whether the verdict is another one.
    pub fn turns(&self) -> bool {
        self.verdicts[0] != self.verdicts[1]
    }
}

/// Reproduces the items that use each of `chosen`, with its value of the register, halved and doubled.
///
/// # Errors
///
/// As of [`reproduce`].
pub fn vary(
    manifests: &[Manifest],
    chosen: &[Assumption],
    plan: &Plan,
    watch: &dyn Watch,
) -> Result<Vec<Effect>, Failure> {
    let mut effects = Vec::new();
    for assumption in chosen {
        for item in &assumption.used_by {
            let found = find(manifests, item)?;
            let usual = reproduce(manifests, found, plan, watch)?;
            for factor in FACTORS {
                let changed_to = assumption.times(factor);
                let assumptions = Assumptions::register().with(&assumption.name, changed_to)?;
                let folder = format!("{}={changed_to}", assumption.name.replace('/', "-"));
                let output = plan.output.join("assumptions").join(folder);
                let changed = Plan { output: &output, assumptions: &assumptions, ..plan.clone() };
                let here = reproduce(manifests, found, &changed, watch)?;
                effects.extend(compare(assumption, changed_to, &usual, &here));
            }
        }
    }
    let mut text = serde_json::to_string_pretty(&effects)?;
    text.push('\n');
    std::fs::write(plan.output.join(FILE), text)?;
    Ok(effects)
}

/// What [`vary`] left in `output`; nothing if it was not run there.
///
/// # Errors
///
/// A file that is none of its.
pub fn effects(output: &Path) -> Result<Vec<Effect>, Failure> {
    let path = output.join(FILE);
    let Ok(text) = std::fs::read_to_string(&path) else { return Ok(Vec::new()) };
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()).into())
}

fn compare<'a>(
    assumption: &'a Assumption,
    changed_to: f64,
    usual: &'a Record,
    here: &'a Record,
) -> impl Iterator<Item = Effect> + 'a {
    usual.claims.iter().zip(&here.claims).map(move |(before, after)| Effect {
        assumption: assumption.name.clone(),
        value: assumption.value,
        changed_to,
        item: usual.item.clone(),
        claim: before.says.clone(),
        holds_in: [before.holds_in, after.holds_in],
        cases: [before.cases, after.cases],
        verdicts: [before.verdict, after.verdict],
    })
}

/// The register as a page: each assumption, what it is, where it is used, and what it turns if it was tried.
pub fn page(register: &Assumptions, effects: &[Effect]) -> String {
    let mut text = "# Assumptions\n\nNumbers that no paper gives. Each was halved and doubled, by the quick settings, and the \
                    verdicts compared.\n\n| assumption | value | why | used by | tried | verdicts that turn |\n\
                    |---|---|---|---|---|---|\n"
        .to_owned();
    for Assumption { name, value, why, used_by, .. } in register.all() {
        let tried: Vec<&Effect> = effects.iter().filter(|effect| effect.assumption == *name).collect();
        let turned = tried.iter().filter(|effect| effect.turns());
        let turned: Vec<String> = turned
            .map(|effect| {
                let [before, after] = effect.verdicts.map(Verdict::words);
                format!(
                    "at {}, {}: \"{}\" from {before} to {after}",
                    effect.changed_to, effect.item, effect.claim
                )
            })
            .collect();
        let outcome = match (tried.len(), turned.len()) {
            (0, _) => "not tried".to_owned(),
            (_, 0) => "none".to_owned(),
            _ => turned.join("; "),
        };
        let _ = writeln!(
            text,
            "| {name} | {value} | {why} | {} | {} claims | {outcome} |",
            used_by.join(", "),
            tried.len()
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_what_turns_and_what_does_not() {
        let register = Assumptions::register();
        let [first, second] = [0, 1].map(|at| register.all()[at].name.clone());
        let effect = |assumption: &str, verdicts| Effect {
            assumption: assumption.to_owned(),
            value: 1.0,
            changed_to: 2.0,
            item: "paper/item".to_owned(),
            claim: "it falls".to_owned(),
            holds_in: [2, 1],
            cases: [2, 2],
            verdicts,
        };
        let effects = [
            effect(&first, [Verdict::Reproduced, Verdict::Partly]),
            effect(&second, [Verdict::Reproduced, Verdict::Reproduced]),
        ];
        let page = page(&register, &effects);
        assert!(
            page.contains("at 2, paper/item: \"it falls\" from reproduced to partly reproduced"),
            "{page}"
        );
        assert!(page.contains("| 1 claims | none |"), "{page}");
    }
}
