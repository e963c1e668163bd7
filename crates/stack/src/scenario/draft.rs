//! Drafts of scenarios before they are checked: read from TOML or JSON, changed key by key, then turned into a
//! [`Scenario`].
//!
//! Every error names the key, and the position in the file if the file contains the error.

use super::key::{Key, Segment};
use super::short_forms::{self, ShortForm};
use super::toml_value::{self, Spans};
use super::types::Scenario;
use serde_json::{Map, Value, json};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use wearwell_base::config::ConfigError;

/// Groups of keys that express the same setting: a change of one key removes the other keys of its group from a file.
const EXCLUSIVE_KEYS: &[&[&str]] = &[
    &["device.spare_factor", "device.over_provisioning", "device.alpha", "device.load"],
    &["device.raw_capacity", "device.blocks_per_plane"],
    &["device.raw_capacity", "device.unused_blocks"],
    &["device.fit", "device.capacity"],
    &["device.fit", "device.raw_capacity"],
    &["device.fit", "device.blocks_per_plane"],
    &["ftl.free_blocks_low", "ftl.free_share_low"],
    WRITERS,
];

/// Keys of writers, of which a scenario has one.
const WRITERS: &[&str] = &["workload", "trace", "tenant"];

/// Groups of exclusive keys inside entries of a list: the list, and the keys of its entries.
const EXCLUSIVE_ENTRY_KEYS: &[(&str, &[&str])] =
    &[("tenant", &["workload", "trace"]), ("log", &["free_blocks_low", "free_share_low"])];

/// A scenario as it was written, with the changes made since.
#[derive(Clone, Debug)]
pub struct Draft {
    value: Value,
    source: Option<Source>,
    /// Keys that were changed after the scenario was read.
    changed: Vec<Key>,
}

/// The text that a draft was read from.
#[derive(Clone, Debug)]
struct Source {
    name: String,
    text: String,
    spans: Spans,
}

/// Adds the settings that the scenario of an old result lacks. A result names every setting, so a missing one did not
/// exist when the result was written; all runs then had the values that are added here.
fn fill_old_defaults(scenario: &mut Value) {
    if let Some(timing) = scenario.get_mut("timing").and_then(Value::as_object_mut) {
        timing.entry("striping").or_insert("block".into());
        timing.entry("controller").or_insert("ideal".into());
        timing.entry("erase_ahead").or_insert(false.into());
    }
}

/// An error in a scenario, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftError {
    /// The file with, if known, the line and the column of the error, counted from 1.
    pub location: Option<(String, Option<(usize, usize)>)>,
    /// The key.
    pub key: Option<String>,
    /// Description of the error, and the allowed values.
    pub problem: String,
    /// The line with the error, with a mark under the position.
    pub excerpt: Option<String>,
}

impl fmt::Display for DraftError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location {
            Some((file, Some((line, column)))) => write!(f, "{file}:{line}:{column}: ")?,
            Some((file, None)) => write!(f, "{file}: ")?,
            None => {}
        }
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        f.write_str(&self.problem)
    }
}

impl std::error::Error for DraftError {}

impl Draft {
    /// Reads a draft from the text of a TOML file; errors refer to the file as `name`.
    pub fn from_toml(text: &str, name: &str) -> Result<Self, DraftError> {
        let mut source = Source { name: name.into(), text: text.into(), spans: Spans::default() };
        match toml_value::parse(text) {
            Ok((value, spans)) => {
                source.spans = spans;
                Ok(Draft { value, source: Some(source), changed: Vec::new() })
            }
            Err(error) => Err(source.error(error.span, None, error.problem)),
        }
    }

    /// Reads a draft from the text of a JSON file: a scenario, or a result that contains a scenario.
    pub fn from_json(text: &str, name: &str) -> Result<Self, DraftError> {
        let source = Source { name: name.into(), text: text.into(), spans: Spans::default() };
        let mut value: Value = serde_json::from_str(text).map_err(|error| {
            let location = Some((name.to_owned(), Some((error.line(), error.column()))));
            DraftError { location, key: None, problem: format!("this is no JSON: {error}"), excerpt: None }
        })?;
        if let Some(scenario) = value.get_mut("scenario") {
            value = scenario.take();
            fill_old_defaults(&mut value);
        }
        Ok(Draft { value, source: Some(source), changed: Vec::new() })
    }

