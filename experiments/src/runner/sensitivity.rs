//! Sensitivity of verdicts to assumptions: every assumption is halved and doubled.

use crate::Failure;
use crate::assumptions::{Assumption, Assumptions};
use crate::manifest::{Manifest, ManifestEntry, Verdict, find};
use crate::runner::reproduce::{Plan, Record, folder_of, reproduce, stops_all_items};
use crate::session::ReproductionObserver;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::Path;

/// Factors by which assumptions are multiplied.
pub const FACTORS: [f64; 2] = [0.5, 2.0];

/// Table that [`vary`] writes to the output folder.
pub const FILE: &str = "assumptions.csv";

/// Columns of the table: the fields of an [`Effect`]; a field that is a pair has two columns.
const COLUMNS: [&str; 14] = [
    "assumption",
    "value",
    "changed_to",
    "item",
    "run",
    "claim",
    "holds_in",
    "holds_in_changed",
    "cases",
    "cases_changed",
    "verdict",
    "verdict_changed",
    "same_data",
    "refused",
];

/// Returns the reason why an item could not be run, without the scenario that programs append to it.
fn reason(error: &str) -> String {
    error.lines().next().unwrap_or_default().to_owned()
}

/// A claim under a changed assumption.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Name of the assumption.
    pub assumption: String,
    /// Value of the assumption in the register.
    pub value: f64,
    /// Changed value.
    pub changed_to: f64,
    /// Name of the item.
    pub item: String,
    /// Effort, and the settings that differ from the manifest, in the form of a command.
    pub run: String,
    /// Text of the claim.
    pub claim: String,
    /// Number of cases in which the claim holds: with the value of the register, and with the changed value.
    pub holds_in: [u64; 2],
    /// Number of cases: with the value of the register, and with the changed value.
    pub cases: [u64; 2],
    /// Verdict: with the value of the register, and with the changed value.
    pub verdicts: [Verdict; 2],
    /// True if the data of the item is identical, so that the assumption has no effect with these settings.
    pub same_data: bool,
    /// Reason why the claim cannot be decided with the changed value; the cases and the verdict are then those with
    /// the value of the register.
    #[serde(rename = "refused")]
    pub undecided_reason: Option<String>,
}

impl Effect {
    /// True if the verdict changes.
    pub fn changes_verdict(&self) -> bool {
        self.verdicts[0] != self.verdicts[1]
    }
}

/// Reproduces the items that use each of the `chosen` assumptions: with the value of the register, halved and
/// doubled. Earlier results for other items and assumptions are kept.
///
/// # Errors
///
/// The errors of [`reproduce`]; an item that is listed for an assumption but does not use it.
pub fn vary(
    manifests: &[Manifest],
    chosen: &[Assumption],
    plan: &Plan,
    watch: &dyn ReproductionObserver,
) -> Result<Vec<Effect>, Failure> {
    let mut effects = Vec::new();
    let mut tested = Vec::new();
    for assumption in chosen {
        for item in &assumption.used_by {
            let found = find(manifests, item)?;
            let base = reproduce(manifests, found, plan, watch).map_err(|error| {
                if stops_all_items(&error) { error } else { format!("{item}: {error}").into() }
            })?;
            if !base.used_assumptions.contains(&assumption.name) {
                let name = &assumption.name;
                return Err(format!("{item} does not use {name}, and the register says that it does").into());
            }
            tested.push((assumption.name.clone(), item.clone()));
            for factor in FACTORS {
                let changed_to = assumption.scaled(factor);
                let assumptions = Assumptions::register().with(&assumption.name, changed_to)?;
                let folder = format!("{}={changed_to}", assumption.name.replace('/', "-"));
                let output = plan.output.join("assumptions").join(folder);
                let changed = Plan { output: &output, assumptions: &assumptions, ..plan.clone() };
                let (changed_record, undecided_reason) = match reproduce(manifests, found, &changed, watch) {
                    Err(error) if stops_all_items(&error) => return Err(error),
                    Err(error) => (base.clone(), Some(reason(&error.to_string()))),
                    Ok(record) => (record, None),
                };
                let same_data = undecided_reason.is_none()
                    && data(manifests, found, plan.output)? == data(manifests, found, &output)?;
                let run = options_of(plan);
                let compared = compare(assumption, changed_to, &base, &changed_record, &run);
                effects.extend(compared.map(|effect| Effect {
                    same_data,
                    undecided_reason: undecided_reason.clone(),
                    ..effect
                }));
            }
        }
    }
    let is_new = |effect: &Effect| {
        tested.iter().any(|(name, item)| (name, item) == (&effect.assumption, &effect.item))
    };
    let mut all = self::effects(plan.output)?;
    all.retain(|effect| !is_new(effect));
    all.extend(effects.iter().cloned());
    let order = |effect: &Effect| (effect.assumption.clone(), effect.item.clone());
    all.sort_by_key(order);
    let path = plan.output.join(FILE);
    std::fs::write(&path, table(&all)?).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(effects)
}

