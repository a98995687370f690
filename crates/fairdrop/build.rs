//! Lists the files of `src/disciplines`, so that adding a discipline edits none: a module for each, and a line of the
//! registry for each that declares parameters, which are called as the discipline and `Params`. The presets of a discipline are
//! in `presets.rs` of its folder: each has its line too. Files of tests become modules of `tests/all.rs`.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let home = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let folder = home.join("src/disciplines");
    println!("cargo::rerun-if-changed={}", folder.display());
    // Once a file of tests is written, the list changes. Cargo takes what is missing for changed, and would build all anew.
    if home.join("tests").is_dir() {
        println!("cargo::rerun-if-changed={}", home.join("tests").display());
    }
    let (mut modules, mut names, mut lines, mut tests) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut of_presets = Vec::new();
    for module in modules_in(&folder) {
        let path = folder.join(format!("{module}.rs"));
        let text = fs::read_to_string(&path).expect("it was listed");
        modules.push(format!("{}\npub mod {module};\n", path_attribute(&path)));
        let mut tested = vec![module.clone()];
        let own = declared(&text).next();
        if let Some(discipline) = own {
            names.push(format!("pub use super::{module}::{{{discipline}, {discipline}Params}};\n"));
            lines.push(format!("{discipline} $crate::{discipline}Params; "));
        }
        let presets = fs::read_to_string(folder.join(&module).join("presets.rs")).unwrap_or_default();
        for preset in declared(&presets) {
            names.push(format!("pub use super::{module}::{preset}Params;\n"));
            lines.push(format!("{preset} $crate::{preset}Params; "));
            of_presets.push(format!("{preset} {}; ", own.expect("a preset has a discipline")));
        }
        let called =
            presets.lines().filter_map(|line| line.trim().strip_prefix("name: \"")?.strip_suffix("\","));
        tested.extend(called.map(str::to_owned));
        for module in tested {
            let file = home.join(format!("tests/{module}.rs"));
            if file.is_file() {
                tests.push(format!("{}\nmod {module};\n", path_attribute(&file)));
            }
        }
    }
    let code = format!(
        "{}\n/// Every discipline with its parameters.\npub(crate) mod names {{\n{}}}\n\
         /// Calls a macro with a line for each discipline: its type, and that of its parameters.\n\
         #[macro_export]\nmacro_rules! for_each_discipline {{ ($macro:ident) => {{ $macro! {{ {} }} }}; }}\n\
         pub use for_each_discipline;\n\
         /// Calls a macro with a line for each preset: its type, and that of its discipline.\n\
         macro_rules! for_each_preset {{ ($macro:ident) => {{ $macro! {{ {} }} }}; }}\n\
         pub(crate) use for_each_preset;\n",
        modules.concat(),
        names.concat(),
        lines.concat(),
        of_presets.concat(),
    );
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    for (file, text) in [("disciplines.rs", code), ("tests.rs", tests.concat())] {
        fs::write(out.join(file), text).expect("the folder of the build can be written");
    }
}

/// The sets of parameters that a file declares, without `Params`.
fn declared(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.trim().strip_prefix("pub struct ")?.strip_suffix("Params {"))
}

/// The file of a module. The list lies elsewhere, so a path from there would depend on where that is.
fn path_attribute(path: &Path) -> String {
    format!("#[path = \"{}\"]", path.display().to_string().escape_default())
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
