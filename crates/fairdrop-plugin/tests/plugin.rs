//! Plug-ins that are compiled here with `cc`, in the simulator. Skipped where there is no C compiler.

#![cfg(unix)]

use fairdrop_sim::own::Parts;
use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, RunResult, simulate};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const CHOKE: &str = include_str!("../examples/choke.c");

/// Compiles `source` to a shared object of its own; `None` where there is no compiler.
fn compiled(source: &str, more: &[&str]) -> Option<(TempDir, PathBuf)> {
    let folder = tempfile::tempdir().expect("a folder");
    let (text, object) = (folder.path().join("mine.c"), folder.path().join("libmine.so"));
    std::fs::write(&text, source).expect("it can be written");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut cc = Command::new(&compiler);
    cc.args([
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pedantic",
        "-O2",
        "-ffp-contract=off",
        "-shared",
        "-fPIC",
    ]);
    cc.args(more).arg("-I").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../fairdrop-ffi/include"));
    let Ok(output) = cc.arg(&text).arg("-o").arg(&object).output() else {
        eprintln!("skipped: there is no C compiler ({compiler})");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some((folder, object))
}

fn parts() -> Parts {
    Parts::default().with_loader(|path| fairdrop_plugin::load(path).map(|own| vec![own]))
}

fn run(text: &str, file: &Path, settings: &[&str]) -> RunResult {
    let settings: Vec<_> = settings.iter().map(|&setting| setting.to_owned()).collect();
    let (file, control) = (file.display().to_string(), Control::default());
    let scenario = Scenario::parse_with(text, &file, &settings, &parts(), &control).expect("valid");
    simulate(&scenario, 1, &control).expect("it runs").expect("nobody stops it")
}

/// All of a result but the name of the discipline.
fn without_name(mut run: RunResult) -> String {
    run.discipline = "";
    run.queues.iter_mut().for_each(|queue| queue.discipline = "");
    format!("{run:?}")
}

#[test]
fn choke_in_c_is_choke() {
    let Some((folder, _)) = compiled(CHOKE, &[]) else { return };
    let text = include_str!("../../../scenarios/headline.toml");
    let beside = folder.path().join("scenario.toml");
    let [built_in, own] = ["choke", "./libmine.so"]
        .map(|name| without_name(run(text, &beside, &[&format!("queue.discipline=\"{name}\"")])));
    assert!(built_in.len() > 10_000);
    assert!(built_in == own, "{}", first_difference(&built_in, &own));
}

fn first_difference(one: &str, other: &str) -> String {
    let same = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    format!("{}\n{}", &one[same.saturating_sub(100)..same + 40], &other[same.saturating_sub(100)..same + 40])
}

const CONGESTED: &str = "duration = 20\nwarm_up = 5\n[dumbbell]\nrate = \"1mbit\"\n[queue]\n\
    discipline = \"./libmine.so\"\nlimit = \"20p\"\n[[groups]]\nname = \"tcp\"\ntransport = \"reno\"\ncount = 4\n\
    [[groups]]\nname = \"udp\"\ntransport = \"cbr\"\nrate = \"500kbit\"\n";

#[test]
fn parameters_are_checked() {
    let Some((folder, _)) = compiled(CHOKE, &[]) else { return };
    let beside = folder.path().join("scenario.toml").display().to_string();
    let problem = |setting: &str| {
        let settings = [setting.to_owned()];
        let read = Scenario::parse_with(CONGESTED, &beside, &settings, &parts(), &Control::default());
        read.expect_err("not valid").to_string()
    };
    let range = problem("queue.c_choke.max_p=2");
    assert!(range.contains("queue.c_choke.max_p = 2") && range.contains("a number from 0 to 1"), "{range}");
    let name = problem("queue.c_choke.max=2");
    assert!(name.contains("min_th, max_th, max_p, w_q"), "{name}");
}

fn refused(path: &Path) -> String {
    fairdrop_plugin::load(path).expect_err("it is no plug-in").clone()
}

#[test]
fn what_is_no_plug_in_is_refused_by_what_it_lacks() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(refused(&folder.path().join("none.so")), "No such file or directory (os error 2)");
    let text = folder.path().join("text.so");
    std::fs::write(&text, "this is no shared object").expect("it can be written");
    assert!(refused(&text).starts_with("it is no shared object for this machine ("));
    let Some((_kept, other)) = compiled("int mine(void);\nint mine(void) { return 1; }\n", &[]) else {
        return;
    };
    assert_eq!(
        refused(&other),
        "it does not export fairdrop_plugin_table; valid: a plug-in, as in fairdrop.h"
    );
    let later = CHOKE.replace(".version = FAIRDROP_PLUGIN_VERSION", ".version = 7");
    let (_kept, later) = compiled(&later, &[]).expect("there is a compiler");
    assert_eq!(refused(&later), "it is a plug-in of version 7; valid: 1, that of this program's fairdrop.h");
    let (_kept, without) = compiled(&CHOKE.replace(".enqueue = enqueue,", ""), &["-Wno-unused-function"])
        .expect("there is a compiler");
    assert_eq!(refused(&without), "its table has no enqueue");
}

/// An object for another machine: the class in the ELF header is that of the other word size.
#[test]
fn an_object_for_another_machine_is_refused() {
    let Some((folder, object)) = compiled(CHOKE, &[]) else { return };
    let mut content = std::fs::read(&object).expect("it is there");
    content[4] ^= 3;
    let other = folder.path().join("other.so");
    std::fs::write(&other, content).expect("it can be written");
    let why = refused(&other);
    assert!(why.starts_with("it is no shared object for this machine (") && why.contains("ELF"), "{why}");
}

/// What a plug-in does with packets is watched as everything else is, and what it says ends the run.
#[test]
fn mistakes_of_a_plug_in_end_the_run() {
    for (right, wrong, said) in [
        ("host->push(host->context, packet);", "(void)0;", "c_choke: it says that 0 packets of 0 bytes wait"),
        (
            "host->push(host->context, packet);",
            "host->fail(host->context, \"enough\");",
            "c_choke: enough (in enqueue",
        ),
        ("(uint8_t)cause)", "(uint8_t)200)", "there is no cause 200; valid: those of fairdrop_cause"),
        ("return queue;\n}", "free(queue);\n    return NULL;\n}", "no queue of c_choke: it has no memory"),
    ] {
        assert!(CHOKE.contains(right));
        let Some((folder, _)) = compiled(&CHOKE.replacen(right, wrong, 1), &[]) else { return };
        let beside = folder.path().join("scenario.toml").display().to_string();
        let control = Control::default();
        let settings = ["queue.c_choke.min_th=0".to_owned(), "queue.c_choke.max_th=1".to_owned()];
        let scenario = Scenario::parse_with(
            CONGESTED,
            &beside,
            if said.contains("cause") { &settings } else { &[] },
            &parts(),
            &control,
        )
        .expect("valid");
        let error = simulate(&scenario, 1, &control).expect_err("it ends").to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_file_that_changed_is_not_loaded_twice() {
    let Some((_folder, object)) = compiled(CHOKE, &[]) else { return };
    let first = fairdrop_plugin::load(&object).expect("a plug-in");
    assert_eq!(fairdrop_plugin::load(&object), Ok(first));
    let mut content = std::fs::read(&object).expect("it is there");
    content.push(0);
    std::fs::remove_file(&object).expect("it can be removed");
    std::fs::write(&object, content).expect("it can be written");
    assert!(refused(&object).starts_with("it has changed since it was loaded"));
}
