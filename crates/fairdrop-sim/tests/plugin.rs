//! Plug-ins that are compiled here with `cc`, in the simulator. Skipped where there is no C compiler.

#![cfg(unix)]

use fairdrop_sim::extension::Extensions;
use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, RunResult, simulate};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const CHOKE: &str = include_str!("../../fairdrop-extension/examples/choke.c");
/// What plug-ins before version 3 did by calls.
const BY_CALLS: [(&str, &str); 6] = [
    (
        "host->drop_shown(host->context, FAIRDROP_CAUSE_MATCH_QUEUED);",
        "host->remove(host->context, candidate.cookie);\n        \
         host->drop(host->context, &candidate, FAIRDROP_CAUSE_MATCH_QUEUED);",
    ),
    (".version = FAIRDROP_PLUGIN_VERSION", ".version = 2"),
    ("queue->host->packets", "queue->host->length(queue->host->context)"),
    ("    queue->host->values[0] = queue->avg;\n", ""),
    (
        "static const char *const internals[]",
        "static void show(void *self, double *values) {\n    values[0] = ((struct choke *)self)->avg;\n}\n\n\
         static const char *const internals[]",
    ),
    (".admit = admit,", ".show = show,\n    .admit = admit,"),
];

/// What those of version 1 did so as well.
const ALL_BY_CALLS: [(&str, &str); 4] = [
    (".version = 2", ".version = 1"),
    (".admit = admit,", ".enqueue = enqueue,"),
    (".idle = idle,", ".dequeue = dequeue,"),
    (
        "static void show(",
        r"static void enqueue(void *self, const fairdrop_packet *packet, uint64_t now_ns) {
    const fairdrop_plugin_host *host = ((struct choke *)self)->host;
    fairdrop_packet copy = *packet;
    int32_t cause = admit(self, &copy, now_ns);
    if (cause != FAIRDROP_ADMIT)
        host->drop(host->context, packet, (uint8_t)cause);
    else
        host->push(host->context, packet);
}

static bool dequeue(void *self, fairdrop_packet *packet, uint64_t now_ns) {
    const fairdrop_plugin_host *host = ((struct choke *)self)->host;
    bool given = host->pop(host->context, packet);
    if (!given) idle(self, now_ns);
    return given;
}

static void show(",
    ),
];

fn with_changes(source: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(source.to_owned(), |source, (from, to)| {
        assert!(source.contains(from), "{from}");
        source.replace(from, to)
    })
}

/// CHOKE as a plug-in of version 2.
fn version_2() -> String {
    with_changes(CHOKE, &BY_CALLS)
}

/// CHOKE as a plug-in of version 1.
fn version_1() -> String {
    with_changes(&version_2(), &ALL_BY_CALLS)
}

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

