//! Runner of items: reproduces them, decides their claims and writes their pages.

pub mod answer;
pub mod judge;
pub mod pages;
pub mod reproduce;
pub mod sensitivity;
