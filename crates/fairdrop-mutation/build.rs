//! Rewrites the references into the folder of the build, if the program that plays to them is built.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

#[path = "src/rewrite.rs"]
#[allow(dead_code, unused_imports, reason = "the library has tests of it")]
mod rewrite;

/// What references have in common, and no discipline; `burst` is a model of modes, whose vectors have no reference beside them.
const NOT_DISCIPLINES: &[&str] = &[
    "lib",
    "arbitrary",
    "broken",
    "burst",
    "cases",
    "compare",
    "eighths",
    "host",
    "properties",
    "slow",
    "wall",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_FORMS").is_none() {
        return;
    }
    let here = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let folder = Path::new(&here).join("../fairdrop-reference/src");
    let out = env::var("OUT_DIR").expect("cargo sets it");
    let list = Path::new(&here).join("unviable.txt");
    for watched in [folder.as_path(), &list, &Path::new(&here).join("src/rewrite.rs")] {
        println!("cargo::rerun-if-changed={}", watched.display());
    }
    let list = fs::read_to_string(list).expect("it is there");
    let unviable: Vec<&str> = list.lines().filter(|line| !line.starts_with('#')).collect();
    let mut paths: Vec<_> = fs::read_dir(&folder)
        .expect("it is there")
        .map(|entry| entry.expect("it can be read").path())
        .collect();
    paths.sort();
    let (mut modules, mut arms, mut files, mut forms, mut next) =
        (String::new(), String::new(), String::new(), String::new(), 1);
    for path in paths {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        if NOT_DISCIPLINES.contains(&stem.as_str()) {
            continue;
        }
        let text = fs::read_to_string(&path).expect("it was listed");
        let rewritten = rewrite::rewrite(&format!("{stem}.rs"), &text, next, &unviable).expect("it is Rust");
        let target = Path::new(&out).join(format!("{stem}.rs"));
        fs::write(&target, rewritten.code.to_string()).expect("the folder of the build can be written");
        let _ = writeln!(modules, "#[path = {:?}]\npub mod {stem};", target.display().to_string());
        let mut declared = text.lines().filter_map(|line| line.strip_prefix("pub fn reference(params: "));
        if let Some((discipline, _)) = declared.next().and_then(|rest| rest.split_once("Params")) {
            let _ = writeln!(arms, "fairdrop::AnyParams::{discipline}(params) => {stem}::reference(params),");
        }
        let (macros, patterns, first) = (rewritten.macros, rewritten.patterns, next);
        for form in &rewritten.forms {
            let _ = writeln!(forms, "Form {{ name: {:?}, line: {} }},", form.name, form.line);
            next += 1;
        }
        let _ = writeln!(
            files,
            "File {{ stem: {stem:?}, text: include_str!({:?}), forms: {first}..{next}, macros: {macros}, patterns: {patterns} }},",
            path.display().to_string()
        );
    }
    let code = format!(
        "{modules}\npub static FILES: &[File] = &[\n{files}];\npub static FORMS: &[Form] = &[\n{forms}];\n\
         pub fn reference_of(params: &fairdrop::AnyParams) -> Option<Box<dyn crate::slow::Slow>> {{\n\
         #[allow(unreachable_patterns)]\nmatch params.of_discipline() {{\n{arms}_ => None,\n}}\n}}\n"
    );
    fs::write(Path::new(&out).join("forms.rs"), code).expect("the folder of the build can be written");
}
