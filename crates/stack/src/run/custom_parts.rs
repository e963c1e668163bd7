//! Parts of a run that come from the calling program and not from the scenario.

use crate::layers::CustomPlacement;
use wearwell_engine::victim::VictimPolicy;
use wearwell_workload::Workload;

/// Parts supplied by the calling program, which replace those that the scenario names.
#[derive(Default)]
pub struct CustomParts {
    /// The FTL's victim policy.
    pub victim: Option<Box<dyn VictimPolicy>>,
    /// The FTL's placement.
    pub placement: Option<CustomPlacement>,
    /// Factory of the workload, called with the logical pages of the stack; the workload must never end.
    pub workload: Option<WorkloadFactory>,
}

/// Factory of a workload for a stack with the given number of logical pages.
pub type WorkloadFactory = Box<dyn FnOnce(u32) -> Box<dyn Workload> + Send>;

impl CustomParts {
    /// Returns a warning for each supplied part, without which the scenario does not repeat the run.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let given = [
            ("victim policy", self.victim.is_some()),
            ("placement", self.placement.is_some()),
            ("workload", self.workload.is_some()),
        ];
        let given = given.into_iter().filter(|(_, given)| *given);
        given
            .map(|(part, _)| {
                format!("the {part} was the program's own: the scenario in this result does not repeat it")
            })
            .collect()
    }
}
