//! The name that was probably meant by a misspelt one.

use crate::plain::MAX_NAME;
use strsim::damerau_levenshtein;

/// The name normalised: without differences of case, hyphens, underscores and spaces.
fn folded(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

/// Whether both are one name but for case, and for hyphens in place of underscores: `FQ-CoDel` is `fq_codel`.
pub fn is_same_name(one: &str, other: &str) -> bool {
    let written = |name: &str| name.replace('-', "_").to_ascii_lowercase();
    written(one) == written(other)
}

/// The one of `known` that `word` is most like; `None` where more than a third of the letters differ.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > MAX_NAME {
        return None;
    }
    let word = folded(word);
    let likeness = |name: &'a str| {
        let name_folded = folded(name);
        let longer = word.chars().count().max(name_folded.chars().count());
        let edits = damerau_levenshtein(&word, &name_folded);
        (3 * edits <= longer).then_some((edits, name))
    };
    known.into_iter().filter_map(likeness).min_by_key(|(edits, _)| *edits).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_keyboard_are_recognised() {
        let known = ["duration", "warm_up", "seed", "sample", "fq_codel", "choke", "codel"];
        for (written, meant) in [
            ("durration", Some("duration")),
            ("dration", Some("duration")),
            ("warmup", Some("warm_up")),
            ("Warm-Up", Some("warm_up")),
            ("seeds", Some("seed")),
            ("smaple", Some("sample")),
            ("fqcodel", Some("fq_codel")),
            ("fq_codle", Some("fq_codel")),
            ("CHOKE", Some("choke")),
            ("tea", None),
            ("sugar", None),
            ("", None),
        ] {
            assert_eq!(nearest(written, known), meant, "{written}");
        }
        assert_eq!(nearest(&"duration".repeat(1000), known), None);
    }

    #[test]
    fn a_name_is_the_same_in_either_case_and_with_hyphens() {
        for written in ["fq_codel", "fq-codel", "FQ-CoDel", "FQ_CoDel"] {
            assert!(is_same_name(written, "fq_codel"), "{written}");
        }
        for written in ["fqcodel", "fq codel", "fq_codel_"] {
            assert!(!is_same_name(written, "fq_codel"), "{written}");
        }
    }
}