/// Returns the effects as a table in CSV format.
fn table(effects: &[Effect]) -> Result<Vec<u8>, Failure> {
    let mut lines = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    lines.write_record(COLUMNS)?;
    for effect in effects {
        lines.serialize(effect)?;
    }
    Ok(lines.into_inner().map_err(|error| error.into_error())?)
}

/// Returns the tables of an item by name, without the command that made them.
fn data(
    manifests: &[Manifest],
    entry: ManifestEntry,
    output: &Path,
) -> Result<BTreeMap<OsString, String>, Failure> {
    let source = entry.item.data_source.as_ref().map_or(Ok(entry), |other| find(manifests, other))?;
    let folder = folder_of(output, source);
    let mut tables = BTreeMap::new();
    for entry in std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "csv") {
            let text = std::fs::read_to_string(&path)?;
            let rows = text.lines().filter(|line| !line.starts_with('#'));
            tables
                .insert(path.file_name().unwrap_or_default().to_owned(), rows.collect::<Vec<_>>().join("\n"));
        }
    }
    Ok(tables)
}

/// Returns the effort and the other settings in the form of a command.
fn options_of(plan: &Plan) -> String {
    let settings = plan.settings.iter().map(|(key, value)| format!(" --set '{key}={value}'"));
    format!("{}{}", plan.effort.option(), settings.collect::<String>())
}

/// Reads the results of [`vary`] in `output`; empty if it was not run there.
///
/// # Errors
///
/// Returns an error if the file is invalid.
pub fn effects(output: &Path) -> Result<Vec<Effect>, Failure> {
    let path = output.join(FILE);
    let Ok(text) = std::fs::read_to_string(&path) else { return Ok(Vec::new()) };
    let lines = csv::Reader::from_reader(text.as_bytes()).into_records();
    // Fields are found by their position, because two columns represent a pair.
    let effects = lines.map(|line| line?.deserialize(None)).collect::<Result<_, csv::Error>>();
    effects.map_err(|error| format!("{}: {error}", path.display()).into())
}

fn compare<'a>(
    assumption: &'a Assumption,
    changed_to: f64,
    base: &'a Record,
    changed: &'a Record,
    run: &'a str,
) -> impl Iterator<Item = Effect> + 'a {
    base.claims.iter().zip(&changed.claims).map(move |(before, after)| Effect {
        assumption: assumption.name.clone(),
        value: assumption.value,
        changed_to,
        item: base.item.clone(),
        run: run.to_owned(),
        claim: before.says.clone(),
        holds_in: [before.holds_in, after.holds_in],
        cases: [before.cases, after.cases],
        verdicts: [before.verdict, after.verdict],
        same_data: false,
        undecided_reason: None,
    })
}

/// Returns the register as a page of the gallery: each assumption with its meaning, the items that use it, and the
/// verdicts that change with it.
pub fn page(register: &Assumptions, effects: &[Effect]) -> String {
    let mut text = "# Assumptions\n\nNumbers that no paper gives. Each was halved and doubled, within its meaningful range, and \
                    the verdicts were compared with those of the same run with the usual value. The command is `wearwell reproduce ITEM \
                    --vary-assumptions` with the options in the last column but one. A run that is shorter than the recorded one, such as `--quick`, \
                    has wider intervals, so that its verdicts can differ from the recorded ones. If a verdict changes by one or two cases out of many, \
                    this is mostly a difference between two runs. If no digit of the data changes, the assumption has no effect in that run, for \
                    example because a warm-up is rounded up to the same number of windows. The numbers in parentheses are the cases in which a claim holds.\n\n\
                    | assumption | value | why | used by | tested with | changed verdicts |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for Assumption { name, value, why, used_by, .. } in register.all() {
        let own_effects: Vec<&Effect> = effects.iter().filter(|effect| effect.assumption == *name).collect();
        let _ = writeln!(
            text,
            "| {name} | {value} | {why} | {} | {} | {} |",
            used_by.join(", "),
            runs(&own_effects),
            changed_verdicts(&own_effects)
        );
    }
    text
}

