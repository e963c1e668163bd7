//! Times of power cuts.

use super::EARLY_CUT_OPERATIONS;
use crate::nand::PowerCut;
use crate::seed::{Random, random_below};
use rand::Rng;

/// Times of power cuts, in operations (page programs and block erases) since the drive was new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CutTimes {
    /// During the measured phase, one cut every this many operations.
    Every(u64),
    /// During the measured phase, this many cuts at random operations. Operations are drawn from a range as long as the
    /// number of pages that the host writes.
    Random(u64),
    /// At these operations, in order.
    At(Vec<PowerCut>),
}

/// Parses a list of cuts: comma-separated numbers of operations, each followed by `t` if the operation is torn.
/// Returns `None` if the text is invalid.
pub fn parse_cuts(text: &str) -> Option<Vec<PowerCut>> {
    let text = text.trim().trim_start_matches("cut:");
    let cut = |part: &str| {
        let part = part.trim();
        let after = part.strip_suffix('t').unwrap_or(part).parse().ok()?;
        Some(PowerCut { after, torn: part.ends_with('t') })
    };
    text.split(',').map(cut).collect()
}

/// Returns the text that [`parse_cuts`] parses.
pub(super) fn format_cuts(cuts: &[PowerCut]) -> String {
    let names: Vec<String> =
        cuts.iter().map(|cut| format!("{}{}", cut.after, if cut.torn { "t" } else { "" })).collect();
    names.join(",")
}

/// Cuts that are still to come.
pub(super) struct CutPlan {
    cuts: CutTimes,
    has_started: bool,
}

impl CutPlan {
    pub fn new(cuts: CutTimes) -> Self {
        let begun = matches!(cuts, CutTimes::At(_));
        let mut plan = CutPlan { cuts, has_started: begun };
        if let CutTimes::At(cuts) = &mut plan.cuts {
            // The cuts are stored in reverse order: the next cut is the last.
            cuts.reverse();
        }
        plan
    }

    /// Starts the measured phase, in which the host writes `host_pages` pages.
    pub fn begin_measurement(&mut self, now: u64, host_pages: u64, random: &mut Random) {
        self.has_started = true;
        if let CutTimes::Random(count) = self.cuts {
            let draw =
                |_| PowerCut { after: now + random_below(random, host_pages.max(1)), torn: random.random() };
            let mut cuts: Vec<PowerCut> = (0..count).map(draw).collect();
            cuts.sort_unstable_by_key(|cut| std::cmp::Reverse(cut.after));
            self.cuts = CutTimes::At(cuts);
        }
    }

    /// Returns the next cut after `now` operations.
    pub fn next(&mut self, now: u64, random: &mut Random) -> Option<PowerCut> {
        if !self.has_started {
            return None;
        }
        match &mut self.cuts {
            CutTimes::Every(operations) => Some(PowerCut { after: now + *operations, torn: random.random() }),
            CutTimes::At(cuts) => {
                while cuts.last().is_some_and(|cut| cut.after < now) {
                    cuts.pop();
                }
                cuts.last().copied()
            }
            CutTimes::Random(_) => None,
        }
    }

    /// Returns the next cut after `now` operations during a recovery.
    pub fn next_in_recovery(&mut self, now: u64, probability: f64, random: &mut Random) -> Option<PowerCut> {
        if let CutTimes::At(cuts) = &mut self.cuts {
            // Removes the cut that just happened.
            while cuts.last().is_some_and(|cut| cut.after <= now) {
                cuts.pop();
            }
        }
        let planned = match &self.cuts {
            CutTimes::At(cuts) => cuts.last().copied(),
            _ => None,
        };
        self.draw_early(now, probability, random).or(planned)
    }

    /// Returns a cut within the next few operations, with the given probability.
    pub fn draw_early(&self, now: u64, probability: f64, random: &mut Random) -> Option<PowerCut> {
        let is_cut = probability > 0.0 && random.random::<f64>() < probability;
        is_cut.then(|| PowerCut {
            after: now + random_below(random, EARLY_CUT_OPERATIONS),
            torn: random.random(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    #[test]
    fn cuts_parse_from_their_names() {
        let cuts = [PowerCut { after: 4711, torn: true }, PowerCut { after: 9000, torn: false }];
        assert_eq!(format_cuts(&cuts), "4711t,9000");
        assert_eq!(parse_cuts("cut:4711t,9000"), Some(cuts.to_vec()));
        assert_eq!(parse_cuts("4711 t"), None);
        assert_eq!(parse_cuts(""), None);
    }

    #[test]
    fn cuts_are_ordered_and_only_in_measured_phase() {
        let mut random = Seed(1).random();
        let mut plan = CutPlan::new(CutTimes::Random(5));
        assert_eq!(plan.next(0, &mut random), None);
        plan.begin_measurement(100, 50, &mut random);
        let (mut now, mut cut_count) = (100, 0);
        while let Some(cut) = plan.next(now, &mut random) {
            assert!(cut.after >= now && cut.after < 150);
            (now, cut_count) = (cut.after + 1, cut_count + 1);
        }
        assert!((1..=5).contains(&cut_count));
        let mut every = CutPlan::new(CutTimes::Every(7));
        assert_eq!(every.next(3, &mut random), None);
        every.begin_measurement(3, 50, &mut random);
        assert_eq!(every.next(3, &mut random).unwrap().after, 10);
    }
}
