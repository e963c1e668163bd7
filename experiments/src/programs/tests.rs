//! Tests of the programs against the manifests.

use super::*;
use crate::manifest::{entries, read_all};

#[test]
fn programs_of_items_exist_and_accept_their_settings() {
    for found in entries(&read_all().unwrap()) {
        let Some(name) = &found.item.program else { continue };
        let program = find(name).unwrap();
        for (scale, settings) in [("quick", &found.item.quick), ("full", &found.item.full)] {
            (program.check)(settings).unwrap_or_else(|error| panic!("{}, {scale}: {error}", found.name()));
        }
    }
}

#[test]
fn every_program_belongs_to_an_item() {
    let manifests = read_all().unwrap();
    for program in PROGRAMS {
        let used = entries(&manifests).any(|found| found.item.program.as_deref() == Some(program.name));
        assert!(used, "no item uses {}", program.name);
    }
}
