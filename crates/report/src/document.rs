//! What a page shows: JSON of a known kind, under a name.

use crate::kinds::{KINDS, Kind, run};
use serde_json::{Value, json};
use std::path::Path;
use wearwell_stack::RunResult;

/// Something that a page shows.
#[derive(Clone, Debug)]
pub struct Document {
    kind: &'static Kind,
    name: String,
    data: Value,
}

impl Document {
    /// The result of a run.
    pub fn run(name: &str, result: &RunResult) -> Document {
        Document { kind: &run::KIND, name: name.to_owned(), data: run::shown(result) }
    }

    /// Whatever a command gives as JSON, by what it looks like.
    ///
    /// # Errors
    ///
    /// What no command gives, what is damaged, and what another version gave that this one does not understand.
    pub fn read(name: &str, value: Value) -> Result<Document, String> {
        let Some(kind) = KINDS.iter().find(|kind| (kind.is_it)(&value)) else {
            let known: Vec<&str> = KINDS.iter().map(|kind| kind.made_by).collect();
            return Err(format!(
                "this is nothing that a page shows, which is the JSON of {}",
                known.join(", ")
            ));
        };
        let version = version(&value).map(str::to_owned);
        let data = (kind.shown)(value).map_err(|problem| {
            let problem = format!("this is no whole {} as {} gives it: {problem}", kind.what, kind.made_by);
            match version.filter(|version| version != env!("CARGO_PKG_VERSION")) {
                Some(version) => {
                    format!(
                        "{problem}; Wearwell {version} made it, and this is {}",
                        env!("CARGO_PKG_VERSION")
                    )
                }
                None => problem,
            }
        })?;
        Ok(Document { kind, name: name.to_owned(), data })
    }

    /// What is in the folders of items that were reproduced, below `folder` or in it.
    ///
    /// # Errors
    ///
    /// A folder in which there is none, files that cannot be read.
    pub fn reproduced(name: &str, folder: &Path) -> Result<Document, String> {
        Document::read(name, crate::kinds::reproduction::in_folder(folder)?)
    }

    /// As the page has it.
    pub(crate) fn on_page(&self) -> Value {
        json!({ "kind": self.kind.name, "name": self.name, "data": self.data })
    }
}

/// The version that made it, which rows of a table say each.
fn version(value: &Value) -> Option<&str> {
    let list = value.as_array().or_else(|| value["rows"].as_array());
    let holder = list.and_then(|rows| rows.first()).unwrap_or(value);
    holder["version"].as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_foreign_is_refused_with_what_is_known() {
        for value in
            [json!(null), json!([]), json!({}), json!([1, 2]), json!({ "version": "0.1.0" }), json!("x")]
        {
            let problem = Document::read("x", value.clone()).unwrap_err();
            assert!(problem.contains("`wearwell sweep"), "{value}: {problem}");
        }
    }

    #[test]
    fn another_version_is_named_where_it_is_not_understood() {
        let of =
            |version: &str| json!({ "version": version, "mode": "theory", "model": "fifo", "parameters": 3 });
        let problem = Document::read("x", of("9.9.9")).unwrap_err();
        assert!(problem.contains("Wearwell 9.9.9 made it"), "{problem}");
        let problem = Document::read("x", of(env!("CARGO_PKG_VERSION"))).unwrap_err();
        assert!(problem.contains("`parameters`") && !problem.contains("made it"), "{problem}");
    }
}