fn parts() -> Extensions {
    Extensions::default().with_loader(|path| fairdrop_extension::load(path).map(|own| vec![own]))
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

/// Asserts that the plug-in `source` gives what `built_in` of the catalogue does, with the same settings.
fn assert_same(source: &str, built_in: &str, scenario: &str, settings: &[&str]) {
    let Some((folder, _)) = compiled(source, &[]) else { return };
    let beside = folder.path().join("scenario.toml");
    let [built_in, own] = [built_in, "./libmine.so"].map(|name| {
        let name = format!("queue.discipline=\"{name}\"");
        without_name(run(scenario, &beside, &[settings, &[name.as_str()]].concat()))
    });
    assert!(built_in.len() > 10_000);
    assert!(built_in == own, "{}", first_difference(&built_in, &own));
}

const HEADLINE: &str = include_str!("../../../scenarios/headline.toml");

#[test]
fn choke_in_c_is_choke() {
    assert_same(CHOKE, "choke", HEADLINE, &[]);
}

/// Its packets wait in the host's FIFO, where they can be looked at.
#[test]
fn who_is_where_behind_a_plug_in_is_seen() {
    assert_same(CHOKE, "choke", HEADLINE, &["positions=\"20ms\""]);
}

#[test]
fn plug_ins_of_version_1_work() {
    assert_same(&version_1(), "choke", HEADLINE, &[]);
}

#[test]
fn plug_ins_of_version_2_work() {
    assert_same(&version_2(), "choke", HEADLINE, &[]);
}

/// `admit`, and departures of its own.
#[test]
fn a_plug_in_may_admit_and_dequeue() {
    let source = with_changes(
        &version_1(),
        &[(".enqueue = enqueue,", ".admit = admit,"), (".version = 1", ".version = 2")],
    );
    let Some((folder, _)) = compiled(&source, &["-Wno-unused-function"]) else { return };
    let beside = folder.path().join("scenario.toml");
    let [built_in, own] = ["choke", "./libmine.so"]
        .map(|name| without_name(run(HEADLINE, &beside, &[&format!("queue.discipline=\"{name}\"")])));
    assert!(built_in == own, "{}", first_difference(&built_in, &own));
}

/// Arrivals that `admit` marks are let in, marked, and counted.
#[test]
fn arrivals_can_be_marked() {
    let verdict = "return verdict(queue, packet, length);";
    let marks = "const fairdrop_plugin_host *host = queue->host;\n\
        int32_t cause = verdict(queue, packet, length);\n\
        bool is_red = cause == FAIRDROP_CAUSE_RED_EARLY || cause == FAIRDROP_CAUSE_RED_FORCED;\n\
        if (is_red && packet->ecn != 0 && length >= host->limit) return FAIRDROP_CAUSE_OVERFLOW;\n\
        return is_red && host->mark(host->context, packet, (uint8_t)cause) ? FAIRDROP_ADMIT : cause;";
    assert!(CHOKE.contains(verdict));
    let settings = ["queue.red.ecn=true", "groups.tcp.ecn=true"];
    assert_same(&CHOKE.replace(verdict, marks), "choke", HEADLINE, &settings);
}

/// A packet that was shown can be dropped once, and only in the call that it was shown in.
#[test]
fn what_was_shown_is_dropped_once() {
    let drop = "host->drop_shown(host->context, FAIRDROP_CAUSE_MATCH_QUEUED);";
    let again =
        format!("{drop}\n        if ({}) host->fail(host->context, \"twice\");", drop.trim_end_matches(';'));
    let later = "update_average(queue, now_ns, length);\n    \
        if (queue->host->drop_shown(queue->host->context, FAIRDROP_CAUSE_OVERFLOW)) return FAIRDROP_CAUSE_OVERFLOW;";
    let changes = [(drop, again.as_str()), ("update_average(queue, now_ns, length);", later)];
    assert_same(&with_changes(CHOKE, &changes), "choke", HEADLINE, &[]);
}

/// The host lets no more in than may wait, whatever `admit` says.
#[test]
fn the_limit_is_the_hosts() {
    let all = CHOKE.replace(
        "return verdict(queue, packet, length);",
        "return (void)verdict, (void)packet, FAIRDROP_ADMIT;",
    );
    let Some((folder, _)) = compiled(&all, &[]) else { return };
    let beside = folder.path().join("scenario.toml");
    let [built_in, own] = ["queue.discipline=droptail", "queue.discipline=\"./libmine.so\""]
        .map(|setting| format!("{:?}", run(CONGESTED, &beside, &[setting]).groups));
    assert_eq!(built_in, own);
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
    fairdrop_extension::load(path).expect_err("it is no plug-in").clone()
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
    assert_eq!(
        refused(&later),
        "it is a plug-in of version 7; valid: 1 to 3, those of this program's fairdrop.h"
    );
    let (v1, v2) = (version_1(), version_2());
    for (source, from, to, expected) in [
        (CHOKE, ".admit = admit,", "", "its table has no enqueue and no admit"),
        (
            CHOKE,
            ".idle = idle,",
            ".dequeue = give, .idle = idle,",
            "its table has dequeue and idle; valid: one of them",
        ),
        (CHOKE, ".idle = idle,", ".backlog = count,", "its table has admit and backlog; valid: one of them"),
        (&*v2, ".show = show,", "", "its table has no show"),
        (&*v1, ".dequeue = dequeue,", "", "its table has no dequeue"),
    ] {
        let more = "static bool give(void *q, fairdrop_packet *p, uint64_t t) { return q && p && t; }\n\
            static void count(void *q, uint32_t *p, uint64_t *b) { if (q) *p = 0, *b = 0; }\nstatic const fairdrop_plugin table";
        let source = source.replace(from, to).replace("static const fairdrop_plugin table", more);
        let (_kept, object) = compiled(&source, &["-Wno-unused-function"]).expect("there is a compiler");
        assert_eq!(refused(&object), expected);
    }
}

/// Each field of a table that cannot be, by its name.
#[test]
fn what_a_table_says_of_itself_is_checked() {
    let first = "\"min_th\", \"packets\", \"100\"";
    let count = ".parameter_count = sizeof parameters / sizeof *parameters";
    for (from, to, expected) in [
        (".name = \"c_choke\"", ".name = NULL", "its name is NULL; valid: a name"),
        (".name = \"c_choke\"", ".name = \"\"", "its name is empty; valid: a name"),
        (
            ".parameters = parameters",
            ".parameters = NULL",
            "its parameters is NULL, where parameter_count is 4; valid: as many, or a count of 0",
        ),
        (
            count,
            ".parameter_count = (size_t)-1",
            "its parameter_count is 18446744073709551615; valid: 0 to 1000",
        ),
        (
            ".internals = internals",
            ".internals = NULL",
            "its internals is NULL, where internal_count is 1; valid: as many, or a count of 0",
        ),
        ("internals[] = {\"avg\"}", "internals[] = {NULL}", "its internals[0] is NULL; valid: a name"),
        (first, "NULL, \"packets\", \"100\"", "its parameters[0].name is NULL; valid: a name"),
        (
            first,
            "\"min_th\", \"packets\", NULL",
            "its parameters[0].default_text (min_th) is NULL; valid: the default, as a scenario would have it",
        ),
        (
            "FAIRDROP_KIND_NUMBER, 0, 1, NULL",
            "(fairdrop_kind)77, 0, 1, NULL",
            "its parameters[2].kind is 77; valid: one of",
        ),
        (
            "FAIRDROP_KIND_NUMBER, 0, 1, NULL",
            "FAIRDROP_KIND_KEY, 0, 1, NULL",
            "its parameters[2].kind (max_p) is one that plug-ins do not have",
        ),
        (
            "FAIRDROP_KIND_NUMBER, 0, 1, NULL",
            "FAIRDROP_KIND_NUMBER, 0, NAN, NULL",
            "its parameters[2].high (max_p) is NaN; valid: a finite number",
        ),
        (
            "FAIRDROP_KIND_NUMBER, 0, 1, NULL",
            "FAIRDROP_KIND_NUMBER, 2, 1, NULL",
            "its parameters[2].low (max_p) is 2, above high, 1; valid: at most that",
        ),
        (
            "FAIRDROP_KIND_NUMBER, 0, 1, NULL",
            "FAIRDROP_KIND_CHOICE, 0, 1, NULL",
            "its parameters[2].words (max_p) has no word, or too many; valid: 1 to 1000 words, and NULL",
        ),
        (
            "return &table",
            "return NULL",
            "fairdrop_plugin_table returned NULL; valid: a table, as in fairdrop.h",
        ),
    ] {
        assert!(CHOKE.contains(from), "{from}");
        let source = CHOKE.replacen(from, to, 1);
        let more = ["-Wno-unused-variable", "-Wno-unused-const-variable", "-include", "math.h"];
        let Some((_kept, object)) = compiled(&source, &more) else { return };
        assert!(refused(&object).starts_with(expected), "{from}: {}", refused(&object));
    }
}

/// Whatever is cut off: a loader that maps more than there is would end the process.
#[test]
fn a_part_of_a_shared_object_is_refused() {
    let Some((folder, object)) = compiled(CHOKE, &[]) else { return };
    let content = std::fs::read(&object).expect("it is there");
    let load = |name: &str, len: usize| {
        let part = folder.path().join(name);
        std::fs::write(&part, &content[..len]).expect("it can be written");
        fairdrop_extension::load(&part)
    };
    for len in [64, 500, 2000, content.len() / 2] {
        let why = load(&format!("{len}.so"), len).expect_err("it is cut short");
        let begins = format!("it is cut short or damaged: it has {len} bytes, and ");
        assert!(why.starts_with(&begins), "{why}");
    }
    // What no segment needs may be missing; the rest is refused or loaded, and nobody dies.
    for (number, len) in (0..content.len()).step_by(701).enumerate() {
        let _ = load(&format!("part{number}.so"), len);
    }
    let program = folder.path().join("program.so");
    std::fs::copy("/proc/self/exe", &program).expect("there is one");
    assert!(fairdrop_extension::load(&program).is_err(), "a program is no plug-in");
}

/// A FIFO would make who reads it wait for ever.
#[test]
fn what_is_no_regular_file_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let fifo = folder.path().join("fifo.so");
    let made = Command::new("mkfifo").arg(&fifo).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: there is no mkfifo");
        return;
    }
    let why = refused(&fifo);
    assert!(why.contains("regular file"), "{why}");
    assert!(refused(folder.path()).contains("regular file"));
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

