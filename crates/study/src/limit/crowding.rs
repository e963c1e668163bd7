//! Crowding: the number of versions that can share a block without long waits.
//!
//! A version is a point, given by the time of its write and the time of its invalidation. Consider the versions in one
//! block between two erases that each wait at most `wait` in total. Each is written at most `wait` after the first
//! erase and invalidated at most `wait` before the second, and the two delays sum to at most `wait`: the points lie in
//! one triangle. The triangles that contain a point therefore bound the number of versions in its block.

use std::collections::BTreeMap;

/// Version that is written and invalidated within the stretch.
#[derive(Clone, Copy, Debug)]
pub(super) struct VersionLife {
    pub written_at: u32,
    pub invalidated_at: u32,
}

/// Cells per side of a triangle, if cells can be that small.
const CELLS_PER_SIDE: u32 = 6;

/// Number of versions by the number of versions that may share a block with them, the most crowded first.
#[derive(Clone, Debug)]
pub(super) struct Crowding(Vec<(u32, u64)>);

impl Crowding {
    /// Computes the crowding of `lives`, written within `writes` writes, for blocks in which each version waits at most
    /// `wait`.
    ///
    /// Versions are counted in cells of a grid with at most `most_rows` rows and columns. Every cell that a triangle
    /// touches counts as inside, so the numbers are never too small.
    pub fn of(lives: &[VersionLife], writes: u32, wait: u32, most_rows: u32) -> Self {
        // All versions are written at different times, which bounds the number in a triangle.
        let trivial = wait.saturating_add(1);
        let side = wait.div_ceil(CELLS_PER_SIDE).max(writes.div_ceil(most_rows)).max(1);
        // With cells of one write, the grid would barely improve on this bound.
        if wait < CELLS_PER_SIDE || lives.is_empty() {
            return Crowding(vec![(trivial, lives.len() as u64)]);
        }
        let grid = Grid::of(lives, writes, side);
        let max_sharers = grid.max_sharers(&row_extents(wait, side));
        let mut versions = BTreeMap::<u32, u64>::new();
        for (&count, &sharers) in grid.counts.iter().zip(&max_sharers) {
            if count > 0 {
                *versions.entry(sharers.min(trivial)).or_default() += u64::from(count);
            }
        }
        Crowding(versions.into_iter().rev().collect())
    }

    /// Returns an upper bound on the versions that wait at most `wait`, given the number of erased blocks.
    ///
    /// Each version takes up one over the number that may share its block, and the versions of one block sum to 1 at
    /// most. Versions with the smallest fractions are taken first. Counting a version in part only raises the bound.
    pub fn max_prompt_versions(&self, mut erases: f64) -> f64 {
        let mut prompt = 0.0;
        for &(sharers, versions) in &self.0 {
            let (sharers, versions) = (f64::from(sharers), versions as f64);
            let needed = versions / sharers;
            if needed >= erases {
                return prompt + erases * sharers;
            }
            erases -= needed;
            prompt += versions;
        }
        prompt
    }
}

/// Returns, by row distance from a triangle's corner, the number of cells beyond the corner's column that the triangle
/// may touch.
fn row_extents(wait: u32, side: u32) -> Vec<u32> {
    // Least difference of times in two cells that are `cells` apart.
    let min_difference = |cells: u64| if cells == 0 { 0 } else { (cells - 1) * u64::from(side) + 1 };
    let within = |row: u64, cells: u64| min_difference(row) + min_difference(cells) <= u64::from(wait);
    let rows = (0..).take_while(|&row| within(row, 0));
    rows.map(|row| (0..).take_while(|&cells| within(row, cells)).count() as u32 - 1).collect()
}

/// Points in square cells: the row is the time of the write, the column the time of the invalidation.
struct Grid {
    rows: usize,
    counts: Vec<u32>,
}

impl Grid {
    fn of(lives: &[VersionLife], writes: u32, side: u32) -> Self {
        let rows = (writes / side + 1) as usize;
        let mut counts = vec![0; rows * rows];
        for life in lives {
            counts[(life.written_at / side) as usize * rows + (life.invalidated_at / side) as usize] += 1;
        }
        Grid { rows, counts }
    }

    /// Returns for each cell the largest number of points of any triangle that may touch it.
    ///
    /// A triangle with its corner before the first write holds no more than one with its corner at the first write.
    fn max_sharers(&self, extents: &[u32]) -> Vec<u32> {
        let rows = self.rows;
        // Corners may be after the last invalidation.
        let width = rows + extents.len();
        let corners = self.corner_sums(extents, width);
        let mut largest = vec![0; rows * rows];
        for (row, row_largest) in largest.chunks_exact_mut(rows).enumerate() {
            for (above, &extent) in extents.iter().enumerate().take(row + 1) {
                let sums = &corners[(row - above) * width..][..width];
                for offset in 0..=extent as usize {
                    row_largest
                        .iter_mut()
                        .zip(&sums[offset..])
                        .for_each(|(largest, &sum)| *largest = sum.max(*largest));
                }
            }
        }
        largest
    }

