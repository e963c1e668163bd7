//! Output of the comparison with the lower bound: JSON and rows.

use super::loss::RewriteLoss;
use super::policies::{PolicyComparison, PolicyRow};
use crate::summary::Row;
use serde_json::{Value, json};

impl PolicyComparison {
    /// Returns all values as JSON, for other programs.
    pub fn to_value(&self) -> Value {
        let rows: Vec<Value> = self.policy_rows().into_iter().map(|row| row.into_iter().collect()).collect();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "replicas": self.limits.len(),
            "write_amplification": self.write_amplification(),
            "lower_bound": self.lower_bound(),
            "host_pages": self.host_pages(),
            "min_rewrites": self.least_rewrites(),
            "open_share": self.unproven_share(),
            "offline": self.offline,
            "rows": rows,
            "scenario": self.limits[0].result.scenario,
            "warnings": self.warnings(),
        })
    }

    /// Returns a row for each placement and victim policy, or one row for a drive without policies.
    pub fn rows(&self) -> Vec<Row> {
        let known = [
            ("replicas", json!(self.limits.len())),
            ("lower_bound", json!(self.lower_bound())),
            ("offline_write_amplification", json!(self.best())),
            ("host_pages", json!(self.host_pages())),
            ("min_rewrites", json!(self.least_rewrites())),
            ("warnings", json!(self.warnings().join("; "))),
        ]
        .map(|(name, value)| (name.to_owned(), value));
        let rows = self.policy_rows();
        if rows.is_empty() {
            let own = [("write_amplification".to_owned(), json!(self.write_amplification()))];
            return vec![own.into_iter().chain(known).collect()];
        }
        rows.into_iter().map(|row| row.into_iter().chain(known.clone()).collect()).collect()
    }

    fn best(&self) -> Option<f64> {
        self.offline.as_ref().map(|best| best.write_amplification)
    }

    fn policy_rows(&self) -> Vec<Row> {
        let (bound, best) = (self.lower_bound(), self.best());
        self.rows.iter().map(|row| columns(row, bound, best)).collect()
    }
}

fn columns(row: &PolicyRow, bound: f64, best: Option<f64>) -> Row {
    let measured = row.outcome.as_ref().ok();
    let amplification = measured.map(|measured| measured.write_amplification);
    let above =
        |level: Option<f64>| amplification.zip(level).map(|(amplification, level)| amplification - level);
    let lost_to = |part: fn(&RewriteLoss) -> f64| json!(row.loss.as_ref().map(part));
    [
        ("placement", json!(row.placement)),
        ("victim", json!(row.victim)),
        ("write_amplification", json!(amplification)),
        ("write_amplification_ci95", json!(measured.and_then(|measured| measured.ci95))),
        ("above_lower_bound", json!(above(Some(bound)))),
        ("above_offline", json!(above(best))),
        ("above_offline_ci95", json!(row.above_offline_ci95)),
        ("lost_by_placement", lost_to(|loss| loss.placement)),
        ("lost_by_victim", lost_to(|loss| loss.victim)),
        ("lost_by_block_size", lost_to(|loss| loss.block_size)),
        ("with_pool", json!(measured.map(|measured| measured.pooled))),
        ("problem", json!(row.outcome.as_ref().err())),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}
