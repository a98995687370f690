//! Writes every conformance vector, and the manifest of all: `fairdrop-conformance DIR`.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

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
    let mut texts = Vec::new();
    for case in cases::all() {
        let path = folder.join(files::path_of(case.discipline, case.name));
        let problem = |error: &dyn Display| format!("{}: {error}", path.display());
        let text = record(&case).map_err(|error| problem(&error))?.to_string();
        files::write(&path, &text).map_err(|error| problem(&error))?;
        texts.push((format!("{}/{}", case.discipline, case.name), text));
    }
    let path = folder.join(manifest::FILE);
    let before = fs::read_to_string(&path).ok().and_then(|text| serde_json::from_str(&text).ok());
    let manifest = serde_json::to_string_pretty(&Manifest::of(texts, before.as_ref()));
    let text = manifest.map_err(|error| error.to_string())? + "\n";
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
}