    /// Returns for each cell the number of points in all cells that a triangle with its corner in that cell may touch.
    fn corner_sums(&self, extents: &[u32], width: usize) -> Vec<u32> {
        let rows = self.rows;
        let mut sums = vec![0; rows * width];
        for (row, sums) in sums.chunks_exact_mut(width).enumerate() {
            for (counts, &extent) in self.counts[row * rows..].chunks_exact(rows).zip(extents) {
                for offset in 0..=extent as usize {
                    sums[offset..].iter_mut().zip(counts).for_each(|(sum, &count)| *sum += count);
                }
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the largest number of points in any triangle that contains the point, by testing all corners.
    fn exact_sharers(lives: &[VersionLife], version: VersionLife, wait: u32) -> u32 {
        let of_corner = |start: u32, end: u32| {
            let inside = |life: &&VersionLife| {
                life.written_at >= start
                    && life.invalidated_at <= end
                    && life.written_at - start + (end - life.invalidated_at) <= wait
            };
            if lives.iter().filter(inside).any(|life| {
                (life.written_at, life.invalidated_at) == (version.written_at, version.invalidated_at)
            }) {
                lives.iter().filter(inside).count() as u32
            } else {
                0
            }
        };
        let starts = version.written_at.saturating_sub(wait)..=version.written_at;
        starts
            .flat_map(|start| {
                (version.invalidated_at..=version.invalidated_at + wait).map(move |end| of_corner(start, end))
            })
            .max()
            .unwrap()
    }

    /// Returns one version per write, with these lengths of life.
    fn versions(lengths: &[u32]) -> Vec<VersionLife> {
        let life = |(written_at, length)| VersionLife { written_at, invalidated_at: written_at + length };
        (0..).zip(lengths).map(life).collect()
    }

    #[test]
    fn crowding_counts_versions_that_can_share_a_block() {
        // The first two versions can share a block from write 0 to 10, in which the second one waits for 1 + 1 writes.
        // The third version is invalidated ten writes later.
        let lives = versions(&[10, 8, 18]);
        assert_eq!(Crowding::of(&lives, 30, 6, 31).0, [(2, 2), (1, 1)]);
        // A short wait has the number of writes during it as its only bound.
        assert_eq!(Crowding::of(&lives, 30, 5, 31).0, [(6, 3)]);
        assert_eq!(Crowding::of(&lives, 30, 0, 31).0, [(1, 3)]);
        assert_eq!(Crowding::of(&[], 30, 6, 31).0, [(7, 0)]);
    }

    proptest! {
        #[test]
        fn grid_with_cells_of_one_write_counts_exactly(lengths in prop::collection::vec(1u32..30, 1..40)) {
            let (lives, wait, writes) = (versions(&lengths), CELLS_PER_SIDE, 80);
            let mut exact = BTreeMap::<u32, u64>::new();
            for life in &lives {
                *exact.entry(exact_sharers(&lives, *life, wait)).or_default() += 1;
            }
            let exact: Vec<(u32, u64)> = exact.into_iter().rev().collect();
            prop_assert_eq!(Crowding::of(&lives, writes, wait, writes + 1).0, exact);
        }

        #[test]
        fn grid_counts_bound_every_triangle(
            lengths in prop::collection::vec(1u32..30, 1..40), wait in 0u32..20, most_rows in 3u32..60,
        ) {
            let writes = 80;
            let lives = versions(&lengths);
            let exact: Vec<u32> = lives.iter().map(|&life| exact_sharers(&lives, life, wait)).collect();
            let crowding = Crowding::of(&lives, writes, wait, most_rows);
            for erases in [0.0, 0.5, 1.0, 2.0, 5.0, 11.0] {
                let mut sorted = exact.clone();
                sorted.sort_unstable_by(|a, b| b.cmp(a));
                let exact_crowding = Crowding(sorted.into_iter().map(|sharers| (sharers, 1)).collect());
                prop_assert!(crowding.max_prompt_versions(erases) >= exact_crowding.max_prompt_versions(erases) - 1e-9);
            }
        }
    }

    #[test]
    fn fractions_of_one_block_sum_to_one() {
        // Four versions may share a block in threes; two cannot share.
        let crowding = Crowding(vec![(3, 4), (1, 2)]);
        let prompt =
            [0.0, 1.0, 4.0 / 3.0, 2.0 + 1.0 / 3.0, 9.0].map(|erases| crowding.max_prompt_versions(erases));
        for (prompt, expected) in prompt.into_iter().zip([0.0, 3.0, 4.0, 5.0, 6.0]) {
            assert!((prompt - expected).abs() < 1e-12, "{prompt} for {expected}");
        }
    }

    #[test]
    fn row_extents_cover_all_cells_of_a_triangle() {
        // With cells of one write, the cells are exactly the triangle.
        assert_eq!(row_extents(3, 1), [3, 2, 1, 0]);
        // With cells of two writes, the corner may be anywhere in its cell.
        assert_eq!(row_extents(4, 2), [2, 2, 1]);
    }
}
