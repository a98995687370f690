//! Lists the files of `src/disciplines`, so that adding a discipline edits none: a module and a line of the registry for
//! each file that declares parameters, which are called as the discipline and `Params`.

use std::path::Path;
use std::{env, fs};

fn main() {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("src/disciplines");
    println!("cargo::rerun-if-changed={}", folder.display());
    let (mut modules, mut names, mut lines) = (String::new(), String::new(), String::new());
    for module in modules_in(&folder) {
        let path = folder.join(format!("{module}.rs"));
        let text = fs::read_to_string(&path).expect("it was listed");
        // The file of this code lies elsewhere, so a path from it would depend on where that is.
        modules += &format!("#[path = {path:?}]\npub mod {module};\n");
        let declared =
            text.lines().find_map(|line| line.trim().strip_prefix("pub struct ")?.strip_suffix("Params {"));
        if let Some(discipline) = declared {
            names += &format!("pub use super::{module}::{{{discipline}, {discipline}Params}};\n");
            lines += &format!("{discipline} $crate::{discipline}Params; ");
        }
    }
    modules += &format!(
        "/// Calls a macro with a line for each discipline: its type, and that of its parameters.\n\
         #[macro_export]\nmacro_rules! for_each_discipline {{ ($macro:ident) => {{ $macro! {{ {lines} }} }}; }}\n\
         pub use for_each_discipline;\n\
         /// Every discipline with its parameters.\npub(crate) mod names {{ {names} }}\n"
    );
    let out = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("disciplines.rs");
    fs::write(out, modules).expect("the folder of the build can be written");
}

/// Names of the modules of a folder, in alphabetical order.
fn modules_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the disciplines are there");
    let files = entries.map(|entry| entry.expect("the folder can be read").path());
    let sources = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let mut modules: Vec<String> = sources
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .filter(|name| name != "mod")
        .collect();
    modules.sort();
    modules
}
