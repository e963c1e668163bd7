//! Common parts of all configurations: errors that name the key, the sizes that a part is built for, and the
//! two forms that select a part from its table: `"greedy"` or `{ policy = "d_choices", choices = 10 }`.

use crate::seed::Seed;
use schemars::Schema;
use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// Error in a setting: the key and the problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct ConfigError {
    /// Path of the key, such as `ftl.victim.choices`.
    pub key: String,
    /// Problem, and the values that are allowed.
    pub problem: String,
}

impl ConfigError {
    /// Returns the error that `key` has `problem`. Numbers with very many digits are written with an exponent.
    pub fn new(key: impl Into<String>, problem: impl Into<String>) -> Self {
        ConfigError { key: key.into(), problem: with_short_numbers(problem.into()) }
    }

    /// Prefixes the key of the error with `parent`.
    pub fn within(mut self, parent: &str) -> Self {
        self.key = format!("{parent}.{}", self.key);
        self
    }
}

/// Longer digit strings are shortened: no reasonable value has that many digits.
const MAX_DIGITS: usize = 25;

/// Returns `text` with longer numbers as a power of ten.
fn with_short_numbers(text: String) -> String {
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    let mut shortened = String::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find(is_digit) {
        let digits = rest[start..].find(|c| !is_digit(c)).unwrap_or(rest.len() - start);
        let (before, number) = (&rest[..start], &rest[start..start + digits]);
        // A final point may be the end of the sentence.
        let digits = number.trim_end_matches('.').len().max(1);
        let number = &number[..digits];
        shortened += before;
        match number.parse::<f64>() {
            Ok(value) if digits > MAX_DIGITS => shortened += &format!("{value:e}"),
            _ => shortened += number,
        }
        rest = &rest[start + digits..];
    }
    shortened + rest
}

/// Sizes of the store that a policy is built for.
#[derive(Clone, Copy, Debug)]
pub struct StoreSize {
    /// Erase blocks (segments) of the medium.
    pub blocks: u32,
    /// Pages per erase block.
    pub pages_per_block: u32,
    /// Logical pages that the store offers.
    pub logical_pages: u32,
    /// Seed of the store; a part derives its own seed from it by name.
    pub seed: Seed,
}

impl StoreSize {
    /// A block of one page, for queries of a configuration that do not depend on the size.
    pub const MIN: StoreSize = StoreSize { blocks: 1, pages_per_block: 1, logical_pages: 1, seed: Seed(0) };
}

/// Listing entry of a part: its name in scenarios, a line of help, and its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name used in scenarios.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// Paper or document that describes the part.
    pub source: &'static str,
}

/// Reads a part in either form: its name alone, with all settings at their defaults, or a table whose key
/// `tag` holds the name.
///
/// `T` reads the table. Unlike an untagged enum, this visitor dispatches on the type of the input, so errors
/// of `T` are kept: they name the key and list the choices.
pub fn named_or_table<'de, D, T>(
    deserializer: D,
    what: &'static str,
    tag: &'static str,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct NameOrTable<T> {
        what: &'static str,
        tag: &'static str,
        table: PhantomData<T>,
    }

    impl<'de, T: Deserialize<'de>> Visitor<'de> for NameOrTable<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(
                f,
                "the name of a {0}, or a table with the name as `{1}` and its settings",
                self.what, self.tag
            )
        }

        fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<T, E> {
            T::deserialize(MapDeserializer::new(std::iter::once((self.tag, name))))
        }

        fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(table))
        }
    }

    deserializer.deserialize_any(NameOrTable { what, tag, table: PhantomData })
}

/// Completes the schema of a part: each table gets its help line and its second name, and names alone are also allowed.
///
/// `aliases` are pairs of a second name and the name that it stands for.
pub fn complete_schema(schema: &mut Schema, tag: &str, entries: &[Entry], aliases: &[(&str, &str)]) {
    let Some(forms) = schema.get_mut("oneOf").and_then(|forms| forms.as_array_mut()) else { return };
    for (form, entry) in forms.iter_mut().zip(entries) {
        form["description"] = entry.help.into();
        if let Some(&(alias, name)) = aliases.iter().find(|(_, name)| *name == entry.name) {
            form["properties"][tag] = serde_json::json!({ "type": "string", "enum": [name, alias] });
        }
    }
    let names = entries.iter().map(|entry| entry.name).chain(aliases.iter().map(|&(alias, _)| alias));
    forms.push(serde_json::json!({
        "description": "a name alone: every setting at its default",
        "type": "string",
        "enum": names.collect::<Vec<_>>(),
    }));
}

/// Defines the configuration of a part as an enum over its table, and the listing of the table.
///
/// A line is a variant and the type of its settings; the variant's name in snake case is the name in
/// scenarios, and `#[serde(alias = "...")]` adds a second name.
#[macro_export]
macro_rules! named_config {
    (
        $(#[$attribute:meta])*
        enum $Config:ident, list $ENTRIES:ident, aliases $ALIASES:ident,
        of $Part:ident, called $what:literal, tag $tag:literal;
        $($(#[serde(alias = $alias:literal)])? $Variant:ident: $Settings:ty;)*
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
        #[serde(tag = $tag, rename_all = "snake_case")]
        #[schemars(transform = $Config::complete_schema)]
        pub enum $Config {
            $(
                #[allow(missing_docs)]
                $Variant($Settings),
            )*
        }

        #[doc = concat!("Every ", $what, ".")]
        pub static $ENTRIES: &[$crate::config::Entry] = &[$(<$Settings as $Part>::ENTRY),*];

        #[doc = concat!("Second names of ", $what, "s, each with the name that it stands for.")]
        pub static $ALIASES: &[(&str, &str)] = &[$($(($alias, <$Settings as $Part>::ENTRY.name),)?)*];

        impl $Config {
            /// Returns the entry in the listing.
            pub fn entry(&self) -> &'static $crate::config::Entry {
                match self { $(Self::$Variant(_) => &<$Settings as $Part>::ENTRY,)* }
            }

            fn complete_schema(schema: &mut schemars::Schema) {
                $crate::config::complete_schema(schema, $tag, $ENTRIES, $ALIASES);
            }
        }

        impl<'de> serde::Deserialize<'de> for $Config {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(serde::Deserialize)]
                #[serde(tag = $tag, rename_all = "snake_case")]
                enum Table {
                    $($(#[serde(alias = $alias)])? $Variant($Settings),)*
                }

                $crate::config::named_or_table(deserializer, $what, $tag).map(|table| match table {
                    $(Table::$Variant(settings) => $Config::$Variant(settings),)*
                })
            }
        }
    };
}
pub use named_config;

#[cfg(test)]
mod tests {
    use super::ConfigError;

    #[test]
    fn number_with_many_digits_is_shown_with_exponent() {
        let problem_of = |problem: String| ConfigError::new("key", problem).problem;
        assert_eq!(problem_of(format!("is {}, not {}.", 1e300, -1e-300)), "is 1e300, not -1e-300.");
        for unchanged in
            ["is 18446744073709551615 of 0.30000000000000004; at most 1.", "é 5", "", "..", "1.2.3"]
        {
            assert_eq!(problem_of(unchanged.into()), unchanged);
        }
        let dots = ".".repeat(40);
        assert_eq!(problem_of(dots.clone()), dots);
    }
}
