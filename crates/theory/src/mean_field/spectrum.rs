//! Fourier transforms of distributions of block contents; adding the contents of two blocks becomes a product of
//! transforms.
//!
//! There is one dimension for each class but the last. Every dimension is at least `b + 1` long, and no sum of contents
//! exceeds `b` pages of a class, so nothing wraps around.

use super::lattice::ContentLattice;
use realfft::num_complex::Complex64;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftPlanner};
use std::sync::Arc;

/// Transforms of one distribution per level; real and imaginary parts are separate arrays so that products vectorise.
pub(super) struct Spectra {
    frequencies: usize,
    real: Vec<f64>,
    imaginary: Vec<f64>,
}

/// Read access to a transform.
#[derive(Clone, Copy)]
pub(super) struct Spectrum<'a> {
    real: &'a [f64],
    imaginary: &'a [f64],
}

/// Write access to a transform.
pub(super) struct SpectrumMut<'a> {
    real: &'a mut [f64],
    imaginary: &'a mut [f64],
}

impl Spectra {
    pub fn new(levels: usize, frequencies: usize) -> Self {
        let zeros = vec![0.0; levels * frequencies];
        Spectra { frequencies, real: zeros.clone(), imaginary: zeros }
    }

    /// Returns a single zero transform of the same length.
    pub fn zero(&self) -> Self {
        Spectra::new(1, self.frequencies)
    }

    pub fn level(&self, level: usize) -> Spectrum<'_> {
        let at = level * self.frequencies..(level + 1) * self.frequencies;
        Spectrum { real: &self.real[at.clone()], imaginary: &self.imaginary[at] }
    }

    pub fn level_mut(&mut self, level: usize) -> SpectrumMut<'_> {
        let at = level * self.frequencies..(level + 1) * self.frequencies;
        SpectrumMut { real: &mut self.real[at.clone()], imaginary: &mut self.imaginary[at] }
    }

    /// Returns read access to the levels below `level`, and write access to `level`.
    pub fn split_at_level(&mut self, level: usize) -> (LowerLevels<'_>, SpectrumMut<'_>) {
        let at = level * self.frequencies;
        let end = at + self.frequencies;
        let (real, real_now) = self.real[..end].split_at_mut(at);
        let (imaginary, imaginary_now) = self.imaginary[..end].split_at_mut(at);
        let before = LowerLevels { frequencies: self.frequencies, real, imaginary };
        (before, SpectrumMut { real: real_now, imaginary: imaginary_now })
    }
}

/// Levels below the level that is being written.
pub(super) struct LowerLevels<'a> {
    frequencies: usize,
    real: &'a [f64],
    imaginary: &'a [f64],
}

impl LowerLevels<'_> {
    pub fn level(&self, level: usize) -> Spectrum<'_> {
        let at = level * self.frequencies..(level + 1) * self.frequencies;
        Spectrum { real: &self.real[at.clone()], imaginary: &self.imaginary[at] }
    }
}

impl SpectrumMut<'_> {
    /// Sets `self = weight * source`.
    pub fn set_scaled(&mut self, source: Spectrum, weight: f64) {
        for (to, from) in self.real.iter_mut().zip(source.real) {
            *to = weight * from;
        }
        for (to, from) in self.imaginary.iter_mut().zip(source.imaginary) {
            *to = weight * from;
        }
    }

    /// Adds a product: `self += weight * a * b`.
    pub fn add_product(&mut self, a: Spectrum, b: Spectrum, weight: f64) {
        let to = self.real.iter_mut().zip(self.imaginary.iter_mut());
        let a = a.real.iter().zip(a.imaginary);
        let b = b.real.iter().zip(b.imaginary);
        for (((real, imaginary), (ar, ai)), (br, bi)) in to.zip(a).zip(b) {
            let (br, bi) = (weight * br, weight * bi);
            *real += ar * br - ai * bi;
            *imaginary += ar * bi + ai * br;
        }
    }

    /// Adds a product: `self += a * (b - c)`.
    pub fn add_product_of_difference(&mut self, a: Spectrum, b: Spectrum, c: Spectrum) {
        let to = self.real.iter_mut().zip(self.imaginary.iter_mut());
        let a = a.real.iter().zip(a.imaginary);
        let b = b.real.iter().zip(b.imaginary);
        let c = c.real.iter().zip(c.imaginary);
        for ((((real, imaginary), (ar, ai)), (br, bi)), (cr, ci)) in to.zip(a).zip(b).zip(c) {
            let (br, bi) = (br - cr, bi - ci);
            *real += ar * br - ai * bi;
            *imaginary += ar * bi + ai * br;
        }
    }
}

