//! Write amplification in closed form, or as the root of a scalar equation.
