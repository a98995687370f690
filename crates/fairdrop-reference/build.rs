//! Lists the files of `src`, so that adding a reference edits none: a module for each, and `reference_of` from their
//! functions `reference`. A preset has the reference of its discipline.

use std::path::Path;
use std::{env, fs};

fn main() {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("src");
    println!("cargo::rerun-if-changed={}", folder.display());
    let (mut modules, mut arms) = (Vec::new(), Vec::new());
    let entries = fs::read_dir(&folder).expect("it is there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    paths.sort();
    for path in paths {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let Some(module) = stem.filter(|stem| *stem != "lib") else { continue };
        let file = if path.is_dir() { path.join("mod.rs") } else { path.clone() };
        // The file of this code lies elsewhere, so a path from it would depend on where that is.
        modules.push(format!(
            "#[path = \"{}\"]\npub mod {module};\n",
            file.display().to_string().escape_default()
        ));
        let text = fs::read_to_string(&file).expect("it was listed");
        let mut taken = text.lines().filter_map(|line| line.strip_prefix("pub fn reference(params: "));
        if let Some((discipline, _)) = taken.next().and_then(|rest| rest.split_once("Params")) {
            arms.push(format!("fairdrop::AnyParams::{discipline}(params) => {module}::reference(params),\n"));
        }
    }
    let code = format!(
        "{}\n/// The reference of a discipline; `None` where there is none for these parameters.\n\
         pub fn reference_of(params: &fairdrop::AnyParams) -> Option<Box<dyn slow::Slow>> {{\n\
         #[allow(unreachable_patterns)]\nmatch params.of_discipline() {{\n{}_ => None,\n}}\n}}\n",
        modules.concat(),
        arms.concat(),
    );
    let out = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("references.rs");
    fs::write(out, code).expect("the folder of the build can be written");
}
