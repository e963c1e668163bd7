//! Results of each tenant, and its part in the results of a shared layer.

use super::result::{LayerResult, PartitionResult, StepResult, TenantResult};
use crate::run::finished::Finished;
use crate::run::snapshot::Snapshot;
use crate::scenario::tree::{Tree, User};
use crate::scenario::{Scenario, TenantConfig};
use wearwell_engine::counters::Operation;
use wearwell_engine::layer::LayerReport;

/// Returns `[cause][owner]`: pages moved while measuring, without those beyond the last partition, which have no owner.
pub(super) fn moved_pages(before: &LayerReport, after: &LayerReport) -> Vec<Vec<u64>> {
    let count = after.moved_pages.len().saturating_sub(1);
    let rows = before.moved_pages.iter().zip(&after.moved_pages).take(count);
    let row = |(before, after): (&Vec<u64>, &Vec<u64>)| {
        before.iter().zip(after).take(count).map(|(before, after)| after - before).collect()
    };
    rows.map(row).collect()
}

/// Returns the layer that moves the pages of the users of `at` and distinguishes the users. This is `at` itself or, if `at` does not
/// clean, the layer below if it has no other users.
fn mover(tree: &Tree, at: usize, layers: &[LayerReport]) -> Option<usize> {
    let mut at = at;
    while layers[at].moved_pages.is_empty() {
        let below = tree.layers[at].below.as_ref().filter(|below| below.partition.is_none())?;
        at = below.on;
    }
    Some(at)
}

/// Returns the partitions of layer `at` over the measured part.
pub(super) fn partitions(
    tree: &Tree,
    at: usize,
    (all_before, all_after): (&[LayerReport], &[LayerReport]),
) -> Vec<PartitionResult> {
    let (node, before, after) = (&tree.layers[at], &all_before[at], &all_after[at]);
    let moved = mover(tree, at, all_after)
        .map_or_else(Vec::new, |mover| moved_pages(&all_before[mover], &all_after[mover]));
    let pairs = before.partitions.iter().zip(&after.partitions).zip(&node.users).enumerate();
    pairs
        .map(|(index, ((before, after), &user))| {
            let attachment = tree.attachment(user);
            PartitionResult {
                name: attachment.name.clone(),
                share: tree.share(attachment),
                first_page: after.first,
                pages: after.pages,
                incoming: LayerResult::incoming_of(&after.incoming.since(&before.incoming)),
                moved_owned: (!moved.is_empty()).then(|| moved.iter().map(|owners| owners[index]).sum()),
                moved_caused: moved.get(index).map(|owned| owned.iter().sum()),
            }
        })
        .collect()
}

/// Returns the tenants of the scenario; empty if there is a single source of writes.
pub(super) fn tenants<P>(
    scenario: &Scenario,
    run: &Finished<P>,
    after: &Snapshot,
    layers: &[LayerResult],
) -> Vec<TenantResult> {
    let host_pages = after.host_pages() - run.before.host_pages();
    let tenant = |(at, config): (usize, &TenantConfig)| {
        let tree = &run.stack.tree;
        let (attachment, outcome) = (&tree.tenants[at], &run.tenants[at]);
        let incoming = after.incoming(&run.stack, at).since(&run.before.incoming(&run.stack, at));
        let own_pages = incoming.incoming(Operation::Write);
        let (chain, partition) = chain(tree, at, layers);
        let last = chain.last().filter(|_| partition.is_some());
        let cleaned = last.is_some_and(|last| {
            layers.iter().any(|layer| layer.name == last.layer && layer.write_amplification.is_some())
        });
        let over = |pages: u64| (cleaned && own_pages > 0).then(|| pages as f64 / own_pages as f64);
        TenantResult {
            name: attachment.name.clone(),
            on: tree.layers[attachment.on].name.clone(),
            share: tree.share(attachment),
            logical_pages: attachment.pages,
            rate: config.rate,
            host_pages: own_pages,
            host_share: (host_pages > 0).then(|| own_pages as f64 / host_pages as f64),
            incoming: LayerResult::incoming_of(&incoming),
            moved_owned: partition.and_then(|partition| partition.moved_owned),
            moved_caused: partition.and_then(|partition| partition.moved_caused),
            write_amplification_owned: last.and_then(|last| over(last.pages_out)),
            write_amplification_caused: last
                .zip(partition)
                .and_then(|(last, partition)| over(last.pages_in + partition.moved_caused?)),
            chain,
            trace_passes: outcome.trace_passes,
            skipped_lines: outcome.skipped_lines,
        }
    };
    scenario.tenant.iter().enumerate().map(tenant).collect()
}

/// Returns the layers on the path of the tenant's pages while they are distinguishable from other tenants' pages, and the tenant's
/// partition of the first shared layer.
fn chain<'a>(
    tree: &Tree,
    tenant: usize,
    layers: &'a [LayerResult],
) -> (Vec<StepResult>, Option<&'a PartitionResult>) {
    let mut steps = Vec::new();
    let mut user = User::Tenant(tenant);
    loop {
        let attachment = tree.attachment(user);
        let layer = &layers[attachment.on];
        let partition = attachment.partition.map(|index| &layer.partitions[index]);
        let written = |amounts: &std::collections::BTreeMap<String, u64>| {
            amounts.get(Operation::Write.name()).copied().unwrap_or(0)
        };
        let (pages_in, pages_out) = match partition {
            Some(partition) => {
                let Some(moved_owned) = partition.moved_owned else { return (steps, None) };
                let (pages_in, moves) = (written(&partition.incoming), !layer.moved_pages.is_empty());
                (pages_in, pages_in + if moves { moved_owned } else { 0 })
            }
            None => (written(&layer.incoming), layer.outgoing.values().map(written).sum()),
        };
        steps.push(StepResult { layer: layer.name.clone(), pages_in, pages_out });
        if tree.layers[attachment.on].users.len() > 1 {
            let moved_owned = partition.and_then(|partition| partition.moved_owned);
            steps.extend(passed_on(tree, attachment.on, layers, pages_in, moved_owned.unwrap_or(0)));
            return (steps, partition);
        }
        if attachment.on == tree.ftl() {
            return (steps, None);
        }
        user = User::Log(attachment.on);
    }
}

/// Returns the steps below a shared layer that moves no pages itself, down to the layer that moves `moved_owned` of the tenant's
/// pages.
fn passed_on(
    tree: &Tree,
    shared: usize,
    layers: &[LayerResult],
    pages_in: u64,
    moved_owned: u64,
) -> Vec<StepResult> {
    let (mut steps, mut at) = (Vec::new(), shared);
    while layers[at].moved_pages.is_empty()
        && let Some(below) = &tree.layers[at].below
    {
        at = below.on;
        let moves = !layers[at].moved_pages.is_empty();
        let pages_out = pages_in + if moves { moved_owned } else { 0 };
        steps.push(StepResult { layer: layers[at].name.clone(), pages_in, pages_out });
    }
    steps
}

/// Returns, for each divided layer that does not attribute moved pages to users, a warning with the reason.
pub(super) fn missing_attribution(layers: &[LayerResult]) -> impl Iterator<Item = String> + '_ {
    let silent =
        |layer: &&LayerResult| layer.partitions.iter().any(|partition| partition.moved_owned.is_none());
    layers.iter().filter(silent).map(|layer| {
        let why = match layer.dedup {
            Some(_) => "equal pages of several users are stored once, and moving one is nobody's alone",
            None => "it moves none itself, and the layer below knows it as one user among others",
        };
        format!("{}: whose pages cleaning moves is not told: {why}", layer.name)
    })
}