    /// Reads a draft from a file: as JSON (a scenario or a result) if its name ends in `.json`, otherwise as TOML.
    ///
    /// The path of a trace is relative to the file's directory.
    pub fn from_file(path: &Path) -> Result<Self, DraftError> {
        let name = path.display().to_string();
        let text = read_text(path).map_err(|error| DraftError {
            location: Some((name.clone(), None)),
            key: None,
            problem: error.to_string(),
            excerpt: None,
        })?;
        let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        let mut draft = if is_json { Self::from_json(&text, &name)? } else { Self::from_toml(&text, &name)? };
        let directory = path.parent().unwrap_or(Path::new(""));
        let tenants = draft.value.get("tenant").and_then(Value::as_array).map_or(0, Vec::len);
        let traces = (0..tenants).map(|at| format!("/tenant/{at}/trace/path"));
        for trace in traces.chain(["/trace/path".to_owned()]) {
            if let Some(Value::String(trace)) = draft.value.pointer_mut(&trace) {
                *trace = directory.join(&*trace).display().to_string();
            }
        }
        Ok(draft)
    }

    /// Makes a draft of values that the calling program built.
    pub fn from_value(value: Value) -> Self {
        Draft { value, source: None, changed: Vec::new() }
    }

    /// Returns the current values.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the value of `key`, if it is set.
    pub fn get(&self, key: &str) -> Option<&Value> {
        Key::parse(key).ok()?.segments.iter().try_fold(&self.value, |value, segment| segment.value_in(value))
    }

    /// Sets `key`, a path such as `ftl.victim.choices` or `log[0].segment_size`.
    ///
    /// Removes keys of the file that express the same setting, such as another measure of spare space. If one kind of
    /// policy or workload replaces another, the settings of the replaced kind are removed too.
    pub fn set(&mut self, key: &str, value: Value) -> Result<(), DraftError> {
        let key = Key::parse(key).map_err(|problem| setting_error(key, problem))?;
        self.remove_exclusive_keys(&key);
        self.drop_settings_of_other_kind(&key, &value);
        let value = match (short_forms::short_form_at(&key.segments), value) {
            (Some(ShortForm { tag, is_kind: true }), Value::String(name)) => table_with_name(tag, name),
            (_, value) => value,
        };
        if self.get(&key.text).is_some_and(|before| *before != value) {
            self.remove_name_of(&key);
        }
        let (last, parents) = key.segments.split_last().expect("a key has segments");
        let mut at = &mut self.value;
        for (depth, segment) in parents.iter().enumerate() {
            expand_short_form(at, &parents[..depth]);
            at = segment.value_or_insert(at).map_err(|problem| setting_error(&key.text, problem))?;
        }
        expand_short_form(at, parents);
        *last.value_or_insert(at).map_err(|problem| setting_error(&key.text, problem))? = value;
        self.changed.push(key);
        Ok(())
    }

    /// Copies the size of the drive from `fitted`, the same scenario with a drive that fits its traces, so that later
    /// steps need not read the traces.
    ///
    /// # Errors
    /// Never fails if `fitted` is the same scenario.
    pub fn store_fit(&mut self, fitted: &Scenario) -> Result<(), DraftError> {
        self.set("device.fit", json!(fitted.device.fit))?;
        self.set("device.capacity", json!(fitted.device.capacity))?;
        if let Some(trace) = &fitted.trace {
            self.set("trace.address", json!(trace.address))?;
        }
        for (at, tenant) in fitted.tenant.iter().enumerate() {
            if let Some(trace) = &tenant.trace {
                self.set(&format!("tenant[{at}].trace.address"), json!(trace.address))?;
            }
        }
        Ok(())
    }