/// Fourier transform of distributions of block contents (valid pages per class) on a lattice.
pub(super) struct Transform {
    length: usize,
    /// Number of dimensions beyond the first.
    more_dimensions: usize,
    /// Index, in the dense array, of the line for each row of the lattice.
    offsets: Vec<usize>,
    real_forward: Arc<dyn RealToComplex<f64>>,
    real_inverse: Arc<dyn ComplexToReal<f64>>,
    forward: Arc<dyn Fft<f64>>,
    inverse: Arc<dyn Fft<f64>>,
    line: Vec<f64>,
    dense: Vec<Complex64>,
    column: Vec<Complex64>,
}

impl Transform {
    pub fn new(lattice: &ContentLattice) -> Self {
        let length = if lattice.classes() == 1 { 1 } else { fft_length(lattice.pages() + 1) };
        let further = lattice.classes().saturating_sub(2);
        let lines = length.pow(further as u32);
        let offset = |counts: &[usize]| counts.iter().rev().fold(0, |sum, count| sum * length + count);
        let mut real = RealFftPlanner::new();
        let mut complex = FftPlanner::new();
        Transform {
            length,
            more_dimensions: further,
            offsets: lattice.rows().iter().map(|row| offset(&row.counts)).collect(),
            real_forward: real.plan_fft_forward(length),
            real_inverse: real.plan_fft_inverse(length),
            forward: complex.plan_fft_forward(length),
            inverse: complex.plan_fft_inverse(length),
            line: vec![0.0; length],
            dense: vec![Complex64::ZERO; lines * (length / 2 + 1)],
            column: vec![Complex64::ZERO; length],
        }
    }

    /// Returns the length of a transform.
    pub fn frequencies(&self) -> usize {
        self.dense.len()
    }

    /// Writes to `to` the transform of `distribution` over the contents of `level`.
    pub fn forward(&mut self, lattice: &ContentLattice, level: usize, distribution: &[f64], to: SpectrumMut) {
        let half = self.length / 2 + 1;
        if self.more_dimensions > 0 {
            self.dense.fill(Complex64::ZERO);
        }
        for (row, offset) in lattice.rows().iter().zip(&self.offsets) {
            if row.sum > level {
                continue;
            }
            let values = &distribution[lattice.span(row, level)];
            self.line[..values.len()].copy_from_slice(values);
            self.line[values.len()..].fill(0.0);
            let output = &mut self.dense[offset * half..(offset + 1) * half];
            self.real_forward.process(&mut self.line, output).expect("the plan's own lengths");
        }
        self.transform_more_dimensions(&Arc::clone(&self.forward));
        let parts = to.real.iter_mut().zip(to.imaginary.iter_mut());
        for ((real, imaginary), value) in parts.zip(&self.dense) {
            (*real, *imaginary) = (value.re, value.im);
        }
    }

    /// Overwrites `distribution` with the distribution of full blocks whose transform is `from`.
    pub fn inverse(&mut self, lattice: &ContentLattice, from: SpectrumMut, distribution: &mut [f64]) {
        let half = self.length / 2 + 1;
        for (value, (real, imaginary)) in
            self.dense.iter_mut().zip(from.real.iter().zip(from.imaginary.iter()))
        {
            *value = Complex64::new(*real, *imaginary);
        }
        self.transform_more_dimensions(&Arc::clone(&self.inverse));
        let scale = 1.0 / self.length.pow(self.more_dimensions as u32 + 1) as f64;
        for (row, offset) in lattice.rows().iter().zip(&self.offsets) {
            let input = &mut self.dense[offset * half..(offset + 1) * half];
            // Values that are real by symmetry need an imaginary part of exactly 0; otherwise the plan returns an
            // error.
            input[0].im = 0.0;
            if self.length.is_multiple_of(2) {
                input[half - 1].im = 0.0;
            }
            self.real_inverse.process(input, &mut self.line).expect("the plan's own lengths");
            let target = &mut distribution[lattice.span(row, lattice.pages())];
            for (target, value) in target.iter_mut().zip(&self.line) {
                *target = value * scale;
            }
        }
    }

    /// Transforms along all dimensions but the first.
    fn transform_more_dimensions(&mut self, plan: &Arc<dyn Fft<f64>>) {
        let half = self.length / 2 + 1;
        let mut stride = half;
        for _ in 0..self.more_dimensions {
            let block = stride * self.length;
            for begin in (0..self.dense.len()).step_by(block) {
                for at in begin..begin + stride {
                    for (n, value) in self.column.iter_mut().enumerate() {
                        *value = self.dense[at + n * stride];
                    }
                    plan.process(&mut self.column);
                    for (n, value) in self.column.iter().enumerate() {
                        self.dense[at + n * stride] = *value;
                    }
                }
            }
            stride = block;
        }
    }
}

/// Returns the least length of at least `at_least` whose only prime factors are 2, 3 and 5.
fn fft_length(at_least: usize) -> usize {
    let is_quick = |length: &usize| {
        let mut cofactor = *length;
        for factor in [2, 3, 5] {
            while cofactor.is_multiple_of(factor) {
                cofactor /= factor;
            }
        }
        cofactor == 1
    };
    (at_least.max(1)..).find(is_quick).expect("powers of two have no end")
}
