//! Statements of a paper about its figures, which are compared with the data.

use crate::Failure;
use crate::session::Session;
use crate::table::Table;

/// Name of the table of statements in the folder of an item.
pub const FILE: &str = "statements";

/// Maximum number of exceptions that are listed by name.
const MAX_NAMED: usize = 3;

/// Statements, each with the number of cases in which it was tested, and in which it holds.
#[derive(Clone, Debug)]
pub struct Statements(Table);

impl Default for Statements {
    fn default() -> Self {
        Statements(Table::new(&["statement", "cases", "holds_in", "exceptions"]))
    }
}

impl Statements {
    /// Tests a statement in each case; a case is given by its name and outcome.
    pub fn check(&mut self, statement: &str, cases: impl IntoIterator<Item = (String, bool)>) {
        let (mut count, mut exceptions) = (0, Vec::new());
        for (case, holds) in cases {
            count += 1;
            if !holds {
                exceptions.push(case);
            }
        }
        let holds_in = count - exceptions.len();
        let named = list_first(&exceptions);
        self.0.push(vec![statement.to_owned(), count.to_string(), holds_in.to_string(), named]);
    }

    /// Writes the statements as data of the session's item.
    pub fn publish(&self, session: &Session) -> Result<(), Failure> {
        self.0.write(session, FILE)
    }
}

/// Lists the names of the first exceptions.
pub fn list_first(exceptions: &[String]) -> String {
    let mut named = exceptions.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join("; ");
    if exceptions.len() > MAX_NAMED {
        named += "; …";
    }
    named
}

/// True if each value is larger than the previous one.
pub fn is_rising(values: impl IntoIterator<Item = f64>) -> bool {
    let values: Vec<f64> = values.into_iter().collect();
    values.windows(2).all(|pair| pair[1] > pair[0])
}

/// True if each value is smaller than the previous one.
pub fn is_falling(values: impl IntoIterator<Item = f64>) -> bool {
    is_rising(values.into_iter().map(|value| -value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_neither_rising_nor_falling() {
        assert!(is_rising([1.0, 2.0]) && is_falling([2.0, 1.0]));
        assert!(!is_rising([1.0, 1.0]) && !is_falling([1.0, 1.0]) && !is_rising([1.0, 3.0, 2.0]));
    }

    #[test]
    fn exceptions_are_counted_and_named() {
        let mut statements = Statements::default();
        statements.check("more, or less", (0..6).map(|case| (format!("d = {case}"), case < 2)));
        let text = statements.0.to_csv("");
        assert!(text.ends_with("\n\"more, or less\",6,2,d = 2; d = 3; d = 4; …\n"), "{text}");
    }
}
