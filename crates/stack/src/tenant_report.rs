//! What each tenant did, and its part in what a shared layer did.

use super::driver::Finished;
use super::report::Snapshot;
use super::result::{LayerResult, PartitionResult, StepResult, TenantResult};
use super::scenario::Scenario;
use super::tree::{Tree, User};
use wearwell_engine::counters::Operation;
use wearwell_engine::layer::LayerReport;

/// `[cause][owner]`: pages moved while measuring; without what lies beyond the last partition, which is nobody's.
pub(super) fn moved_pages(before: &LayerReport, after: &LayerReport) -> Vec<Vec<u64>> {
    let count = after.partitions.len();
    let rows = before.moved_pages.iter().zip(&after.moved_pages).take(count);
    let row = |(before, after): (&Vec<u64>, &Vec<u64>)| {
        before.iter().zip(after).take(count).map(|(before, after)| after - before).collect()
    };
    rows.map(row).collect()
}

/// The partitions of layer `at` over the measured part.
pub(super) fn partitions(
    tree: &Tree,
    at: usize,
    before: &LayerReport,
    after: &LayerReport,
    moved: &[Vec<u64>],
) -> Vec<PartitionResult> {
    let node = &tree.layers[at];
    let pairs = before.partitions.iter().zip(&after.partitions).zip(&node.users).enumerate();
    pairs
        .map(|(index, ((before, after), &user))| {
            let seat = tree.seat(user);
            PartitionResult {
                name: seat.name.clone(),
                share: tree.share(seat),
                first_page: after.first,
                pages: after.pages,
                incoming: LayerResult::incoming_of(&after.incoming.since(&before.incoming)),
                moved_owned: (!moved.is_empty()).then(|| moved.iter().map(|owners| owners[index]).sum()),
                moved_caused: moved.get(index).map(|owned| owned.iter().sum()),
            }
        })
        .collect()
}

/// The tenants of the scenario; none where there is a single source of writes.
pub(super) fn tenants<P>(
    scenario: &Scenario,
    run: &Finished<P>,
    after: &Snapshot,
    layers: &[LayerResult],
) -> Vec<TenantResult> {
    let host_pages = after.host_pages() - run.before.host_pages();
    let tenant = |(at, config): (usize, &super::scenario::TenantConfig)| {
        let tree = &run.stack.tree;
        let (seat, served) = (&tree.tenants[at], &run.tenants[at]);
        let incoming = after.incoming(&run.stack, at).since(&run.before.incoming(&run.stack, at));
        let own_pages = incoming.incoming(Operation::Write);
        let (chain, partition) = chain(tree, at, layers);
        let last = chain.last().filter(|_| partition.is_some());
        let cleaned = last.is_some_and(|last| {
            layers.iter().any(|layer| layer.name == last.layer && layer.write_amplification.is_some())
        });
        let over = |pages: u64| (cleaned && own_pages > 0).then(|| pages as f64 / own_pages as f64);
        TenantResult {
            name: seat.name.clone(),
            on: tree.layers[seat.on].name.clone(),
            share: tree.share(seat),
            logical_pages: seat.pages,
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
            trace_passes: served.trace_passes,
            skipped_lines: served.skipped_lines,
        }
    };
    scenario.tenant.iter().enumerate().map(tenant).collect()
}

/// The layers that the tenant's pages go through as long as they can be told from others', and its partition of the
/// first layer that it shares.
fn chain<'a>(
    tree: &Tree,
    tenant: usize,
    layers: &'a [LayerResult],
) -> (Vec<StepResult>, Option<&'a PartitionResult>) {
    let mut steps = Vec::new();
    let mut user = User::Tenant(tenant);
    loop {
        let seat = tree.seat(user);
        let layer = &layers[seat.on];
        let partition = seat.partition.map(|index| &layer.partitions[index]);
        let written = |amounts: &std::collections::BTreeMap<String, u64>| {
            amounts.get(Operation::Write.name()).copied().unwrap_or(0)
        };
        let (pages_in, pages_out) = match partition {
            Some(partition) => {
                let Some(moved_owned) = partition.moved_owned else { return (steps, None) };
                let pages_in = written(&partition.incoming);
                (pages_in, pages_in + moved_owned)
            }
            None => (written(&layer.incoming), layer.outgoing.values().map(written).sum()),
        };
        steps.push(StepResult { layer: layer.name.clone(), pages_in, pages_out });
        if tree.layers[seat.on].users.len() > 1 {
            return (steps, partition);
        }
        if seat.on == tree.ftl() {
            return (steps, None);
        }
        user = User::Log(seat.on);
    }
}
