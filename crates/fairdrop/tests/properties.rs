//! The runner of properties: it finds a case that fails, and shows the smallest under the names of its parts.

use fairdrop_reference::properties;
use proptest::prelude::*;

properties! {
    #[test]
    #[should_panic(expected = "(number, flag) = (7, false)")]
    fn the_smallest_case_that_fails_is_shown(number in 0_u32..1000, flag in any::<bool>()) {
        prop_assert!(number < 7, "{number} is too large, {flag}");
    }

    #[test]
    fn every_case_is_of_its_strategy(number in 3_u32..9, (low, high) in (0_i64..5, 5_i64..9)) {
        prop_assert!((3..9).contains(&number) && low < high);
    }
}
