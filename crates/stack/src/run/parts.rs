//! Parts of a run that come from the calling program and not from the scenario.

use crate::layers::OwnPlacement;
use wearwell_engine::victim::VictimPolicy;
use wearwell_workload::Workload;

/// Parts that a program brings itself, instead of those that the scenario names.
#[derive(Default)]
pub struct Parts {
    /// The FTL's victim policy.
    pub victim: Option<Box<dyn VictimPolicy>>,
    /// The FTL's placement.
    pub placement: Option<OwnPlacement>,
    /// Makes the workload for a stack of so many logical pages; it must never end.
    pub workload: Option<MakeWorkload>,
}

/// Makes a workload for a stack of so many logical pages.
pub type MakeWorkload = Box<dyn FnOnce(u32) -> Box<dyn Workload> + Send>;

impl Parts {
    /// Why the scenario alone does not repeat the run.
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
