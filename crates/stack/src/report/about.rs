//! The stack that a report is about.

use super::ftl::Delta;
use crate::build::Stack;
use crate::device::ResolvedDevice;
use crate::scenario::Scenario;
use crate::scenario::tree::Tree;

/// What has to be known of a stack to read its reports.
pub(crate) struct About {
    pub(super) tree: Tree,
    pub(super) device: ResolvedDevice,
    pub(super) delta: Delta,
    /// Whether its power is cut.
    pub(super) is_cut: bool,
}

impl About {
    /// A stack of a resolved scenario.
    pub fn of<P>(stack: &Stack<P>, scenario: &Scenario) -> Self {
        About {
            tree: stack.tree.clone(),
            device: stack.device.clone(),
            delta: Delta::of(scenario),
            is_cut: stack.power.is_some(),
        }
    }
}
