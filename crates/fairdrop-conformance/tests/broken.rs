//! An implementation with a mistake does not pass: each wrong form of a reference differs from some vector of its discipline
//! by what it drops, marks and sends, which is all that a program under test has to report, or, if the mistake is in the number
//! of draws, by the candidates that it wants (`compared`).

use fairdrop::AnyParams;
use fairdrop_conformance::apply;
use fairdrop_reference::chokew::ChokeWReference;
use fairdrop_reference::codel::CoDelModel;
use fairdrop_reference::compare::declare_mistaken;
use fairdrop_reference::fq_codel::FqCoDelModel;
use fairdrop_reference::pie::PieModel;
use fairdrop_reference::red::{Reference, Scheme};
use fairdrop_reference::slow::Slow;
use fairdrop_reference::{Broken, reference_of};

use crate::beside::{first_difference, vectors_of};

const README: &str = include_str!("../../../conformance/README.md");

/// A reference with a mistake.
fn broken_reference_of(params: AnyParams, form: Broken) -> Box<dyn Slow> {
    match params {
        AnyParams::Red(params) => Box::new(Reference::new(Scheme::Red(params)).broken(form)),
        AnyParams::ChokeW(params) => Box::new(ChokeWReference::of(&params).broken(form)),
        AnyParams::CoDel(params) => Box::new(CoDelModel::new(params).broken(form)),
        AnyParams::FqCoDel(params) => Box::new(FqCoDelModel::new(params).broken(form)),
        AnyParams::Pie(params) => Box::new(PieModel::new(params).broken(form)),
        _ => panic!("{form:?} is of another discipline"),
    }
}

#[test]
fn every_broken_form_fails_and_the_readme_names_a_vector_that_notices() {
    for form in Broken::ALL {
        let (discipline, mut noticed) = (form.discipline(), Vec::new());
        for vector in vectors_of(discipline) {
            let (case, params) = (&vector.header.case, apply(&vector.header).unwrap());
            let mut sound = reference_of(&params).unwrap();
            assert_eq!(first_difference(&vector, sound.as_mut()), Ok(None), "{discipline}/{case}");
            let mut broken = broken_reference_of(params, form);
            declare_mistaken(true);
            let difference = first_difference(&vector, broken.as_mut());
            // CHOKeW draws until a candidate matches, so that its candidates show every error in their number.
            if difference.is_err() {
                assert_eq!(discipline, "chokew", "{case}: {difference:?}");
            }
            if difference != Ok(None) {
                noticed.push(format!("`{discipline}/{case}`"));
            }
            declare_mistaken(false);
        }
        let named = noticed.iter().any(|vector| README.contains(vector));
        assert!(named, "{form:?}: noticed by {noticed:?}");
    }
}
