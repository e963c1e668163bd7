//! Checks that are part of the tests of each configuration with named kinds.

use crate::config::Entry;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Configuration whose kinds are listed in a table, with the arguments of its macro.
pub(crate) struct NamedConfig<C: 'static> {
    /// Key that holds the name.
    pub(crate) tag: &'static str,
    /// Entries of the table.
    pub(crate) entries: &'static [Entry],
    /// Alternative names, each with the name for which it stands.
    pub(crate) aliases: &'static [(&'static str, &'static str)],
    /// Returns the entry of a configuration.
    pub(crate) entry_of: fn(&C) -> &'static Entry,
}

impl<C: Serialize + DeserializeOwned + JsonSchema + PartialEq + std::fmt::Debug> NamedConfig<C> {
    /// Panics if the configuration violates a rule for reading, writing or describing itself.
    pub(crate) fn check(&self) {
        for entry in self.entries {
            self.check_name(entry.name, entry.name);
        }
        for (alias, name) in self.aliases {
            self.check_name(alias, name);
        }
        self.check_refusals();
        self.check_schema();
    }

    fn table(&self, name: &str) -> Value {
        json!({ self.tag: name })
    }

    /// Checks that the short and the long form select the entry `name`, and that the written form can be read back.
    fn check_name(&self, selector: &str, name: &str) {
        let short: C = serde_json::from_value(json!(selector)).unwrap();
        assert_eq!((self.entry_of)(&short).name, name);
        assert_eq!(short, serde_json::from_value(self.table(selector)).unwrap());
        let written = serde_json::to_value(&short).unwrap();
        assert_eq!(written[self.tag], name);
        assert_eq!(short, serde_json::from_value(written).unwrap());
    }

    fn check_refusals(&self) {
        for value in [json!("no_such_name"), self.table("no_such_name")] {
            let message = serde_json::from_value::<C>(value).unwrap_err().to_string();
            for name in self.entries.iter().map(|entry| entry.name).chain(["no_such_name"]) {
                assert!(message.contains(&format!("`{name}`")), "`{name}` is missing in: {message}");
            }
        }
        let message = serde_json::from_value::<C>(json!({ "size": 3 })).unwrap_err().to_string();
        assert!(message.contains(&format!("missing field `{}`", self.tag)), "{message}");
    }

    fn check_schema(&self) {
        let schema = schemars::schema_for!(C).to_value();
        let forms = schema["oneOf"].as_array().unwrap();
        assert_eq!(forms.len(), self.entries.len() + 1);
        for (form, entry) in forms.iter().zip(self.entries) {
            assert_eq!(form["description"], entry.help);
            let name = &form["properties"][self.tag];
            assert!(name["const"] == entry.name || name["enum"][0] == entry.name, "{form}");
        }
        let names = forms[self.entries.len()]["enum"].as_array().unwrap();
        assert_eq!(names.len(), self.entries.len() + self.aliases.len());
    }
}