    /// Removes `key`, so that its default applies.
    pub fn unset(&mut self, key: &str) -> Result<(), DraftError> {
        let parsed = Key::parse(key).map_err(|problem| setting_error(key, problem))?;
        if self.remove(&parsed).is_none() {
            return Err(setting_error(key, "cannot be unset: it is not set".into()));
        }
        Ok(())
    }

    fn remove(&mut self, key: &Key) -> Option<Value> {
        let (last, parents) = key.segments.split_last()?;
        let parent =
            parents.iter().try_fold(&mut self.value, |value, segment| segment.value_in_mut(value))?;
        match last {
            Segment::Name(name) => parent.as_object_mut()?.remove(name),
            Segment::Index(index) => {
                let list = parent.as_array_mut()?;
                (*index < list.len()).then(|| list.remove(*index))
            }
        }
    }

    fn remove_exclusive_keys(&mut self, key: &Key) {
        let top_level =
            EXCLUSIVE_KEYS.iter().map(|group| group.iter().map(|member| parse_known_key(member)).collect());
        let inner = EXCLUSIVE_ENTRY_KEYS.iter().filter_map(|(list, group)| match &key.segments[..] {
            [Segment::Name(name), Segment::Index(at), _, ..] if name == list => {
                Some(group.iter().map(|member| parse_known_key(&format!("{list}[{at}].{member}"))).collect())
            }
            _ => None,
        });
        let groups: Vec<Vec<Key>> = top_level.chain(inner).collect();
        for group in groups {
            if !group.iter().any(|member| key.is_within(member)) {
                continue;
            }
            for member in group {
                let given_by_hand = self.changed.iter().any(|changed| changed.is_within(&member));
                if !key.is_within(&member) && !given_by_hand && self.get(&member.text).is_some() {
                    self.remove(&member);
                    self.remove_name_of(&member);
                }
            }
        }
    }

    /// Removes the scenario's name if it describes the writer `replaced`, which no longer exists.
    fn remove_name_of(&mut self, replaced: &Key) {
        let name = parse_known_key("name");
        if WRITERS.contains(&replaced.text.as_str()) && !self.changed.iter().any(|key| key.is_within(&name)) {
            self.remove(&name);
        }
    }

    fn drop_settings_of_other_kind(&mut self, key: &Key, value: &Value) {
        let Some(parent) = key.parent() else { return };
        let names_kind = short_forms::short_form_at(&parent.segments)
            .is_some_and(|ShortForm { tag, is_kind }| is_kind && key.ends_with(tag));
        if names_kind && self.get(&key.text).is_some_and(|before| before != value) {
            self.remove(&parent);
            self.remove_name_of(&parent);
        }
    }

    /// Returns the scenario with absolute paths of its traces, if all keys and the types of their values are valid.
    pub fn scenario(&self) -> Result<Scenario, DraftError> {
        if !self.value.is_object() {
            return Err(self.error_at(None, "a scenario is a table of settings".into()));
        }
        let mut scenario = Scenario::read(&self.value).map_err(|error| {
            let key = Some(error.key.as_str()).filter(|key| !key.is_empty());
            self.error_at(key, error.problem)
        })?;
        let tenants = scenario.tenant.iter_mut().filter_map(|tenant| tenant.trace.as_mut());
        for trace in scenario.trace.iter_mut().chain(tenants) {
            // A result must be repeatable from any directory.
            let absolute = trace.path.canonicalize().or_else(|_| std::path::absolute(&trace.path));
            trace.path = absolute.unwrap_or_else(|_| std::mem::take(&mut trace.path));
        }
        Ok(scenario)
    }

    /// Adds the position in the file to an error about a setting that was found after the draft was read.
    pub fn explain(&self, error: &ConfigError) -> DraftError {
        self.error_at(Some(&error.key), error.problem.clone())
    }

    fn error_at(&self, key: Option<&str>, problem: String) -> DraftError {
        let path = key.and_then(|key| Key::parse(key).ok());
        let changed =
            path.as_ref().is_some_and(|path| self.changed.iter().any(|changed| path.is_within(changed)));
        match &self.source {
            Some(source) if !changed => {
                let span = path.and_then(|path| source.spans.nearest(&path));
                source.error(span, key.map(str::to_owned), problem)
            }
            _ => DraftError { location: None, key: key.map(str::to_owned), problem, excerpt: None },
        }
    }
}

