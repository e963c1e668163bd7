//! How many versions may share a block without waiting for each other for long.
//!
//! A version is a point: when it is born, and when it dies. Those that lie in one block between two erases of it, each waiting at most
//! `wait` in all, lie in one triangle: born at most `wait` after the block was erased, dead at most `wait` before it is erased again, and
//! both together at most `wait`. So the triangles that hold a point say how many share its block at most.

use std::collections::BTreeMap;

/// A version that is born and dies within the stretch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Life {
    pub born: u32,
    pub dies: u32,
}

/// Cells to the side of a triangle, where they are small enough.
const CELLS_A_SIDE: u32 = 6;

/// Versions by how many may share a block with them: the most crowded first.
#[derive(Clone, Debug)]
pub(super) struct Crowding(Vec<(u32, u64)>);

impl Crowding {
    /// Of `lives`, which were written within `writes` writes, for blocks in which each waits for at most `wait`.
    ///
    /// Births are counted in cells of a grid that has at most `most_rows` of them each way. Whatever cell a triangle touches counts as
    /// within it, so that the numbers are never too small.
    pub fn of(lives: &[Life], writes: u32, wait: u32, most_rows: u32) -> Self {
        // All are born at different times.
        let trivial = wait.saturating_add(1);
        let side = wait.div_ceil(CELLS_A_SIDE).max(writes.div_ceil(most_rows)).max(1);
        // In cells of one write, what may be together is hardly fewer.
        if wait < CELLS_A_SIDE || lives.is_empty() {
            return Crowding(vec![(trivial, lives.len() as u64)]);
        }
        let grid = Grid::of(lives, writes, side);
        let most = grid.most_together(&reaches(wait, side));
        let mut versions = BTreeMap::<u32, u64>::new();
        for (&count, &together) in grid.counts.iter().zip(&most) {
            if count > 0 {
                *versions.entry(together.min(trivial)).or_default() += u64::from(count);
            }
        }
        Crowding(versions.into_iter().rev().collect())
    }

    /// Most versions that wait for at most `wait` if there are so many blocks' worth of erases.
    ///
    /// The versions of one block have shares that sum to 1 at most, a share being one over how many may be together; those with the
    /// smallest shares are taken first. A part of a version is allowed, which makes it no smaller.
    pub fn most_prompt(&self, mut erases: f64) -> f64 {
        let mut prompt = 0.0;
        for &(together, versions) in &self.0 {
            let (together, versions) = (f64::from(together), versions as f64);
            let needed = versions / together;
            if needed >= erases {
                return prompt + erases * together;
            }
            erases -= needed;
            prompt += versions;
        }
        prompt
    }
}

/// By cells between a triangle's corner and a row of cells: how many cells of that row it may touch beyond the corner's.
fn reaches(wait: u32, side: u32) -> Vec<u32> {
    // The nearest times of two cells that are `cells` apart.
    let least = |cells: u64| if cells == 0 { 0 } else { (cells - 1) * u64::from(side) + 1 };
    let within = |row: u64, cells: u64| least(row) + least(cells) <= u64::from(wait);
    let rows = (0..).take_while(|&row| within(row, 0));
    rows.map(|row| (0..).take_while(|&cells| within(row, cells)).count() as u32 - 1).collect()
}

/// Points in square cells: row by birth, column by death.
struct Grid {
    rows: usize,
    counts: Vec<u32>,
}

impl Grid {
    fn of(lives: &[Life], writes: u32, side: u32) -> Self {
        let rows = (writes / side + 1) as usize;
        let mut counts = vec![0; rows * rows];
        for life in lives {
            counts[(life.born / side) as usize * rows + (life.dies / side) as usize] += 1;
        }
        Grid { rows, counts }
    }

