//! Typed columns of a table.

use serde_json::Value;

/// Values of a column; `None` is null.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Booleans.
    Bool(Vec<Option<bool>>),
    /// Unsigned integers.
    Count(Vec<Option<u64>>),
    /// Floating-point numbers.
    Number(Vec<Option<f64>>),
    /// Text.
    Text(Vec<Option<String>>),
}

impl Column {
    /// Returns the narrowest kind of column that can hold `values`.
    pub fn of(values: &[&Value]) -> Column {
        let all = |is: fn(&Value) -> bool| values.iter().all(|value| value.is_null() || is(value));
        if values.iter().all(|value| value.is_null()) || all(Value::is_number) && !all(Value::is_u64) {
            return Column::Number(values.iter().map(|value| value.as_f64()).collect());
        }
        if all(Value::is_u64) {
            return Column::Count(values.iter().map(|value| value.as_u64()).collect());
        }
        if all(Value::is_boolean) {
            return Column::Bool(values.iter().map(|value| value.as_bool()).collect());
        }
        let text = |value: &&Value| match value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        Column::Text(values.iter().map(text).collect())
    }
}