/// Describes the tested items with their options and values, and the number of claims.
fn runs(effects: &[&Effect]) -> String {
    let mut runs: Vec<(&str, Vec<f64>, usize)> = Vec::new();
    for effect in effects {
        if !runs.iter().any(|(run, ..)| *run == effect.run) {
            runs.push((&effect.run, Vec::new(), 0));
        }
        let run = runs.iter_mut().find(|(run, ..)| *run == effect.run).expect("it was put there");
        run.2 += 1;
        if !run.1.contains(&effect.changed_to) {
            run.1.push(effect.changed_to);
        }
    }
    let runs = runs.iter().map(|(run, values, claims)| {
        let values: Vec<String> = values.iter().map(f64::to_string).collect();
        format!("{} with `{run}`: {claims} verdicts", values.join(" and "))
    });
    runs.collect::<Vec<_>>().join("; ")
}

/// Lists the verdicts that change.
fn changed_verdicts(effects: &[&Effect]) -> String {
    if effects.is_empty() {
        return "not tried".to_owned();
    }
    let changed = effects.iter().filter(|effect| effect.changes_verdict()).map(|effect| {
        let [before, after] = [0, 1].map(|at| {
            let words = effect.verdicts[at].label();
            format!("{words} ({} of {})", effect.holds_in[at], effect.cases[at])
        });
        format!("at {}, {}: \"{}\" from {before} to {after}", effect.changed_to, effect.item, effect.claim)
    });
    let undecided = effects.iter().filter_map(|effect| {
        let why = effect.undecided_reason.as_ref()?.replace(['|', '\n'], " ");
        Some(format!("at {}, {} cannot be run or decided: {why}", effect.changed_to, effect.item))
    });
    let unchanged = effects.iter().filter(|effect| effect.same_data);
    let unchanged =
        unchanged.map(|effect| format!("at {}, {}: no digit changes", effect.changed_to, effect.item));
    let mut turned: Vec<String> = changed.chain(undecided).chain(unchanged).collect();
    turned.dedup();
    if turned.is_empty() { "none".to_owned() } else { turned.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_are_read_as_written() {
        let effect = Effect {
            assumption: "paper/share".to_owned(),
            value: 0.17,
            changed_to: 0.085,
            item: "paper/item".to_owned(),
            run: "--quick --set 'length=1'".to_owned(),
            claim: "it falls, \"at once\"".to_owned(),
            holds_in: [2, 1],
            cases: [3, 4],
            verdicts: [Verdict::Partly, Verdict::NotReproduced],
            same_data: false,
            undecided_reason: None,
        };
        let refused = Effect { undecided_reason: Some("too small".to_owned()), ..effect.clone() };
        let effects = [Effect { same_data: true, ..effect.clone() }, refused, effect];
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), table(&effects).unwrap()).unwrap();
        assert_eq!(super::effects(folder.path()).unwrap(), effects);

        std::fs::write(folder.path().join(FILE), "assumption,value\npaper/share,0.17\n").unwrap();
        let error = super::effects(folder.path()).unwrap_err().to_string();
        assert!(error.contains("assumptions.csv"), "{error}");
        assert_eq!(super::effects(&folder.path().join("none")).unwrap(), []);
    }

    #[test]
    fn page_names_changed_and_unchanged_verdicts() {
        let register = Assumptions::register();
        let [first, second] = [0, 1].map(|at| register.all()[at].name.clone());
        let effect = |assumption: &str, verdicts| Effect {
            assumption: assumption.to_owned(),
            value: 1.0,
            changed_to: 2.0,
            item: "paper/item".to_owned(),
            run: "--quick".to_owned(),
            claim: "it falls".to_owned(),
            holds_in: [2, 1],
            cases: [2, 2],
            verdicts,
            same_data: false,
            undecided_reason: None,
        };
        let effects = [
            effect(&first, [Verdict::Reproduced, Verdict::Partly]),
            effect(&second, [Verdict::Reproduced, Verdict::Reproduced]),
        ];
        let mut effects = effects.to_vec();
        effects.push(Effect { undecided_reason: Some("too small".to_owned()), ..effects[0].clone() });
        effects.push(Effect {
            same_data: true,
            assumption: register.all()[2].name.clone(),
            ..effects[1].clone()
        });
        let page = page(&register, &effects);
        assert!(page.contains("; at 2, paper/item cannot be run or decided: too small |"), "{page}");
        assert!(
            page.contains(
                "at 2, paper/item: \"it falls\" from reproduced (2 of 2) to partly reproduced (1 of 2)"
            ),
            "{page}"
        );
        assert!(page.contains("| 2 with `--quick`: 1 verdicts | none |"), "{page}");
        assert!(page.contains("| at 2, paper/item: no digit changes |"), "{page}");
    }
}
