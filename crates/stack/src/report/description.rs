//! Description of a stack, needed to interpret its reports.

use super::ftl::Delta;
use crate::build::Stack;
use crate::device::ResolvedDevice;
use crate::scenario::Scenario;
use crate::scenario::tree::Tree;

/// Description of a stack: layer tree, device and program/read cost ratio.
pub(crate) struct StackDescription {
    pub(super) tree: Tree,
    pub(super) device: ResolvedDevice,
    pub(super) delta: Delta,
    /// True if the scenario cuts the drive's power.
    pub(super) has_power_cuts: bool,
}

impl StackDescription {
    /// Describes a stack that was built from a resolved scenario.
    pub fn of<P>(stack: &Stack<P>, scenario: &Scenario) -> Self {
        StackDescription {
            tree: stack.tree.clone(),
            device: stack.device.clone(),
            delta: Delta::of(scenario),
            has_power_cuts: stack.power.is_some(),
        }
    }
}
