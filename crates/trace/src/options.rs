//! Options for reading and writing a trace, including options of single formats.

use super::error::TraceError;
use super::fields;

/// Options for reading a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Name of the format; `None` detects it from the content, if the content identifies it.
    pub format: Option<String>,
    /// True to count bad lines and continue, instead of stopping at the first.
    pub skip_bad: bool,
    /// Volumes to read; `None` reads all.
    pub volumes: Option<Vec<u32>>,
    /// Options of the format, as (name, value); see [`Format::options`](crate::Format::options).
    pub options: Vec<(String, String)>,
}

impl ReadOptions {
    /// Returns options for reading `format`.
    pub fn named(format: &str) -> Self {
        ReadOptions { format: Some(format.to_owned()), ..Default::default() }
    }

    /// Adds an option of the format.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.options.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// Options for writing a trace.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// Name of the format.
    pub format: String,
    /// True to count requests that the format cannot hold and continue, instead of stopping at the first.
    pub drop_inexpressible: bool,
    /// Options of the format, as (name, value); see [`Format::options`](crate::Format::options).
    pub options: Vec<(String, String)>,
}

impl WriteOptions {
    /// Returns options for writing `format`.
    pub fn named(format: &str) -> Self {
        WriteOptions { format: format.to_owned(), ..Default::default() }
    }

    /// Adds an option of the format.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.options.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// An option of a format.
#[derive(Debug)]
pub struct OptionSpec {
    /// Name of the option.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// Allowed values; empty for any positive whole number below 2^32, and for text.
    pub choices: &'static [&'static str],
    /// Form of the text, for an option with text.
    pub text: Option<&'static TextOption>,
    /// Default value; `None` if the option is required, because any default could be wrong.
    pub default: Option<&'static str>,
}

/// Form of an option with text.
#[derive(Debug)]
pub struct TextOption {
    /// Description of the form, as the end of an error message.
    pub expected: &'static str,
    /// Example of a value.
    pub example: &'static str,
    /// Checks a value; returns a description of the problem.
    pub check: fn(&str) -> Result<(), String>,
}

impl OptionSpec {
    fn expected(&self) -> String {
        if let Some(text) = self.text {
            return format!("expected {}", text.expected);
        }
        match self.choices {
            [] => "expected a positive whole number below 2^32".to_owned(),
            choices => format!("expected one of {}", choices.join(", ")),
        }
    }

    /// Checks `value`; returns a description of the problem.
    fn check(&self, value: &str) -> Result<(), String> {
        if let Some(text) = self.text {
            return (text.check)(value);
        }
        let is_allowed = match self.choices {
            [] => fields::parse_u64(value.as_bytes()).is_some_and(|n| (1..=u64::from(u32::MAX)).contains(&n)),
            choices => choices.contains(&value),
        };
        if is_allowed { Ok(()) } else { Err(format!("`{}` is no such value", value.escape_debug())) }
    }
}

/// Options of one format, each with a valid value.
pub struct Settings(Vec<(&'static str, String)>);

impl Settings {
    /// Checks `values` against `options`, those of `format`, and fills in the defaults. If an option is given
    /// repeatedly, the last value is used.
    pub(crate) fn new(
        format: &'static str,
        options: &'static [OptionSpec],
        values: &[(String, String)],
    ) -> Result<Self, TraceError> {
        let unknown = values.iter().find(|(name, _)| options.iter().all(|spec| spec.name != name));
        if let Some((name, _)) = unknown {
            return Err(unknown_option(format, options, name));
        }
        let mut settings = Vec::new();
        for spec in options {
            let value =
                values.iter().rev().find(|(name, _)| name == spec.name).map(|(_, value)| value.as_str());
            let problem = |problem| TraceError::BadOption {
                format,
                option: spec.name,
                problem,
                expected: spec.expected(),
            };
            let value = value.or(spec.default).ok_or_else(|| problem("it has to be given".to_owned()))?;
            spec.check(value).map_err(problem)?;
            settings.push((spec.name, value.to_owned()));
        }
        Ok(Settings(settings))
    }

    /// Returns the value of option `name`, which the format declares.
    pub fn get(&self, name: &str) -> &str {
        let setting = self.0.iter().find(|(candidate, _)| *candidate == name);
        &setting.expect("formats ask for options that they declare").1
    }

    /// Returns the value of option `name`, a number.
    pub fn number(&self, name: &str) -> u64 {
        fields::parse_u64(self.get(name).as_bytes()).expect("checked when the settings were made")
    }
}

fn unknown_option(format: &'static str, options: &[OptionSpec], option: &str) -> TraceError {
    let names: Vec<_> = options.iter().map(|spec| spec.name).collect();
    let choices = match names.as_slice() {
        [] => "it has none".to_owned(),
        names => format!("it has {}", names.join(", ")),
    };
    TraceError::UnknownOption { format, option: option.to_owned(), choices }
}
