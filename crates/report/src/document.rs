//! Documents of an HTML page: JSON values with a name and of a known kind.

use crate::kinds::{KINDS, Kind, run};
use crate::rename_old_fields;
use serde_json::{Value, json};
use std::path::Path;
use wearwell_stack::RunResult;

/// Document of an HTML page.
#[derive(Clone, Debug)]
pub struct Document {
    kind: &'static Kind,
    name: String,
    data: Value,
}

impl Document {
    /// Returns the document of a run's result.
    pub fn run(name: &str, result: &RunResult) -> Document {
        Document { kind: &run::KIND, name: name.to_owned(), data: run::page_data(result) }
    }

    /// Recognises the JSON output of any command, also that of earlier versions, and returns its document.
    ///
    /// # Errors
    ///
    /// Returns an error for JSON that no command prints, for damaged JSON, and for output of another version of the
    /// program that this version cannot read.
    pub fn read(name: &str, mut value: Value) -> Result<Document, String> {
        rename_old_fields(&mut value);
        let Some(kind) = KINDS.iter().find(|kind| (kind.matches)(&value)) else {
            let commands: Vec<&str> = KINDS.iter().map(|kind| kind.command).collect();
            return Err(format!(
                "this is nothing that a page shows, which is the JSON of {}",
                commands.join(", ")
            ));
        };
        let version = version(&value).map(str::to_owned);
        let data = (kind.page_data)(value).map_err(|problem| {
            let problem = format!("this is no whole {} as {} gives it: {problem}", kind.title, kind.command);
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

    /// Returns the document of reproduced items. Their folders are below `folder`, or `folder` itself is one.
    ///
    /// # Errors
    ///
    /// Returns an error for a folder without items, and for unreadable files.
    pub fn of_reproduction(name: &str, folder: &Path) -> Result<Document, String> {
        Document::read(name, crate::kinds::reproduction::in_folder(folder)?)
    }

    /// Returns the JSON for the script of the HTML page.
    pub(crate) fn page_data(&self) -> Value {
        json!({ "kind": self.kind.name, "name": self.name, "data": self.data })
    }
}

/// Returns the version of the program that wrote the document; in a table, each row states it.
fn version(value: &Value) -> Option<&str> {
    let list = value.as_array().or_else(|| value["rows"].as_array());
    let first_row = list.and_then(|rows| rows.first()).unwrap_or(value);
    first_row["version"].as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_json_is_refused_with_the_known_kinds() {
        for value in
            [json!(null), json!([]), json!({}), json!([1, 2]), json!({ "version": "0.1.0" }), json!("x")]
        {
            let problem = Document::read("x", value.clone()).unwrap_err();
            assert!(problem.contains("`wearwell sweep"), "{value}: {problem}");
        }
    }

    #[test]
    fn unreadable_document_names_its_version() {
        let of =
            |version: &str| json!({ "version": version, "mode": "theory", "model": "fifo", "parameters": 3 });
        let problem = Document::read("x", of("9.9.9")).unwrap_err();
        assert!(problem.contains("Wearwell 9.9.9 made it"), "{problem}");
        let problem = Document::read("x", of(env!("CARGO_PKG_VERSION"))).unwrap_err();
        assert!(problem.contains("`parameters`") && !problem.contains("made it"), "{problem}");
    }
}
