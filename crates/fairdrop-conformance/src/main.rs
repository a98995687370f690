//! Writes every conformance vector: `fairdrop-conformance DIR`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs};

use fairdrop_conformance::{cases, record};

fn main() -> ExitCode {
    let Some(folder) = env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: fairdrop-conformance DIR");
        return ExitCode::from(2);
    };
    for case in cases::all() {
        let file = folder.join(case.discipline).join(format!("{}.jsonl", case.name));
        let written = record(&case).and_then(|vector| {
            let text = vector.to_string();
            fs::create_dir_all(folder.join(case.discipline))
                .and_then(|()| fs::write(&file, text))
                .map_err(|error| error.to_string())
        });
        if let Err(error) = written {
            eprintln!("{}: {error}", file.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
