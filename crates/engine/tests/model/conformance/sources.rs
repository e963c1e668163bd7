//! Checks that no implementation of the layer and medium traits is missing from these tests.

use super::{layers, media};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Implementations that are tested elsewhere, with the reason.
const TESTED_ELSEWHERE: &[(&str, &str)] =
    &[("Probe", "an experiment's flash, which compares validity stores with each other")];

fn repository_root() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a crate lies in a folder");
    crates.parent().expect("which lies in the repository").to_owned()
}

/// Returns all sources of libraries and programs, without tests.
fn sources() -> Vec<String> {
    fn walk(folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "tests" {
                    walk(&path, found);
                }
            } else if name.ends_with(".rs") && name != "tests.rs" {
                found.push(fs::read_to_string(&path).expect("text"));
            }
        }
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(repository_root().join("crates")).expect("the crates") {
        walk(&entry.expect("a crate").path().join("src"), &mut found);
    }
    walk(&repository_root().join("experiments/src"), &mut found);
    found
}

/// Returns `text` after its leading angle brackets, or all of it without such brackets.
fn after_brackets(text: &str) -> &str {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return if at == 0 { text } else { &text[at + 1..] };
        }
    }
    text
}

/// Returns the names of the types for which `text` implements the trait `trait_name`.
fn implementers(text: &str, trait_name: &str) -> Vec<String> {
    let heads = text.split("\nimpl").skip(1).filter_map(|rest| rest.split_once('{'));
    let names = heads.filter_map(|(head, _)| {
        let head = after_brackets(head.trim_start()).trim_start();
        let rest = head.strip_prefix(trait_name)?;
        let rest = after_brackets(rest).trim_start().strip_prefix("for ")?;
        let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
        Some(rest[..end.unwrap_or(rest.len())].to_owned())
    });
    names.collect()
}

#[test]
fn implementers_are_found() {
    let text = "\nimpl<M: Medium, F: Fn(u8) -> u8> Layer<M::Payload>\n    for Store<M>\nwhere\n{\n}\nimpl Layer<()> for Sink {}\n\
                impl Store {\nimpl<P> LayerExt<P> for P {\nimpl<P: Payload> Medium for Nand<P> {";
    assert_eq!(implementers(&text.replace("-> u8", ""), "Layer"), ["Store", "Sink"]);
    assert_eq!(implementers(text, "Medium"), ["Nand"]);
}

#[test]
fn every_layer_and_every_medium_is_driven() {
    let sources = sources();
    for (trait_name, driven) in [("Layer", layers::DRIVEN), ("Medium", media::DRIVEN)] {
        let found: BTreeSet<String> =
            sources.iter().flat_map(|text| implementers(text, trait_name)).collect();
        let elsewhere = TESTED_ELSEWHERE.iter().map(|(name, _)| *name);
        let tested: BTreeSet<String> = driven.iter().copied().chain(elsewhere).map(str::to_owned).collect();
        let missing: Vec<_> = found.difference(&tested).collect();
        assert!(
            missing.is_empty(),
            "{trait_name}: {missing:?} are implemented, and no test here drives them"
        );
        let stale: Vec<_> = driven.iter().filter(|name| !found.contains(**name)).collect();
        assert!(stale.is_empty(), "{trait_name}: {stale:?} are not implemented anywhere");
    }
}