/// A plug-in's use of packets is checked as that of other extensions, and an error that it reports ends the run.
#[test]
fn mistakes_of_a_plug_in_end_the_run() {
    let early = "return draw < p_a ? FAIRDROP_CAUSE_RED_EARLY : FAIRDROP_CAUSE_OVERFLOW;";
    let (push, remove) = (
        "host->push(host->context, packet);",
        "host->drop(host->context, &candidate, FAIRDROP_CAUSE_MATCH_QUEUED);",
    );
    let (v1, v2) = (version_1(), version_2());
    for (source, right, wrong, expected) in [
        (&*v1, push, "(void)0;", "c_choke: it says that 0 packets of 0 bytes wait"),
        (&*v1, push, "host->fail(host->context, \"enough\");", "c_choke: enough (in enqueue"),
        (&*v1, "(uint8_t)cause)", "(uint8_t)200)", "there is no cause 200; valid: those of fairdrop_cause"),
        (CHOKE, early, "return 200;", "there is no cause 200; valid: those of fairdrop_cause"),
        (CHOKE, early, "return -2;", "there is no cause -2; valid: those of fairdrop_cause"),
        (
            &*v2,
            remove,
            "",
            "c_choke: it has taken 1 packet out of the FIFO, and neither dropped nor put back (in enqueue",
        ),
        (
            &*v2,
            "host->remove(host->context, candidate.cookie);",
            "",
            "dropping for match_queued, it gave a packet that does not wait in it",
        ),
        (
            CHOKE,
            early,
            "return host->drop(host->context, packet, 0), FAIRDROP_ADMIT;",
            "c_choke: it has dropped a packet, and let it in",
        ),
        (
            CHOKE,
            early,
            "return host->push(host->context, packet), FAIRDROP_CAUSE_OVERFLOW;",
            "c_choke: it gave a packet that does not wait in it",
        ),
        (
            CHOKE,
            "values[0] = queue->avg;",
            "values[0] = 0.0 / (queue->avg - queue->avg);",
            "c_choke: avg = NaN is not valid among",
        ),
        (
            &*v1,
            "bool given = host->pop(host->context, packet);",
            "bool given = false;\n    (void)host, (void)packet;",
            "c_choke: it gave no packet to send, though 1 packet waits and no timer is set",
        ),
        (
            CHOKE,
            "return queue;\n}",
            "free(queue);\n    return NULL;\n}",
            "no queue of c_choke: it has no memory",
        ),
    ] {
        assert!(source.contains(right));
        let Some((folder, _)) = compiled(&source.replacen(right, wrong, 1), &[]) else { return };
        let beside = folder.path().join("scenario.toml").display().to_string();
        let control = Control::default();
        let settings = ["min_th=0", "max_th=1"].map(|setting| format!("queue.c_choke.{setting}"));
        let scenario =
            Scenario::parse_with(CONGESTED, &beside, &settings, &parts(), &control).expect("valid");
        let error = simulate(&scenario, 1, &control).expect_err("it ends").to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_file_that_changed_is_not_loaded_twice() {
    let Some((_folder, object)) = compiled(CHOKE, &[]) else { return };
    let first = fairdrop_extension::load(&object).expect("a plug-in");
    assert_eq!(fairdrop_extension::load(&object), Ok(first));
    let mut content = std::fs::read(&object).expect("it is there");
    content.push(0);
    std::fs::remove_file(&object).expect("it can be removed");
    std::fs::write(&object, content).expect("it can be written");
    assert!(refused(&object).starts_with("it has changed since it was loaded"));
}
