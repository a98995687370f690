//! What parts of disciplines are worth: COLLAR without each of its own, CSFQ with COLLAR's fair share, AFD with a table of
//! elephants. They run in the simulator as user-defined disciplines, so the library pays for none of them.
//!
//!     cargo run --release --package fairdrop-sim --example ablations -- collar_without_table 1 < scenario.toml
//!
//! takes a name and a seed, reads a scenario, and writes the result as JSON. Without a name it lists the names.

mod afd_of_elephants;
mod csfq_from_matches;
mod slowly;

use afd_of_elephants::AfdOfElephants;
use csfq_from_matches::CsfqFromMatches;
use fairdrop::{AnyParams, CollarParams};
use fairdrop_reference::collar::{CollarModel, Part};
use fairdrop_sim::extension::{DisciplineExtension, ExtensionError, Extensions, Setup};
use fairdrop_sim::{Control, scenario::Scenario, simulate};
use slowly::Slowly;
use std::error::Error;
use std::io::Read;

/// The whole of COLLAR in the same form, which gives the library's results.
pub const WHOLE: &str = "collar_whole";

/// The name of COLLAR without a part.
pub fn without(part: &str) -> &'static str {
    fairdrop_sim::extension::kept(&format!("collar_without_{}", part.replace('-', "_")))
}

/// COLLAR with its defaults, by its reference as `made` makes it.
fn collar(setup: &Setup, made: impl FnOnce(CollarParams) -> CollarModel) -> Slowly<CollarModel> {
    let params = CollarParams { limit: setup.limit, ..CollarParams::default() };
    Slowly::new(made(params.clone()), AnyParams::Collar(params))
}

/// Every one.
///
/// # Errors
/// Two have the same name.
pub fn parts() -> Result<Extensions, ExtensionError> {
    let mut parts = Extensions::default();
    parts.add(DisciplineExtension::named(WHOLE, |setup| collar(setup, CollarModel::new)))?;
    for (name, part) in Part::ALL {
        let made = move |params| CollarModel::without(params, Some(part));
        parts.add(DisciplineExtension::named(without(name), move |setup| collar(setup, made)))?;
    }
    parts.add(DisciplineExtension::named("csfq_from_matches", CsfqFromMatches::new))?;
    parts.add(DisciplineExtension::named("afd_of_elephants", AfdOfElephants::new))?;
    Ok(parts)
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, seed] = words.as_slice() else {
        println!("csfq_from_matches\nafd_of_elephants\n{WHOLE}");
        for (part, _) in Part::ALL {
            println!("{}", without(part));
        }
        return Ok(());
    };
    let (seed, control) = (seed.parse()?, Control::default());
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let scenario = Scenario::parse_with(&text, "stdin", &[], &parts()?, &control)?.with_discipline(name)?;
    let run = simulate(&scenario, seed, &control)?.ok_or("stopped")?;
    println!("{}", serde_json::to_string(&run)?);
    Ok(())
}
