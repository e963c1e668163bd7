//! Every device beside a naive model of itself, and what crashes leave of those that lose power.

mod crashes;
mod nvrams;
mod ssds;
