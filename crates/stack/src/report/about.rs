//! Description of a stack, needed to interpret its reports.

use super::ftl::Delta;
use crate::build::Stack;
use crate::device::ResolvedDevice;
use crate::scenario::Scenario;
use crate::scenario::tree::Tree;

/// Description of a stack: layer tree, device and program/read cost ratio.
pub(crate) struct About {
    pub(super) tree: Tree,
    pub(super) device: ResolvedDevice,
    pub(super) delta: Delta,
    /// True if the scenario cuts the drive's power.
    pub(super) is_cut: bool,
}

impl About {
    /// Describes a stack that was built from a resolved scenario.
    pub fn of<P>(stack: &Stack<P>, scenario: &Scenario) -> Self {
        About {
            tree: stack.tree.clone(),
            device: stack.device.clone(),
            delta: Delta::of(scenario),
            is_cut: stack.power.is_some(),
        }
    }
}
