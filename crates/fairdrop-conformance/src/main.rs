//! Writes every conformance vector, and the manifest of all: `fairdrop-conformance DIR`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use fairdrop::CATALOGUE;
use fairdrop_conformance::manifest::{self, Manifest};
use fairdrop_conformance::{cases, files, record};

fn main() -> ExitCode {
    let Some(folder) = env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: fairdrop-conformance DIR");
        return ExitCode::from(2);
    };
    match write(&folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn write(folder: &Path) -> Result<(), String> {
    let mut texts = BTreeMap::new();
    for case in cases::all() {
        let name = format!("{}/{}", case.discipline, case.name);
        let vector = record(&case).map_err(|error| format!("{name}: {error}"))?;
        texts.insert(name, vector.to_string());
    }
    for info in CATALOGUE {
        let of_it = |name: &str| name.split_once('/').is_some_and(|(discipline, _)| discipline == info.name);
        let text: String =
            texts.iter().filter(|(name, _)| of_it(name)).map(|(_, text)| text.as_str()).collect();
        let path = folder.join(format!("{}{}", info.name, files::ENDING));
        files::write(&path, &text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let path = folder.join(manifest::FILE);
    let before = fs::read_to_string(&path).ok().and_then(|text| serde_json::from_str(&text).ok());
    let manifest = serde_json::to_string_pretty(&Manifest::of(texts, before.as_ref()));
    let text = manifest.map_err(|error| error.to_string())? + "\n";
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
}
