//! The model checked against known special cases.

use super::*;
use crate::selection::{DChoices, GreedyLimit};

fn contents() -> Contents {
    Contents {
        same: 0.1,
        pairs: 0.05,
        pair_delay: 0.1,
        popular: 0.3,
        popular_contents: 100,
        exponent: 1.0,
        lifetime: 20.0,
        cold_duplicates: 0.0,
    }
}

const CAGC: Detection = Detection::Cleaning { promotes: true, separates: true };

fn dedup_model(contents: Contents, detection: Detection) -> DedupModel<'static> {
    DedupModel {
        drive: Drive::new(32, 0.1).unwrap(),
        logical_pages: 20_000,
        classes: Classes::hot_cold(0.8, 0.2).unwrap(),
        contents,
        detection,
        structure: Structure::Single,
        selection: &GreedyLimit,
    }
}

#[test]
fn drive_without_duplicates_is_the_mean_field() {
    let none = Contents { same: 0.0, pairs: 0.0, popular: 0.0, ..contents() };
    for detection in [Detection::Writing, CAGC] {
        let model = dedup_model(none.clone(), detection);
        let found = model.steady_state().unwrap();
        let mean_field = MeanField::new(model.drive, model.classes.clone(), Structure::Single, &GreedyLimit);
        let expected = mean_field.unwrap().steady_state().unwrap().write_amplification;
        assert!((found.write_amplification / expected - 1.0).abs() < 1e-7, "{found:?}, {expected}");
        assert!((found.sharing - 1.0).abs() < 1e-12 && found.saved.abs() < 1e-12 && found.promoted == 0.0);
    }
}

/// All duplicates are rewrites of equal content: the address keeps its page if the duplicate is found on writing, and
/// gets a new page otherwise.
#[test]
fn unchanged_rewrites_are_saved_only_by_detection_on_writing() {
    let unchanged = Contents { same: 0.4, pairs: 0.0, popular: 0.0, ..contents() };
    let inline = dedup_model(unchanged.clone(), Detection::Writing).steady_state().unwrap();
    assert!((inline.saved - 0.4).abs() < 1e-12 && (inline.sharing - 1.0).abs() < 1e-12);
    assert!((inline.write_amplification - 0.6 * inline.equivalent_amplification).abs() < 1e-12);
    let cagc = dedup_model(unchanged, CAGC).steady_state().unwrap();
    assert!(
        cagc.saved.abs() < 1e-12
            && (cagc.write_amplification / cagc.equivalent_amplification - 1.0).abs() < 1e-12
    );
}

/// A fraction `pairs` of uniform writes is a second copy. An overwrite of either copy ends a pair, so a pair ends twice
/// as fast as a page.
#[test]
fn pairs_share_as_hand_computed() {
    let pairs = Contents { same: 0.0, pairs: 0.2, popular: 0.0, pair_delay: 0.0, ..contents() };
    let model =
        |contents| DedupModel { classes: Classes::uniform(), ..dedup_model(contents, Detection::Writing) };
    let found = model(pairs.clone()).steady_state().unwrap();
    assert!((found.sharing - 1.0 / (1.0 - 0.2 / 2.0)).abs() < 1e-12, "{found:?}");
    // A fifth of the pages is in pairs; the other pages are invalidated when they are overwritten.
    assert!((found.saved - 0.2).abs() < 1e-12, "{found:?}");
    // If the second copy comes after one drive write on average, half of the first copies are overwritten before it
    // comes.
    let delayed = model(Contents { pair_delay: 1.0, ..pairs }).steady_state().unwrap();
    assert!((delayed.saved - 0.1).abs() < 1e-12, "{delayed:?}");
}

/// A few contents never leave the pool: all addresses that hold them share, and the stored pages equal the number of
/// contents.
#[test]
fn popular_contents_are_stored_once() {
    let popular = Contents {
        same: 0.0,
        pairs: 0.0,
        pair_delay: 0.0,
        popular: 0.5,
        popular_contents: 10,
        exponent: 0.1,
        lifetime: 1e7,
        cold_duplicates: 0.0,
    };
    let model = DedupModel { classes: Classes::uniform(), ..dedup_model(popular, Detection::Writing) };
    let found = model.steady_state().unwrap();
    let stored = 0.5 + 10.0 / 20_000.0;
    assert!((found.sharing * stored - 1.0).abs() < 1e-3, "{found:?}");
    assert!((found.saved - 0.5).abs() < 1e-3, "{found:?}");
}

/// The current and all former contents together sum to the examined pages with popular contents.
#[test]
fn generations_sum_to_examined_pages() {
    for (lifetime, survival) in [(1.0, [1.0, 1.0]), (20.0, [0.2, 0.9])] {
        let model = dedup_model(Contents { lifetime, ..contents() }, CAGC);
        let at = model.popular_shares();
        let popular = PopularContents::of(&model, &at, &survival).unwrap();
        assert!(popular.shared_share > 0.5 && popular.shared_share < 1.0);
        // Shared pages are in the pool or have left it, with two or more sharers each.
        let examined: f64 =
            model.classes.as_slice().iter().zip(survival).map(|(c, s)| c.space_share * s * 0.3 / 0.9).sum();
        assert!(
            popular.shared_pages > 0.0 && popular.shared_pages < 0.5 * examined,
            "{}",
            popular.shared_pages
        );
    }
}

#[test]
fn merging_saves_more_than_its_space_and_less_than_detection_on_writing() {
    let without_dedup = dedup_model(Contents { same: 0.0, pairs: 0.0, popular: 0.0, ..contents() }, CAGC)
        .steady_state()
        .unwrap();
    let cagc = dedup_model(contents(), CAGC).steady_state().unwrap();
    let inline = dedup_model(contents(), Detection::Writing).steady_state().unwrap();
    assert!(
        cagc.write_amplification < cagc.equivalent_amplification
            && cagc.equivalent_amplification < without_dedup.write_amplification,
        "{cagc:?}"
    );
    assert!(inline.write_amplification < cagc.write_amplification && inline.sharing > cagc.sharing);
    // Hot pages are mostly invalidated before they are examined, cold pages rarely.
    assert!(cagc.survival[0] < 0.6 && cagc.survival[1] > 0.8, "{cagc:?}");
}

#[test]
fn regions_and_choices_converge() {
    let choices = DChoices::new(10.0).unwrap();
    for apart in [true, false] {
        let detection = Detection::Cleaning { promotes: apart, separates: apart };
        let found =
            DedupModel { selection: &choices, ..dedup_model(contents(), detection) }.steady_state().unwrap();
        assert!(found.write_amplification > 1.0 && found.sharing > 1.1, "{found:?}");
    }
}

#[test]
fn invalid_contents_are_refused() {
    let all = Contents { popular: 0.9, ..contents() };
    assert!(dedup_model(all, CAGC).steady_state().unwrap_err().to_string().contains("popular"));
    let negative = Contents { same: -0.1, ..contents() };
    assert!(dedup_model(negative, CAGC).steady_state().unwrap_err().to_string().starts_with("same: -0.1"));
    let never = Contents { pair_delay: f64::NAN, ..contents() };
    assert!(dedup_model(never, CAGC).steady_state().unwrap_err().to_string().starts_with("pair_delay: NaN"));
    let double = DedupModel { structure: Structure::Double, ..dedup_model(contents(), CAGC) };
    assert!(double.steady_state().unwrap_err().to_string().starts_with("structure: two frontiers"));
}
