//! Axes of a sweep: keys and their values.

use serde_json::{Number, Value};
use wearwell_stack::parse_value;

/// Maximum number of values in a range; more is probably a mistake.
const MAX_VALUES: f64 = 10_000.0;

/// Key of the scenario with its values in the sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Key, such as `device.spare_factor`.
    pub key: String,
    /// Values, in order.
    pub values: Vec<Value>,
}

impl Axis {
    /// Parses `key=1,2,5`, `key=0.1:0.5:0.1` (both ends included), `key=lin(0,1,5)` or `key=log(1,1000,4)`.
    ///
    /// Values are TOML; a bare word is text. Errors are one sentence.
    pub fn parse(text: &str) -> Result<Axis, String> {
        let (key, values) = text.split_once('=').ok_or_else(|| format!("`{text}`: write key=values"))?;
        let values = parse_values(values.trim()).map_err(|problem| format!("`{text}`: {problem}"))?;
        Ok(Axis { key: key.trim().into(), values })
    }
}

fn parse_values(text: &str) -> Result<Vec<Value>, String> {
    let call = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    if let Some(arguments) = call("lin") {
        return parse_spacing(arguments, |low, high, share| low + share * (high - low));
    }
    if let Some(arguments) = call("log") {
        return parse_spacing(arguments, |low, high, share| low * (high / low).powf(share));
    }
    if let Some(range) = parse_range(text) {
        return range;
    }
    split(text)?.into_iter().map(parse_value).collect()
}

/// Parses `low:high:step`; `None` if the text has another form.
fn parse_range(text: &str) -> Option<Result<Vec<Value>, String>> {
    let parts: Vec<f64> = text.split(':').map(|part| part.trim().parse()).collect::<Result<_, _>>().ok()?;
    let &[low, high, step] = &parts[..] else { return None };
    let steps = ((high - low) / step + 1e-9).floor();
    if !(steps.is_finite() && steps >= 0.0) {
        return Some(Err("the step does not lead from the first value to the last".into()));
    }
    if steps >= MAX_VALUES {
        return Some(Err(format!("{} values; at most {MAX_VALUES} are allowed", steps + 1.0)));
    }
    let is_integer = !text.contains(['.', 'e', 'E']);
    Some((0..=steps as u64).map(|at| number(low + at as f64 * step, is_integer)).collect())
}

/// Parses `low,high,count`; `interpolate` interpolates the values.
fn parse_spacing(arguments: &str, interpolate: fn(f64, f64, f64) -> f64) -> Result<Vec<Value>, String> {
    let parts: Vec<f64> = arguments.split(',').filter_map(|part| part.trim().parse().ok()).collect();
    match parts[..] {
        [low, high, count] if (2.0..=MAX_VALUES).contains(&count) && count.fract() == 0.0 => (0..count
            as u64)
            .map(|at| number(interpolate(low, high, at as f64 / (count - 1.0)), false))
            .collect(),
        _ => Err("write (first, last, count) with a count from 2".into()),
    }
}

/// Rounds a number to twelve digits, so that 0.1 + 2 * 0.1 is 0.3.
fn number(value: f64, is_integer: bool) -> Result<Value, String> {
    let rounded: f64 = format!("{value:.11e}").parse().unwrap_or(value);
    let number = if is_integer { Some(Number::from(rounded as i64)) } else { Number::from_f64(rounded) };
    number.map(Value::Number).ok_or_else(|| "leads to values that are no finite numbers".into())
}

/// Splits at commas outside quotes and brackets.
fn split(text: &str) -> Result<Vec<&str>, String> {
    let (mut parts, mut start, mut depth, mut quote) = (Vec::new(), 0, 0i32, None);
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), letter) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth -= 1,
            (None, ',') if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    if parts.iter().any(|part| part.trim().is_empty()) {
        return Err("a value is missing".into());
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn values(text: &str) -> Value {
        Axis::parse(&format!("key={text}")).map_or_else(Value::String, |axis| Value::Array(axis.values))
    }

    #[test]
    fn list_accepts_toml_and_bare_words() {
        assert_eq!(values("1, 2.5,greedy"), json!([1, 2.5, "greedy"]));
        assert_eq!(values("8 GiB,true"), json!(["8 GiB", true]));
        assert_eq!(
            values(r#"{policy="d_choices",choices=4},"a,b",[1,2]"#),
            json!([{"policy": "d_choices", "choices": 4}, "a,b", [1, 2]])
        );
    }

    #[test]
    fn range_includes_both_ends_without_drift() {
        assert_eq!(values("0.1:0.5:0.1"), json!([0.1, 0.2, 0.3, 0.4, 0.5]));
        assert_eq!(values("10:1:-3"), json!([10, 7, 4, 1]));
        assert_eq!(values("log(1,1000,4)"), json!([1.0, 10.0, 100.0, 1000.0]));
        assert_eq!(values("lin(0, 1, 5)"), json!([0.0, 0.25, 0.5, 0.75, 1.0]));
    }

    #[test]
    fn malformed_values_are_errors() {
        for text in
            ["", "1,,2", "1:5:0", "5:1:1", "1:1e9:1e-3", "log(1,2)", "log(0,1,3)", "lin(1,2,1)", "[1", "{a"]
        {
            assert!(values(text).is_string(), "{text} gave {}", values(text));
        }
        assert!(Axis::parse("no equals sign").is_err());
    }
}
