//! Alternative shapes and sizes of merge trees.
//!
//! Writes of a leveled tree grow with the size ratio of its levels and with their number, which a larger memtable
//! lowers. A tiered tree writes each record about once per level, at the price of more sorted runs to read and more
//! space.

use super::resolved_stack::{ResolvedStack, size_text, size_value};
use super::{Change, Family, Setting};
use serde_json::{Value, json};

pub(super) const FAMILY: Family = Family {
    name: "merge_tree",
    help: "ratio, shape, level 0, memtable and table size of each merge tree",
    changes,
};

/// Size ratios of leveled trees that are tried in place of a tiered tree: RocksDB's default.
const LEVELED: [u32; 1] = [10];
/// Numbers of sorted runs of tiered trees that are tried in place of a leveled tree, as in RocksDB's universal style.
const TIERED: [u32; 2] = [4, 8];

fn changes(stack: &ResolvedStack<'_>) -> Vec<Change> {
    stack.trees().flat_map(|at| of_tree(stack, at)).collect()
}

fn of_tree(stack: &ResolvedStack<'_>, at: usize) -> Vec<Change> {
    let tree = Tree { stack, at, structure: &stack.values(at)["structure"] };
    let mut changes = match tree.structure["kind"].as_str() {
        Some("silt") => tree.silt(),
        _ => [tree.memtables(), tree.compactions()].concat(),
    };
    changes.extend(tree.scaled_sizes("table_size", &[0.5, 2.0, 4.0], "tables"));
    if stack.values(at)["trim"] == json!(false) {
        let trim = Setting::new(format!("{}.trim", stack.layer(at).key), true);
        changes.push(tree.change("trims tables that were merged".into(), vec![trim]));
    }
    changes
}

struct Tree<'a> {
    stack: &'a ResolvedStack<'a>,
    at: usize,
    structure: &'a Value,
}

impl Tree<'_> {
    fn change(&self, description: String, settings: Vec<Setting>) -> Change {
        let name = &self.stack.layer(self.at).name;
        Change::new(&FAMILY, format!("merge tree `{name}`: {description}"), settings)
    }

    fn key_of(&self, name: &str) -> String {
        format!("{}.structure.{name}", self.stack.layer(self.at).key)
    }

    /// Returns a size times `factor`, in whole pages.
    fn scaled_size(&self, name: &str, factor: f64) -> Option<u64> {
        let page = self.stack.page_bytes();
        let size = (self.structure[name].as_u64()? as f64 * factor) as u64 / page * page;
        (size > page).then_some(size)
    }

    fn scaled_sizes(&self, name: &str, factors: &[f64], description: &str) -> Vec<Change> {
        let Some(present) = self.structure[name].as_u64() else { return Vec::new() };
        let sizes = factors.iter().filter_map(|&factor| self.scaled_size(name, factor));
        let change = |size: u64| {
            let text = format!("{description} of {} instead of {}", size_text(size), size_text(present));
            self.change(text, vec![Setting::new(self.key_of(name), size_value(size))])
        };
        sizes.map(change).collect()
    }

    /// Proposes larger memtables with a proportionally larger write-ahead log, so that the log does not force earlier
    /// flushes.
    fn memtables(&self) -> Vec<Change> {
        let log = self.structure["write_ahead_log"].as_u64().filter(|&size| size > 0);
        let mut changes = self.scaled_sizes("memtable_size", &[2.0, 4.0, 16.0], "memtables");
        for (change, factor) in changes.iter_mut().zip([2, 4, 16]) {
            let scaled =
                log.map(|log| Setting::new(self.key_of("write_ahead_log"), size_value(log * factor)));
            change.settings.extend(scaled);
        }
        changes
    }

    fn compactions(&self) -> Vec<Change> {
        let present = &self.structure["compaction"];
        let number = |name: &str| present[name].as_u64().unwrap_or(0);
        match present["shape"].as_str() {
            Some("leveled") => {
                let (ratio, runs) = (number("ratio"), number("level0_runs"));
                let ratios = [ratio / 2, ratio * 2].into_iter().filter(|&new| new >= 2);
                let starts = [runs / 2, runs * 2].into_iter().filter(|&new| new >= 1);
                let other = if present["sizes"] == "from_top" { "from_bottom" } else { "from_top" };
                let counted = format!("level sizes counted {}", other.replace('_', " the "));
                ratios
                    .map(|new| self.leveled("ratio", json!(new), format!("ratio {new} instead of {ratio}")))
                    .chain(starts.map(|new| {
                        let text = format!("level 0 merged from {new} runs on instead of {runs}");
                        self.leveled("level0_runs", json!(new), text)
                    }))
                    .chain([self.leveled("sizes", json!(other), counted)])
                    .chain(TIERED.map(|runs| self.tiered(runs.into())))
                    .collect()
            }
            Some("tiered") => {
                let runs = number("runs");
                let others = [runs / 2, runs * 2].into_iter().filter(|&new| new >= 2);
                others
                    .map(|new| self.tiered(new))
                    .chain(LEVELED.map(|ratio| self.as_leveled(ratio)))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// Changes one key of a leveled tree, or sets the whole table if the scenario leaves it to the default.
    fn leveled(&self, key: &str, value: Value, text: String) -> Change {
        let is_given = self.stack.draft.get(&self.key_of("compaction.shape")).is_some();
        let setting = match is_given {
            true => Setting::new(self.key_of(&format!("compaction.{key}")), value),
            false => {
                let mut table = self.structure["compaction"].clone();
                table[key] = value;
                Setting::new(self.key_of("compaction"), table)
            }
        };
        self.change(text, vec![setting])
    }

    fn tiered(&self, runs: u64) -> Change {
        let value = json!({"shape": "tiered", "runs": runs});
        self.change(format!("tiered with {runs} runs"), vec![Setting::new(self.key_of("compaction"), value)])
    }

    fn as_leveled(&self, ratio: u32) -> Change {
        let value = json!({"shape": "leveled", "level0_runs": 4, "ratio": ratio, "sizes": "from_bottom"});
        self.change(
            format!("leveled with ratio {ratio}"),
            vec![Setting::new(self.key_of("compaction"), value)],
        )
    }

    fn silt(&self) -> Vec<Change> {
        let present = self.structure["hash_stores"].as_u64().unwrap_or(1);
        let counts = [present / 2, present * 2, present * 4].into_iter().filter(|&new| new >= 1);
        let hash_stores = counts.map(|new| {
            let text = format!("merged from {new} hash stores on instead of {present}");
            self.change(text, vec![Setting::new(self.key_of("hash_stores"), new)])
        });
        hash_stores.chain(self.scaled_sizes("log_store_size", &[2.0, 4.0], "log stores")).collect()
    }
}
