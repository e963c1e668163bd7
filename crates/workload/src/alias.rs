//! Weighted choice among many alternatives with one random number (alias method: Walker 1977; Vose's set-up, 1991).

/// Alias table that turns a uniform 64-bit number into an index with the given weights.
///
/// Replaces `rand`'s `WeightedAliasIndex`, which draws twice and branches: a choice here is one multiplication
/// without a branch, which accounts for most of the speed of the Zipf sampler.
#[derive(Clone, Debug)]
pub(super) struct AliasTable {
    slots: Vec<Slot>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Draws below this threshold select the slot itself.
    threshold: u64,
    /// Index selected by the other draws.
    alias: u32,
}

impl AliasTable {
    /// Builds the table for weights that are finite, not negative and not all zero.
    pub fn new(weights: &[f64]) -> Self {
        let scale = weights.len() as f64 / weights.iter().sum::<f64>();
        let mut remaining: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
        let mut slots: Vec<Slot> =
            (0..weights.len() as u32).map(|index| Slot { threshold: u64::MAX, alias: index }).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..remaining.len()).partition(|&i| remaining[i] < 1.0);
        // Fill each slot below the mean weight from a slot above the mean weight. Slots left over because of rounding
        // select themselves.
        while let (Some(&donor), Some(small_index)) = (large.last(), small.pop()) {
            slots[small_index] = Slot { threshold: threshold(remaining[small_index]), alias: donor as u32 };
            remaining[donor] -= 1.0 - remaining[small_index];
            if remaining[donor] < 1.0 {
                large.pop();
                small.push(donor);
            }
        }
        AliasTable { slots }
    }

    /// Returns the index for the uniform number `draw`.
    #[inline(always)]
    pub fn pick(&self, draw: u64) -> usize {
        let product = u128::from(draw) * self.slots.len() as u128;
        let index = (product >> 64) as usize;
        let slot = self.slots[index];
        // This is a mask and not an `if`, because the compiler turns an `if` into a branch, which is mispredicted every
        // few draws.
        let own_mask = usize::from((product as u64) < slot.threshold).wrapping_neg();
        let alias = slot.alias as usize;
        alias ^ ((index ^ alias) & own_mask)
    }
}

/// Returns the bound below which a uniform 64-bit number falls with the given probability.
///
/// For a probability of 1, one number of 2^64 is not below the bound.
pub(super) fn threshold(probability: f64) -> u64 {
    // A cast of a float too large for the integer saturates.
    (probability * 2f64.powi(64)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// For each alternative, adds up the shares in all slots, and compares the sum with the weight.
        #[test]
        fn slots_add_up_to_the_weights(weights in prop::collection::vec(0.0..10.0f64, 1..60)) {
            let sum: f64 = weights.iter().sum();
            prop_assume!(sum > 0.0);
            let table = AliasTable::new(&weights);
            let mut share = vec![0.0; weights.len()];
            for (index, slot) in table.slots.iter().enumerate() {
                let own_share = slot.threshold as f64 / 2f64.powi(64);
                share[index] += own_share / weights.len() as f64;
                share[slot.alias as usize] += (1.0 - own_share) / weights.len() as f64;
            }
            for (share, weight) in share.iter().zip(&weights) {
                prop_assert!((share - weight / sum).abs() < 1e-9, "{share} for {weight} of {sum}");
            }
        }
    }

    #[test]
    fn extreme_draws_stay_in_range() {
        let table = AliasTable::new(&[1.0, 0.0, 3.0]);
        assert!(table.pick(0) < 3 && table.pick(u64::MAX) < 3);
        assert_eq!(AliasTable::new(&[5.0]).pick(u64::MAX), 0);
    }
}