fn parse_known_key(key: &str) -> Key {
    Key::parse(key).expect("written in this file")
}

fn setting_error(key: &str, problem: String) -> DraftError {
    DraftError { location: None, key: Some(key.into()), problem, excerpt: None }
}

fn table_with_name(tag: &str, name: String) -> Value {
    Value::Object(Map::from_iter([(tag.to_owned(), Value::String(name))]))
}

/// Replaces the value at `path` by a table, if the value is a name that stands for a table.
fn expand_short_form(value: &mut Value, path: &[Segment]) {
    let Value::String(name) = value else { return };
    if let Some(ShortForm { tag, .. }) = short_forms::short_form_at(path) {
        *value = table_with_name(tag, std::mem::take(name));
    }
}

impl Source {
    fn error(&self, span: Option<Range<usize>>, key: Option<String>, problem: String) -> DraftError {
        let position = span.clone().map(|span| self.position(span.start));
        let excerpt = span.zip(position).map(|(span, position)| self.excerpt(span, position));
        DraftError { location: Some((self.name.clone(), position)), key, problem, excerpt }
    }

    /// Returns line and column, counted from 1; columns count characters.
    fn position(&self, byte: usize) -> (usize, usize) {
        let before = &self.text[..floor_char_boundary(&self.text, byte)];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (line, column)
    }

    /// Returns the line with a mark below the error; a long line is cut to the surroundings of the error.
    fn excerpt(&self, span: Range<usize>, (line, column): (usize, usize)) -> String {
        const MAX_CHARS: usize = 200;
        const CHARS_BEFORE_ERROR: usize = 60;
        let text = self.text.lines().nth(line - 1).unwrap_or_default();
        let is_long = text.chars().nth(MAX_CHARS).is_some();
        let skipped = if is_long { (column - 1).saturating_sub(CHARS_BEFORE_ERROR) } else { 0 };
        // Control characters, which a terminal might interpret, are replaced by a placeholder.
        let shown = text.chars().skip(skipped).take(MAX_CHARS);
        let shown: String =
            shown.map(|of| if of.is_control() && of != '\t' { '\u{fffd}' } else { of }).collect();
        let span = floor_char_boundary(&self.text, span.start)..floor_char_boundary(&self.text, span.end);
        let first_line = self.text[span].lines().next().unwrap_or_default();
        let before = column - 1 - skipped;
        let marks = "^".repeat(first_line.chars().count().clamp(1, MAX_CHARS.saturating_sub(before).max(1)));
        let margin = " ".repeat(line.to_string().len());
        format!("{margin} |\n{line} | {shown}\n{margin} | {}{marks}", " ".repeat(before))
    }
}

/// Reads the whole text of a file. A device may be endless, so anything but a regular file is read up to a limit longer
/// than any scenario.
fn read_text(path: &Path) -> std::io::Result<String> {
    const MAX_BYTES: u64 = 64 << 20;
    let file = File::open(path)?;
    if file.metadata()?.is_file() {
        return std::io::read_to_string(file);
    }
    let text = std::io::read_to_string(file.take(MAX_BYTES + 1))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(std::io::Error::other("this goes on for longer than any scenario"));
    }
    Ok(text)
}

fn floor_char_boundary(text: &str, byte: usize) -> usize {
    (0..=byte.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// Parses a value from a command line: TOML, or a bare word as text (`greedy`, `8 GiB`).
pub fn parse_value(text: &str) -> Result<Value, String> {
    match toml_value::parse(&format!("value = {text}")) {
        Ok((Value::Object(table), _)) if table.len() == 1 => Ok(table.into_iter().next().expect("one").1),
        _ if text.trim().is_empty() => Err("is empty".into()),
        _ if text.trim_start().starts_with(['"', '\'', '[', '{']) => {
            Err(format!("`{text}` is no TOML value"))
        }
        _ => Ok(Value::String(text.trim().into())),
    }
}

#[cfg(test)]
mod tests;
