//! Contents of blocks: the number of valid pages of each class.
//!
//! Contents with `j` valid pages are identified by the counts of all classes but the last, whose count is the
//! remainder. The first class is the index within a row, and the other classes number the rows. With two classes a
//! level is one contiguous array over the hot pages, `i = 0..=j`; with more classes it is a list of such arrays. Every
//! vector of contents is laid out for full blocks; a level uses the beginning of each row.

/// Rows of all contents of blocks of `pages` pages.
#[derive(Debug)]
pub(super) struct ContentLattice {
    pages: usize,
    classes: usize,
    rows: Vec<Row>,
    size: usize,
}

/// Contents that agree in all classes between the first and the last.
#[derive(Debug)]
pub(super) struct Row {
    /// Counts of the classes 1 to k - 2.
    pub counts: Vec<usize>,
    /// Sum of `counts`.
    pub sum: usize,
    /// Index at which the row starts.
    pub start: usize,
    /// For each of the classes 1 to k - 2, the row with one more page of that class; `NO_ROW` beyond the full block.
    up: Vec<usize>,
}

const NO_ROW: usize = usize::MAX;

/// Probabilities below this count as 0. Smaller numbers become subnormal, and arithmetic with subnormal numbers is a
/// hundred times slower.
const MIN_PROBABILITY: f64 = 1e-280;

/// Limit of the exponent by which a tilt makes contents likelier.
const MAX_TILT_EXPONENT: f64 = 600.0;

/// Returns `probability`, or 0 if it is below [`MIN_PROBABILITY`].
#[inline(always)]
pub(super) fn flush_tiny(probability: f64) -> f64 {
    if probability.abs() < MIN_PROBABILITY { 0.0 } else { probability }
}

impl ContentLattice {
    pub fn new(pages: usize, classes: usize) -> Self {
        let mut rows: Vec<Row> = Vec::new();
        let mut size = 0;
        for counts in compositions(classes.saturating_sub(2), pages) {
            let sum: usize = counts.iter().sum();
            rows.push(Row { up: Vec::new(), sum, start: size, counts });
            size += if classes == 1 { 1 } else { pages - sum + 1 };
        }
        let at: std::collections::BTreeMap<Vec<usize>, usize> =
            rows.iter().enumerate().map(|(index, row)| (row.counts.clone(), index)).collect();
        for row in &mut rows {
            row.up = (0..row.counts.len())
                .map(|class| {
                    let mut more = row.counts.clone();
                    more[class] += 1;
                    at.get(&more).copied().unwrap_or(NO_ROW)
                })
                .collect();
        }
        ContentLattice { pages, classes, rows, size }
    }

    /// Returns the number of contents of blocks of `pages` pages: counts of the first `classes - 1` classes that sum to
    /// at most `pages`. Infinite on overflow.
    pub fn count(pages: usize, classes: usize) -> f64 {
        (1..classes).map(|class| (pages + class) as f64 / class as f64).product()
    }

