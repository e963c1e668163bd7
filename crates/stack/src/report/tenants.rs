//! Results of each tenant, and its part in the results of a shared layer.

use super::result::{ChainStepResult, LayerResult, PartitionResult, TenantResult};
use crate::run::finished::RunOutcome;
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

/// Returns the layer that moves the pages of the users of `at` and distinguishes the users. This is `at` itself or, if
/// `at` does not clean, the layer below if it has no other users.
fn moving_layer(tree: &Tree, at: usize, layers: &[LayerReport]) -> Option<usize> {
    let mut at = at;
    while layers[at].moved_pages.is_empty() {
        let below = tree.layers[at].below.as_ref().filter(|below| below.partition.is_none())?;
        at = below.layer_index;
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
    let moved = moving_layer(tree, at, all_after).map_or_else(Vec::new, |moving_layer| {
        moved_pages(&all_before[moving_layer], &all_after[moving_layer])
    });
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
    run: &RunOutcome<P>,
    after: &Snapshot,
    layers: &[LayerResult],
) -> Vec<TenantResult> {
    let host_pages = after.host_pages() - run.before.host_pages();
    let tenant = |(at, config): (usize, &TenantConfig)| {
        let tree = &run.stack.tree;
        let (attachment, outcome) = (&tree.tenants[at], &run.tenants[at]);
        let incoming = after.incoming(&run.stack, at).since(&run.before.incoming(&run.stack, at));
        let own_pages = incoming.incoming(Operation::Write);
        let (chain, partition) = layer_chain(tree, at, layers);
        let last = chain.last().filter(|_| partition.is_some());
        let cleaned = last.is_some_and(|last| {
            layers.iter().any(|layer| layer.name == last.layer && layer.write_amplification.is_some())
        });
        let ratio = |pages: u64| (cleaned && own_pages > 0).then(|| pages as f64 / own_pages as f64);
        TenantResult {
            name: attachment.name.clone(),
            on: tree.layers[attachment.layer_index].name.clone(),
            share: tree.share(attachment),
            logical_pages: attachment.pages,
            rate: config.rate,
            host_pages: own_pages,
            host_share: (host_pages > 0).then(|| own_pages as f64 / host_pages as f64),
            incoming: LayerResult::incoming_of(&incoming),
            moved_owned: partition.and_then(|partition| partition.moved_owned),
            moved_caused: partition.and_then(|partition| partition.moved_caused),
            write_amplification_owned: last.and_then(|last| ratio(last.pages_out)),
            write_amplification_caused: last
                .zip(partition)
                .and_then(|(last, partition)| ratio(last.pages_in + partition.moved_caused?)),
            chain,
            trace_passes: outcome.trace_passes,
            skipped_lines: outcome.skipped_lines,
        }
    };
    scenario.tenant.iter().enumerate().map(tenant).collect()
}

/// Returns the layers on the path of the tenant's pages while they are distinguishable from other tenants' pages, and
/// the tenant's partition of the first shared layer.
fn layer_chain<'a>(
    tree: &Tree,
    tenant: usize,
    layers: &'a [LayerResult],
) -> (Vec<ChainStepResult>, Option<&'a PartitionResult>) {
    let mut steps = Vec::new();
    let mut user = User::Tenant(tenant);
    loop {
        let attachment = tree.attachment(user);
        let layer = &layers[attachment.layer_index];
        let partition = attachment.partition.map(|index| &layer.partitions[index]);
        let written = |amounts: &std::collections::BTreeMap<String, u64>| {
            amounts.get(Operation::Write.name()).copied().unwrap_or(0)
        };
        let (pages_in, pages_out) = match partition {
            Some(partition) => {
                let Some(moved_owned) = partition.moved_owned else { return (steps, None) };
                let (pages_in, moves_pages) = (written(&partition.incoming), !layer.moved_pages.is_empty());
                (pages_in, pages_in + if moves_pages { moved_owned } else { 0 })
            }
            None => (written(&layer.incoming), layer.outgoing.values().map(written).sum()),
        };
        steps.push(ChainStepResult { layer: layer.name.clone(), pages_in, pages_out });
        if tree.layers[attachment.layer_index].users.len() > 1 {
            let moved_owned = partition.and_then(|partition| partition.moved_owned);
            steps.extend(steps_below(
                tree,
                attachment.layer_index,
                layers,
                pages_in,
                moved_owned.unwrap_or(0),
            ));
            return (steps, partition);
        }
        if attachment.layer_index == tree.ftl() {
            return (steps, None);
        }
        user = User::Log(attachment.layer_index);
    }
}

/// Returns the steps below a shared layer that moves no pages itself, down to the layer that moves `moved_owned` of the
/// tenant's pages.
fn steps_below(
    tree: &Tree,
    shared: usize,
    layers: &[LayerResult],
    pages_in: u64,
    moved_owned: u64,
) -> Vec<ChainStepResult> {
    let (mut steps, mut at) = (Vec::new(), shared);
    while layers[at].moved_pages.is_empty()
        && let Some(below) = &tree.layers[at].below
    {
        at = below.layer_index;
        let moves_pages = !layers[at].moved_pages.is_empty();
        let pages_out = pages_in + if moves_pages { moved_owned } else { 0 };
        steps.push(ChainStepResult { layer: layers[at].name.clone(), pages_in, pages_out });
    }
    steps
}

/// Returns, for each divided layer that does not attribute moved pages to users, a warning with the reason.
pub(super) fn missing_attribution(layers: &[LayerResult]) -> impl Iterator<Item = String> + '_ {
    let without_attribution =
        |layer: &&LayerResult| layer.partitions.iter().any(|partition| partition.moved_owned.is_none());
    layers.iter().filter(without_attribution).map(|layer| {
        let reason = match layer.dedup {
            Some(_) => "equal pages of several users are stored once, and moving one is nobody's alone",
            None => "it moves none itself, and the layer below knows it as one user among others",
        };
        format!("{}: whose pages cleaning moves is not told: {reason}", layer.name)
    })
}
