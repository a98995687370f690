//! Lists the files of `src`, so that adding a reference edits none: a module for each, and [`reference_of`] from their
//! functions `reference`.

use std::path::Path;
use std::{env, fs};

fn main() {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("src");
    println!("cargo::rerun-if-changed={}", folder.display());
    let (mut modules, mut arms) = (String::new(), String::new());
    let mut entries: Vec<_> = fs::read_dir(&folder)
        .expect("it is there")
        .map(|entry| entry.expect("it can be read").path())
        .collect();
    entries.sort();
    for path in entries {
        let Some(module) = path.file_stem().and_then(|stem| stem.to_str()).filter(|stem| *stem != "lib")
        else {
            continue;
        };
        let file = if path.is_dir() { path.join("mod.rs") } else { path.clone() };
        // The file of this code lies elsewhere, so a path from it would depend on where that is.
        modules += &format!("#[path = {file:?}]\npub mod {module};\n");
        let text = fs::read_to_string(&file).expect("it was listed");
        let taken = text
            .lines()
            .find_map(|line| line.strip_prefix("pub fn reference(params: ")?.split_once("Params"));
        if let Some((discipline, _)) = taken {
            arms += &format!("fairdrop::AnyParams::{discipline}(params) => {module}::reference(params),\n");
        }
    }
    modules += &format!(
        "/// The reference of a discipline; `None` where there is none for these parameters.\n\
         pub fn reference_of(params: &fairdrop::AnyParams) -> Option<Box<dyn slow::Slow>> {{\n\
         #[allow(unreachable_patterns)]\nmatch params.clone() {{\n{arms}_ => None,\n}}\n}}\n"
    );
    let out = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("references.rs");
    fs::write(out, modules).expect("the folder of the build can be written");
}
