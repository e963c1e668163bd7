//! `--report`: an HTML page that shows results.

use crate::exit::Failure;
use crate::output::{check_can_create, check_not_input, write_text};
use serde_json::Value;
use std::path::{Path, PathBuf};
use wearwell_report::Document;

/// HTML page to be written at the end; the path was checked at the start.
#[derive(Debug)]
pub struct Page(PathBuf);

impl Page {
    /// Checks that `path` has the ending of HTML pages, that files can be created in its directory, and that it is none
    /// of the `inputs`.
    pub fn new(path: &Path, inputs: &[PathBuf]) -> Result<Self, Failure> {
        check_not_input(path, inputs)?;
        let ending = path.extension().and_then(|extension| extension.to_str());
        if !matches!(ending, Some("html" | "htm")) {
            return Err(Failure::Usage(format!("{}: a report ends in .html", path.display())));
        }
        check_can_create(path)?;
        Ok(Page(path.to_owned()))
    }

    /// Writes the HTML page; if that fails, the previous file stays.
    pub fn write(&self, title: &str, documents: &[Document]) -> Result<(), Failure> {
        write_text(&self.0, &wearwell_report::page(title, documents))
    }

    /// Writes an HTML page from the JSON of a command.
    pub fn write_value(&self, title: &str, value: Value) -> Result<(), Failure> {
        let document = Document::read(title, value).map_err(Failure::run)?;
        self.write(title, &[document])
    }
}
