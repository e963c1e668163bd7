//! Resources of an FTL other than the log: RAM by structure, operations by cause, recovery by step.

use super::{count, grid};
use wearwell_stack::{
    ByteSize, FtlResult, LayerResult, PowerResult, RecoveryResult, RecoveryStepResult, RunResult,
};

/// Returns the line with the figures of an FTL.
pub fn figure(layer: &LayerResult) -> Option<String> {
    let ftl = layer.ftl.as_ref()?;
    let source = match ftl.delta_source.as_str() {
        "assumed" => "assumed".to_owned(),
        other => format!("from the {other}"),
    };
    let with_reads = ftl
        .write_amplification_with_reads
        .map_or_else(|| "–".into(), |amplification| format!("{amplification:.4}"));
    Some(format!(
        "{}: write amplification with internal reads {with_reads} (a write costs {} reads, {source}); {} of RAM\n{}",
        ftl.kind,
        // More than two digits would be false precision; rounding leaves 10 as 10.
        (ftl.delta * 100.0).round() / 100.0,
        ByteSize(ftl.ram_bytes),
        events(ftl)
    ))
}

/// Returns the names and counts of the FTL's events that occurred, separated by commas.
fn events(ftl: &FtlResult) -> String {
    let happened = ftl.counts.iter().filter(|(_, times)| **times > 0);
    let texts: Vec<String> = happened.map(|(name, times)| format!("{name} {}", count(*times))).collect();
    texts.join(", ")
}

/// Returns the line about power cuts in the middle of the run.
pub fn cuts(power: &PowerResult) -> String {
    let mean =
        power.recovery_seconds_mean.map_or_else(|| "–".into(), |seconds| format!("{:.3} ms", 1e3 * seconds));
    format!(
        "{} cuts, {} of recoveries; a recovery takes {mean}; {} pages read back, none lost",
        count(power.cuts),
        count(power.cuts_in_recovery),
        count(power.pages_verified)
    )
}

/// Returns the tables of an FTL; empty for a layer without such results.
pub fn tables(layer: &LayerResult) -> String {
    let Some(ftl) = &layer.ftl else { return String::new() };
    let mut text = ram(ftl);
    text.push('\n');
    text += &operations(layer, ftl);
    text.push('\n');
    if let Some(recovery) = &ftl.recovery {
        text += &recovery_table(recovery);
        text.push('\n');
    }
    text
}

/// Describes the effects of the power cuts of a run, under the run's title.
pub fn power(title: &str, result: &RunResult) -> String {
    let ftl = result.layers.last().and_then(|layer| layer.ftl.as_ref());
    let mut text = format!("{title}  (FTL {})\n", ftl.map_or("–", |ftl| &ftl.kind));
    text.extend(result.power.as_ref().map(outages));
    if let Some(recovery) = ftl.and_then(|ftl| ftl.recovery.as_ref()) {
        text += &recovery_table(recovery);
        text.push('\n');
    }
    text
}

/// Describes the effects of power cuts in the middle of the run, and the duration of recoveries.
pub fn outages(power: &PowerResult) -> String {
    let ms = |seconds: f64| format!("{:.3}", 1e3 * seconds);
    let mut rows: Vec<Vec<String>> =
        power.steps.iter().map(|step| vec![step.name.clone(), ms(step.mean), ms(step.max)]).collect();
    if let (Some(mean), Some(max)) = (power.recovery_seconds_mean, power.recovery_seconds_max) {
        rows.push(vec!["all steps".into(), ms(mean), ms(max)]);
    }
    let table = if rows.is_empty() {
        String::new()
    } else {
        grid(&["recovery", "mean ms", "longest ms"], rows, &[1, 2]) + "\n"
    };
    format!(
        "{} power cuts, {} of them in the middle of an operation; {} cuts of recoveries; {} pages read back, none lost\n{table}",
        count(power.cuts),
        count(power.torn_cuts),
        count(power.cuts_in_recovery),
        count(power.pages_verified)
    )
}

fn ram(ftl: &FtlResult) -> String {
    let row = |name: &str, bytes: u64| vec![name.to_owned(), count(bytes)];
    let mut rows: Vec<_> = ftl.ram.iter().map(|part| row(&part.name, part.bytes)).collect();
    rows.push(row("all", ftl.ram_bytes));
    grid(&["RAM", "bytes"], rows, &[1])
}

fn operations(layer: &LayerResult, ftl: &FtlResult) -> String {
    let causes = layer.outgoing.iter().map(|(cause, amounts)| {
        let amount = |operation: &str| count(amounts.get(operation).copied().unwrap_or(0));
        let spare_reads = count(ftl.spare_reads.get(cause).copied().unwrap_or(0));
        vec![cause.clone(), amount("write"), amount("read"), spare_reads, amount("erase")]
    });
    grid(&["cause", "page writes", "page reads", "spare reads", "erases"], causes.collect(), &[1, 2, 3, 4])
}

fn recovery_table(recovery: &RecoveryResult) -> String {
    let head = ["recovery", "spare reads", "page reads", "page writes", "erases", "ms"];
    let row = |prefix: &str, step: &RecoveryStepResult| {
        vec![
            format!("{prefix}{}", step.name),
            count(step.spare_reads),
            count(step.page_reads),
            count(step.page_writes),
            count(step.erases),
            format!("{:.3}", 1e3 * step.seconds),
        ]
    };
    let all = |name: &str, steps: &[RecoveryStepResult]| {
        let sum = |amount: fn(&RecoveryStepResult) -> u64| steps.iter().map(amount).sum();
        RecoveryStepResult {
            name: name.into(),
            spare_reads: sum(|step| step.spare_reads),
            page_reads: sum(|step| step.page_reads),
            page_writes: sum(|step| step.page_writes),
            erases: sum(|step| step.erases),
            seconds: steps.iter().map(|step| step.seconds).sum(),
        }
    };
    let mut rows: Vec<_> = recovery.steps.iter().map(|step| row("", step)).collect();
    rows.push(row("", &all("all steps", &recovery.steps)));
    if !recovery.model.is_empty() {
        rows.extend(recovery.model.iter().map(|step| row("model: ", step)));
        rows.push(row("model: ", &all("all steps", &recovery.model)));
    }
    grid(&head, rows, &[1, 2, 3, 4, 5])
}
