//! Writes every conformance vector: `fairdrop-conformance DIR`.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use fairdrop_conformance::{cases, files, record};

fn main() -> ExitCode {
    let Some(folder) = env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: fairdrop-conformance DIR");
        return ExitCode::from(2);
    };
    for case in cases::all() {
        let path = folder.join(files::path_of(case.discipline, case.name));
        let written = record(&case)
            .and_then(|vector| files::write(&path, &vector.to_string()).map_err(|error| error.to_string()));
        if let Err(error) = written {
            eprintln!("{}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
