//! The header that is checked in is the one that the code gives. `make header` writes it anew.

#![cfg(not(miri))]

use std::path::Path;

use cbindgen::{Builder, Config};

#[test]
fn the_header_is_that_of_the_code() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let core = here.join("../fairdrop/src");
    let config = Config::from_file(here.join("cbindgen.toml")).expect("cbindgen.toml is valid");
    let mut builder = Builder::new().with_config(config);
    for file in ["contract/env.rs", "contract/stats.rs"] {
        builder = builder.with_src(core.join(file));
    }
    for file in [
        "version.rs",
        "arena.rs",
        "problem.rs",
        "params.rs",
        "queue.rs",
        "catalogue.rs",
        "hash.rs",
        "plugin.rs",
    ] {
        builder = builder.with_src(here.join("src").join(file));
    }
    let mut generated = Vec::new();
    builder.generate().expect("the interface can be said in C").write(&mut generated);
    let generated = String::from_utf8(generated).expect("the header is text");
    for (name, value) in [
        ("ABI_VERSION", i64::from(fairdrop_ffi::FAIRDROP_ABI_VERSION)),
        ("PLUGIN_VERSION", i64::from(fairdrop_ffi::FAIRDROP_PLUGIN_VERSION)),
        ("ADMIT", i64::from(fairdrop_ffi::FAIRDROP_ADMIT)),
        ("ALIGN", fairdrop_ffi::FAIRDROP_ALIGN as i64),
        ("MAX_LEN", i64::from(fairdrop_ffi::FAIRDROP_MAX_LEN)),
    ] {
        assert!(generated.contains(&format!("#define FAIRDROP_{name} {value}\n")), "{name} in cbindgen.toml");
    }
    let path = here.join("include/fairdrop.h");
    if std::env::var_os("FAIRDROP_WRITE_HEADER").is_some() {
        std::fs::write(&path, &generated).expect("the header can be written");
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == generated, "include/fairdrop.h is not that of the code: make header");
}