    /// For each cell the most points of all triangles that may touch it.
    ///
    /// A triangle whose corner lies before the first write holds no more than one whose corner is at it.
    fn most_together(&self, reaches: &[u32]) -> Vec<u32> {
        let rows = self.rows;
        // Corners may lie past the last death.
        let width = rows + reaches.len();
        let corners = self.corner_sums(reaches, width);
        let mut most = vec![0; rows * rows];
        for (row, most) in most.chunks_exact_mut(rows).enumerate() {
            for (above, &reach) in reaches.iter().enumerate().take(row + 1) {
                let sums = &corners[(row - above) * width..][..width];
                for right in 0..=reach as usize {
                    most.iter_mut().zip(&sums[right..]).for_each(|(most, &sum)| *most = sum.max(*most));
                }
            }
        }
        most
    }

    /// For each cell: the points of all cells that a triangle with its corner there may touch.
    fn corner_sums(&self, reaches: &[u32], width: usize) -> Vec<u32> {
        let rows = self.rows;
        let mut sums = vec![0; rows * width];
        for (row, sums) in sums.chunks_exact_mut(width).enumerate() {
            for (counts, &reach) in self.counts[row * rows..].chunks_exact(rows).zip(reaches) {
                for left in 0..=reach as usize {
                    sums[left..].iter_mut().zip(counts).for_each(|(sum, &count)| *sum += count);
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

    /// The most points of any triangle that holds the point, corner by corner.
    fn exact(lives: &[Life], one: Life, wait: u32) -> u32 {
        let of_corner = |start: u32, end: u32| {
            let inside = |life: &&Life| {
                life.born >= start && life.dies <= end && life.born - start + (end - life.dies) <= wait
            };
            if lives.iter().filter(inside).any(|life| (life.born, life.dies) == (one.born, one.dies)) {
                lives.iter().filter(inside).count() as u32
            } else {
                0
            }
        };
        let starts = one.born.saturating_sub(wait)..=one.born;
        starts
            .flat_map(|start| (one.dies..=one.dies + wait).map(move |end| of_corner(start, end)))
            .max()
            .unwrap()
    }

    proptest! {
        #[test]
        fn no_triangle_holds_more_than_it_is_thought_to(
            lengths in prop::collection::vec(1u32..30, 1..40), wait in 0u32..20, most_rows in 3u32..60,
        ) {
            let writes = 80;
            let lives: Vec<Life> =
                (0..).zip(&lengths).map(|(born, length)| Life { born, dies: born + length }).collect();
            let exact: Vec<u32> = lives.iter().map(|&life| exact(&lives, life, wait)).collect();
            let crowding = Crowding::of(&lives, writes, wait, most_rows);
            for erases in [0.0, 0.5, 1.0, 2.0, 5.0, 11.0] {
                let mut sorted = exact.clone();
                sorted.sort_unstable_by(|a, b| b.cmp(a));
                let exactly = Crowding(sorted.into_iter().map(|together| (together, 1)).collect());
                prop_assert!(crowding.most_prompt(erases) >= exactly.most_prompt(erases) - 1e-9);
            }
        }
    }

    #[test]
    fn shares_of_one_block_sum_to_one() {
        // Four may be three together, two are alone.
        let crowding = Crowding(vec![(3, 4), (1, 2)]);
        let prompt = [0.0, 1.0, 4.0 / 3.0, 2.0 + 1.0 / 3.0, 9.0].map(|erases| crowding.most_prompt(erases));
        for (prompt, expected) in prompt.into_iter().zip([0.0, 3.0, 4.0, 5.0, 6.0]) {
            assert!((prompt - expected).abs() < 1e-12, "{prompt} for {expected}");
        }
    }

    #[test]
    fn a_triangle_touches_the_cells_that_it_may() {
        // Cells of one write each: exactly the triangle.
        assert_eq!(reaches(3, 1), [3, 2, 1, 0]);
        // Of two: its corner may be anywhere in its cell.
        assert_eq!(reaches(4, 2), [2, 2, 1]);
    }
}
