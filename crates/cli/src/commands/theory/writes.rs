//! Distribution of writes over the pages, as options and in answers.

use super::options::short;
use crate::exit::Failure;
use serde_json::{Value, json};
use wearwell_study::Row;
use wearwell_theory::mean_field::Structure;
use wearwell_theory::selection::Selection;
use wearwell_theory::{Class, Classes, Drive, SolvedClasses, TheoryError};

/// Logical pages of the canonical scenario.
const LOGICAL_PAGES: u64 = 2_097_152;

/// Options for the distribution of writes over the pages.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Writes (uniform unless given)")]
pub struct WriteArgs {
    /// Share of the writes that go to hot pages (r)
    #[arg(long, value_name = "R", requires = "hot_space", conflicts_with_all = ["class", "zipf"])]
    #[arg(allow_negative_numbers = true)]
    hot_writes: Option<f64>,
    /// Share of the logical pages that are hot (f)
    #[arg(long, value_name = "F", requires = "hot_writes", conflicts_with_all = ["class", "zipf"])]
    #[arg(allow_negative_numbers = true)]
    hot_space: Option<f64>,
    /// A class of pages by its shares of writes and space; once for each class, the shares sum to 1
    #[arg(long, value_name = "WRITE_SHARE:SPACE_SHARE", value_parser = class, conflicts_with = "zipf")]
    class: Vec<Class>,
    /// Zipf's law: page i is written in proportion to i to the power of minus this
    #[arg(long, value_name = "EXPONENT", allow_negative_numbers = true)]
    zipf: Option<f64>,
    /// Number of pages of Zipf's law; 2097152 unless given, 8 GiB
    #[arg(long, value_name = "N", requires = "zipf")]
    logical_pages: Option<u64>,
    /// Merge Zipf's law to this many classes, instead of extrapolating from as many as can be solved
    #[arg(long, value_name = "K", requires = "zipf")]
    zipf_classes: Option<usize>,
}

/// Parses `WRITE_SHARE:SPACE_SHARE` as a class.
fn class(text: &str) -> Result<Class, String> {
    let (writes, space) = text.split_once(':').ok_or("write WRITE_SHARE:SPACE_SHARE, such as 0.8:0.2")?;
    let share = |text: &str| text.trim().parse().map_err(|_| format!("`{text}` is no number"));
    Ok(Class { write_share: share(writes)?, space_share: share(space)? })
}

impl WriteArgs {
    /// Returns the writes of the model.
    pub fn writes(&self) -> Result<WriteDistribution, Failure> {
        if let Some(exponent) = self.zipf {
            return self.zipf(exponent);
        }
        let classes = match (self.hot_writes, self.hot_space) {
            (Some(hot_writes), Some(hot_space)) => Classes::hot_cold(hot_writes, hot_space)?,
            _ if self.class.is_empty() => Classes::uniform(),
            _ => Classes::new(&self.class)?,
        };
        let one =
            |class: &Class| json!({ "write_share": class.write_share, "space_share": class.space_share });
        let list: Vec<Value> = classes.as_slice().iter().map(one).collect();
        let parameters = vec![("classes".to_owned(), Value::Array(list))];
        Ok(WriteDistribution { text: describe(&classes), parameters, merge: None, all: classes })
    }

    fn zipf(&self, exponent: f64) -> Result<WriteDistribution, Failure> {
        let logical_pages = self.logical_pages.unwrap_or(LOGICAL_PAGES);
        let mut text = format!("Zipf's law, exponent {exponent}, over {logical_pages} pages");
        let mut parameters =
            vec![("zipf".to_owned(), json!(exponent)), ("logical_pages".to_owned(), json!(logical_pages))];
        if let Some(count) = self.zipf_classes {
            text += &format!(", merged to {count} classes");
            parameters.push(("zipf_classes".to_owned(), json!(count)));
        }
        let all = Classes::zipf(exponent, logical_pages)?;
        Ok(WriteDistribution { text, parameters, merge: self.zipf_classes, all })
    }
}

/// Classes of a model, and their description.
pub struct WriteDistribution {
    /// Description in one line.
    pub text: String,
    /// Description as parameters of an answer.
    pub parameters: Row,
    merge: Option<usize>,
    all: Classes,
}

impl WriteDistribution {
    /// True if all pages are written at the same rate.
    pub fn is_uniform(&self) -> bool {
        self.all.count() == 1
    }

    /// Returns the classes on `drive`, merged if requested.
    pub fn classes(&self, drive: &Drive) -> Result<Classes, TheoryError> {
        match self.merge {
            Some(count) => self.all.merged(count, drive),
            None => Ok(self.all.clone()),
        }
    }

    /// Returns the classes for a model that takes only a few classes and treats each separately.
    pub fn few_classes(&self, drive: &Drive) -> Result<Classes, Failure> {
        if self.merge.is_none() && self.parameters.iter().any(|(name, _)| name == "zipf") {
            let problem = "say by --zipf-classes to how many classes it is merged here";
            return Err(Failure::Usage(format!("--zipf: {problem}")));
        }
        Ok(self.classes(drive)?)
    }

    /// Solves the mean field; with more classes than the mean field accepts, merges classes and extrapolates.
    pub fn solve(
        &self,
        drive: Drive,
        structure: Structure,
        selection: &dyn Selection,
    ) -> Result<SolvedClasses, TheoryError> {
        let classes = self.classes(&drive)?;
        match self.merge {
            Some(_) => SolvedClasses::exact(drive, classes, structure, selection),
            None => SolvedClasses::of(drive, classes, structure, selection),
        }
    }
}

/// Describes classes in one line.
fn describe(classes: &Classes) -> String {
    let class = |class: &Class| {
        let percent = |share: f64| format!("{} %", short(100.0 * share));
        format!("{} to {} of the pages", percent(class.write_share), percent(class.space_share))
    };
    match classes.as_slice() {
        [_] => "uniform".into(),
        classes => classes.iter().map(class).collect::<Vec<_>>().join(", "),
    }
}
