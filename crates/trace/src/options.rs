//! How a trace is to be read or written, with the options that only some formats have.

use super::error::TraceError;
use super::fields;

/// How to read a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Name of the format; `None` lets the content decide where it is unmistakable.
    pub format: Option<String>,
    /// Count bad lines and go on, instead of stopping at the first.
    pub skip_bad: bool,
    /// Read these volumes only.
    pub volumes: Option<Vec<u32>>,
    /// Options of the format, as (name, value); see [`Format::options`](crate::Format::options).
    pub options: Vec<(String, String)>,
}

impl ReadOptions {
    /// Options for reading `format`.
    pub fn named(format: &str) -> Self {
        ReadOptions { format: Some(format.to_owned()), ..Default::default() }
    }

    /// The same with one option of the format more.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.options.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// How to write a trace.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// Name of the format.
    pub format: String,
    /// Count requests that the format cannot hold and go on, instead of stopping at the first.
    pub drop_inexpressible: bool,
    /// Options of the format, as (name, value); see [`Format::options`](crate::Format::options).
    pub options: Vec<(String, String)>,
}

impl WriteOptions {
    /// Options for writing `format`.
    pub fn named(format: &str) -> Self {
        WriteOptions { format: format.to_owned(), ..Default::default() }
    }

    /// The same with one option of the format more.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.options.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// An option of a format.
#[derive(Debug)]
pub struct OptionSpec {
    /// Its name.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// The values it takes; empty for any positive whole number below 2^32, and where it takes text.
    pub choices: &'static [&'static str],
    /// What text it takes, where it takes text.
    pub text: Option<&'static TextOption>,
    /// The value when none is given; `None` where one has to be given, because any guess could be wrong.
    pub default: Option<&'static str>,
}

/// An option that takes text of a form of its own.
#[derive(Debug)]
pub struct TextOption {
    /// The form, as the end of a sentence that says what is expected.
    pub expected: &'static str,
    /// A value.
    pub example: &'static str,
    /// What is wrong with a value, if anything is.
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

    /// What is wrong with `value`, if anything is.
    fn check(&self, value: &str) -> Result<(), String> {
        if let Some(text) = self.text {
            return (text.check)(value);
        }
        let is_allowed = match self.choices {
            [] => fields::whole(value.as_bytes()).is_some_and(|n| (1..=u64::from(u32::MAX)).contains(&n)),
            choices => choices.contains(&value),
        };
        if is_allowed { Ok(()) } else { Err(format!("`{}` is no such value", value.escape_debug())) }
    }
}

/// The options of one format with a valid value each.
pub struct Settings(Vec<(&'static str, String)>);

impl Settings {
    /// Checks `given` against `options`, those of `format`, and fills in the defaults. The last value wins.
    pub(crate) fn new(
        format: &'static str,
        options: &'static [OptionSpec],
        given: &[(String, String)],
    ) -> Result<Self, TraceError> {
        let unknown = given.iter().find(|(name, _)| options.iter().all(|spec| spec.name != name));
        if let Some((name, _)) = unknown {
            return Err(unknown_option(format, options, name));
        }
        let mut settings = Vec::new();
        for spec in options {
            let value =
                given.iter().rev().find(|(name, _)| name == spec.name).map(|(_, value)| value.as_str());
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

    /// The value of option `name`, which the format declares.
    pub fn get(&self, name: &str) -> &str {
        let setting = self.0.iter().find(|(own, _)| *own == name);
        &setting.expect("formats ask for options that they declare").1
    }

    /// The value of option `name`, a number.
    pub fn number(&self, name: &str) -> u64 {
        fields::whole(self.get(name).as_bytes()).expect("checked when the settings were made")
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
