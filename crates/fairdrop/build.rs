//! Lists the files of `src/disciplines`, so that adding a discipline edits none: a module for each, and a line of the
//! registry for each that declares parameters, which are called as the discipline and `Params`.

use std::path::Path;
use std::{env, fs};

fn main() {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("src/disciplines");
    println!("cargo::rerun-if-changed={}", folder.display());
    let (mut modules, mut names, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    for module in modules_in(&folder) {
        let path = folder.join(format!("{module}.rs"));
        let text = fs::read_to_string(&path).expect("it was listed");
        // The file of this code lies elsewhere, so a path from it would depend on where that is.
        modules.push(format!(
            "#[path = \"{}\"]\npub mod {module};\n",
            path.display().to_string().escape_default()
        ));
        let declared =
            text.lines().find_map(|line| line.trim().strip_prefix("pub struct ")?.strip_suffix("Params {"));
        if let Some(discipline) = declared {
            names.push(format!("pub use super::{module}::{{{discipline}, {discipline}Params}};\n"));
            lines.push(format!("{discipline} $crate::{discipline}Params; "));
        }
    }
    let code = format!(
        "{}\n/// Every discipline with its parameters.\npub(crate) mod names {{\n{}}}\n\
         /// Calls a macro with a line for each discipline: its type, and that of its parameters.\n\
         #[macro_export]\nmacro_rules! for_each_discipline {{ ($macro:ident) => {{ $macro! {{ {} }} }}; }}\n\
         pub use for_each_discipline;\n",
        modules.concat(),
        names.concat(),
        lines.concat(),
    );
    let out = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("disciplines.rs");
    fs::write(out, code).expect("the folder of the build can be written");
}

/// Names of the modules of a folder, in alphabetical order.
fn modules_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the disciplines are there");
    let files = entries.map(|entry| entry.expect("the folder can be read").path());
    let sources = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let names = sources.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    let mut modules: Vec<String> = names.filter(|name| name != "mod").collect();
    modules.sort();
    modules
}
