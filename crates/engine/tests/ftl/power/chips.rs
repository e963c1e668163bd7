//! Flash for the FTLs under test.

use crate::power::harness::Chips;
use wearwell_base::seed::{Random, Seed, random_below};
use wearwell_engine::nand::{Faults, Geometry, Nand, PowerCutFlash, PowerSource, Wear};

/// Creates flash of the given shape, with random faults and wear, for the FTL under test.
pub fn chips(
    power: PowerSource,
    (blocks, pages_per_block): (u32, u32),
    random: &mut Random,
    seed: u64,
) -> Chips {
    let bad = random_below(random, 3) as u32;
    let endurance_cycles = (random_below(random, 4) == 0).then(|| 8 + random_below(random, 30) as u32);
    let wear = Wear { endurance_cycles, endurance_spread: 0.3, factory_bad_blocks: bad };
    let faults = Faults {
        program_failure_rate: [0.0, 0.0, 0.004, 0.02][random_below(random, 4) as usize],
        read_disturb_limit: (random_below(random, 2) == 0)
            .then(|| 4 * pages_per_block + random_below(random, 60) as u32),
    };
    let nand = Nand::new(Geometry::flat(blocks + bad, pages_per_block, 4096), wear, Seed(seed));
    PowerCutFlash::new(nand.with_spare_area().with_faults(faults, Seed(seed)), power)
}
