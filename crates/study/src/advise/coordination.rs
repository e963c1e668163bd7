//! Coordinated cleaning and placement: layers that wait for the log above, victims that empty blocks below, and streams
//! that remain separate down to the flash.

use super::resolved_stack::ResolvedStack;
use super::streams::streams_of;
use super::{Change, Family, Setting};
use serde_json::json;
use wearwell_stack::layers::ReclaimKind;
use wearwell_stack::tree::User;

pub(super) const FAMILY: Family = Family {
    name: "coordination",
    help: "layers wait while a log above cleans, logs choose victims that empty blocks below, users of one layer have \
           streams of their own",
    changes,
};

fn changes(stack: &ResolvedStack<'_>) -> Vec<Change> {
    let waiting = stack.layers().filter_map(|at| wait_for_segment(stack, at));
    let completing = stack.logs().flat_map(|log| completing_victims(stack, log));
    let apart = stack.layers().filter_map(|at| separate_hints(stack, at));
    waiting.chain(completing).chain(apart).collect()
}

/// Proposes that the layer keeps erased blocks for the largest segment above, and defers cleaning while erased blocks
/// last.
fn wait_for_segment(stack: &ResolvedStack<'_>, at: usize) -> Option<Change> {
    let (node, config) = (stack.layer(at), stack.store(at)?);
    let largest = stack.logs_on(at).iter().map(|&log| stack.layer(log).block_pages).max()?;
    if config.reclaim == ReclaimKind::InPlace || config.free_blocks_deferred.is_some() {
        return None;
    }
    let low = config.free_blocks_low.unwrap_or(u32::from(streams_of(stack, at)) + 1);
    let raised = low + largest.div_ceil(node.block_pages);
    let high = config.free_blocks_high.unwrap_or(low).max(raised);
    let key = |name: &str| format!("{}.{name}", node.key);
    let settings = vec![
        Setting::new(key("free_blocks_low"), raised),
        Setting::new(key("free_blocks_high"), high),
        Setting::new(key("free_blocks_deferred"), low),
    ];
    let called = stack.display_name(at);
    let description =
        format!("{called} waits while a log above cleans, down to {low} erased blocks of {raised}");
    Some(Change::new(&FAMILY, description, settings))
}

/// Proposes two weights: a page left in a block of the layer below counts as much as a page that this log has to move,
/// or a quarter as much.
fn completing_victims(stack: &ResolvedStack<'_>, log: usize) -> Vec<Change> {
    let change = |weight: f64| {
        let value = json!({"policy": "completing", "weight": weight});
        let called = stack.display_name(log);
        let description = format!("{called} takes victims that empty blocks below, weight {weight}");
        Change::new(
            &FAMILY,
            description,
            vec![Setting::new(format!("{}.victim", stack.layer(log).key), value)],
        )
    };
    [1.0, 0.25].map(change).into()
}

/// Proposes separate stream hints for each of several users of a layer.
fn separate_hints(stack: &ResolvedStack<'_>, at: usize) -> Option<Change> {
    let node = stack.layer(at);
    if node.users.len() < 2 || stack.store(at)?.reclaim == ReclaimKind::InPlace {
        return None;
    }
    let (mut settings, mut next) = (Vec::new(), 0u16);
    for &user in &node.users {
        let (key, streams) = match user {
            User::Log(log) if stack.log(log).is_none() => return None,
            User::Log(log) => (stack.layer(log).key.clone(), streams_of(stack, log)),
            User::Tenant(tenant) => (format!("tenant[{tenant}]"), 1),
        };
        settings.push(Setting::new(format!("{key}.first_hint"), next));
        next += u16::from(streams);
    }
    let placement = json!({"kind": "host_hint", "streams": next});
    settings.push(Setting::new(format!("{}.placement", node.key), placement));
    let description = format!("{} keeps the {next} streams of its users apart", stack.display_name(at));
    Some(Change::new(&FAMILY, description, settings))
}