    pub fn pages(&self) -> usize {
        self.pages
    }

    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Returns the length of a vector of contents.
    pub fn size(&self) -> usize {
        self.size
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Returns the range of contents of `row` with `level` valid pages, empty if the row already holds more pages.
    #[inline]
    pub fn span(&self, row: &Row, level: usize) -> std::ops::Range<usize> {
        let length = match self.classes {
            1 => 1,
            _ => (level + 1).saturating_sub(row.sum),
        };
        row.start..row.start + length
    }

    /// Returns the rate at which contents of `row` at `level` lose a page, as `first + i * step`, if a page of class
    /// `t` is invalidated at `rates[t]`.
    #[inline]
    pub fn loss_rate(&self, row: &Row, level: usize, rates: &[f64]) -> (f64, f64) {
        let last = rates[self.classes - 1];
        let inner_rate: f64 =
            row.counts.iter().zip(&rates[1..]).map(|(&count, rate)| count as f64 * rate).sum();
        let first = inner_rate + (level - row.sum) as f64 * last;
        (first, rates[0] - last)
    }

    /// Computes the flow from `level` to the level below if a page of class `t` is invalidated at `rates[t]`.
    ///
    /// Overwrites `to` with `to[c] = sum_t (c_t + 1) rates[t] from[c + e_t]`.
    pub fn remove_page(&self, level: usize, rates: &[f64], from: &[f64], to: &mut [f64]) {
        let (first, last) = (rates[0], rates[self.classes - 1]);
        for row in &self.rows {
            if row.sum + 1 > level {
                continue;
            }
            let source = &from[self.span(row, level)];
            let target = &mut to[self.span(row, level - 1)];
            let last_count = (level - row.sum) as f64;
            if self.classes == 1 {
                target[0] = last_count * last * source[0];
                continue;
            }
            for (i, (target, pair)) in target.iter_mut().zip(source.windows(2)).enumerate() {
                let i = i as f64;
                *target = flush_tiny((last_count - i) * last * pair[0] + (i + 1.0) * first * pair[1]);
            }
            for (class, (&count, &up)) in row.counts.iter().zip(&row.up).enumerate() {
                let rate = (count + 1) as f64 * rates[class + 1];
                let source = &from[self.span(&self.rows[up], level)];
                for (target, source) in target.iter_mut().zip(source) {
                    *target += rate * source;
                }
            }
        }
    }

    /// Computes the contents of blocks with `level` valid pages after one more page is written, of class `t` with
    /// probability `shares[t]`.
    ///
    /// Overwrites `to` with `to[c] = sum_t shares[t] from[c - e_t]`.
    pub fn add_page(&self, level: usize, shares: &[f64], from: &[f64], to: &mut [f64]) {
        let (first, last) = (shares[0], shares[self.classes - 1]);
        if self.classes == 1 {
            to[0] = last * from[0];
            return;
        }
        for row in self.rows.iter().filter(|row| row.sum <= level + 1) {
            to[self.span(row, level + 1)].fill(0.0);
        }
        for row in self.rows.iter().filter(|row| row.sum <= level) {
            let source = &from[self.span(row, level)];
            let target = &mut to[self.span(row, level + 1)];
            for (target, source) in target.iter_mut().zip(source) {
                *target += flush_tiny(last * source);
            }
            for (target, source) in target[1..].iter_mut().zip(source) {
                *target += flush_tiny(first * source);
            }
            for (class, &up) in row.up.iter().enumerate() {
                let target = &mut to[self.span(&self.rows[up], level + 1)];
                for (target, source) in target.iter_mut().zip(source) {
                    *target += shares[class + 1] * source;
                }
            }
        }
    }

    /// Adds `weight * from` to `to`, at one level.
    pub fn add(&self, level: usize, weight: f64, from: &[f64], to: &mut [f64]) {
        for row in self.rows.iter().filter(|row| row.sum <= level) {
            let span = self.span(row, level);
            for (to, from) in to[span.clone()].iter_mut().zip(&from[span]) {
                *to += weight * from;
            }
        }
    }

    /// Returns the sum over the contents of a level.
    pub fn total(&self, level: usize, values: &[f64]) -> f64 {
        let rows = self.rows.iter().filter(|row| row.sum <= level);
        rows.map(|row| values[self.span(row, level)].iter().sum::<f64>()).sum()
    }

    /// Adds to `pages` the pages of each class, summed over the contents of a level: `sum_c c_t of[c]`.
    pub fn add_class_pages(&self, level: usize, of: &[f64], pages: &mut [f64]) {
        let last = self.classes - 1;
        for row in self.rows.iter().filter(|row| row.sum <= level) {
            let values = &of[self.span(row, level)];
            let sum: f64 = values.iter().sum();
            let along: f64 = match self.classes {
                1 => 0.0,
                _ => values.iter().enumerate().map(|(i, value)| i as f64 * value).sum(),
            };
            let mut last_pages = (level - row.sum) as f64 * sum;
            if self.classes > 1 {
                pages[0] += along;
                last_pages -= along;
            }
            pages[last] += last_pages;
            for (class, &count) in row.counts.iter().enumerate() {
                pages[class + 1] += count as f64 * sum;
            }
        }
    }

    /// Multiplies the distribution of full blocks by `factors[t]` for each page of class `t`, up to a common factor.
    ///
    /// Works with logarithms relative to the mean content, because the powers overflow in large blocks.
    pub fn tilt(&self, factors: &[f64], distribution: &mut [f64]) {
        let logarithms: Vec<f64> = factors.iter().map(|factor| factor.ln()).collect();
        let mut mean = vec![0.0; self.classes];
        self.add_class_pages(self.pages, distribution, &mut mean);
        let total = self.total(self.pages, distribution);
        let offset: f64 = mean.iter().zip(&logarithms).map(|(pages, log)| pages / total * log).sum();
        let last = logarithms[self.classes - 1];
        let step = logarithms[0] - last;
        for row in &self.rows {
            let inner: f64 =
                row.counts.iter().zip(&logarithms[1..]).map(|(&count, log)| count as f64 * log).sum();
            let first = inner + (self.pages - row.sum) as f64 * last - offset;
            for (i, value) in distribution[self.span(row, self.pages)].iter_mut().enumerate() {
                *value *= (first + i as f64 * step).min(MAX_TILT_EXPONENT).exp();
            }
        }
    }

    /// Returns the index of full blocks that hold only pages of `class`.
    pub fn pure(&self, class: usize) -> usize {
        if class + 1 == self.classes {
            return 0;
        }
        if class == 0 {
            return self.pages;
        }
        let is_pure = |row: &&Row| row.sum == self.pages && row.counts[class - 1] == self.pages;
        self.rows.iter().find(is_pure).expect("every class can fill a block").start
    }

    /// Returns the multinomial distribution of blocks of `level` pages, each of class `t` with probability `shares[t]`.
    pub fn multinomial(&self, level: usize, shares: &[f64]) -> Vec<f64> {
        let mut distribution = vec![0.0; self.size];
        distribution[0] = 1.0;
        let mut next = distribution.clone();
        for filled in 0..level {
            self.add_page(filled, shares, &distribution, &mut next);
            std::mem::swap(&mut distribution, &mut next);
        }
        distribution
    }
}

/// Returns all vectors of `parts` counts with a sum of at most `total`, in lexicographic order.
fn compositions(parts: usize, total: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..parts {
        all = all
            .into_iter()
            .flat_map(|counts| {
                let remaining = total - counts.iter().sum::<usize>();
                (0..=remaining).map(move |count| {
                    let mut more = counts.clone();
                    more.push(count);
                    more
                })
            })
            .collect();
    }
    all
}
