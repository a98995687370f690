//! The pages of the documentation: the commands on them are ones, and the reference is that of the program.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Arg, Command, CommandFactory, Parser};
use fairdrop_config::{FieldSpec, valid};
use fairdrop_live::cli::Cli;
use fairdrop_live::config::{DIRECTION, TOP};

fn docs(page: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page)
}

/// The commands of `fairdropd` on a page, up to what is the shell's.
fn commands(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let of_shell = ["&", "|", ">", "#", "2>"];
    text.lines()
        .filter(|line| line.starts_with("fairdropd "))
        .map(move |line| line.split_whitespace().take_while(|word| !of_shell.contains(word)).collect())
}

#[test]
fn commands_on_the_pages_are_understood() {
    let mut found = 0;
    for page in fs::read_dir(docs("how-to")).unwrap() {
        let page = page.unwrap().path();
        for words in commands(&fs::read_to_string(&page).unwrap()) {
            if let Err(error) = Cli::try_parse_from(&words) {
                panic!("{}: {}: {error}", page.display(), words.join(" "));
            }
            found += 1;
        }
    }
    assert!(found >= 8, "{found} commands");
}

/// An option or argument, and what it is for.
fn row(argument: &Arg) -> String {
    let values = argument.get_value_names().unwrap_or_default().join(" ");
    let name = match argument.get_long() {
        Some(long) if argument.get_action().takes_values() => format!("--{long} {values}"),
        Some(long) => format!("--{long}"),
        None => values,
    };
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default().replace('|', "\\|");
    let default: Vec<_> = argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let default = default.join(", ");
    let shown = !default.is_empty() && argument.get_action().takes_values();
    let more = if shown { format!(". Without it: `{default}`") } else { String::new() };
    format!("| `{}` | {help}{more} |\n", name.replace('|', "\\|"))
}

fn section(command: &Command, name: &str) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut text = format!("\n## `{name}`\n\n{about}\n");
    let shown = |argument: &&Arg| {
        !argument.is_hide_set() && !["help", "version"].contains(&argument.get_id().as_str())
    };
    let rows: String = command.get_arguments().filter(shown).map(row).collect();
    if !rows.is_empty() {
        let _ = write!(text, "\n| | |\n| --- | --- |\n{rows}");
    }
    for part in command.get_subcommands().filter(|part| !part.is_hide_set() && part.get_name() != "help") {
        text += &section(part, &format!("{name} {}", part.get_name()));
    }
    text
}

/// The fields of a table of a link's file.
fn fields(title: &str, fields: &[FieldSpec]) -> String {
    let row = |FieldSpec { name, unit, kind, default, doc, .. }: &FieldSpec| {
        let default =
            default.filter(|text| !text.is_empty()).map(|text| format!("`{text}`")).unwrap_or_default();
        format!("| `{name}` | {unit} | {} | {default} | {doc} |\n", valid(*kind))
    };
    let rows: String = fields.iter().map(row).collect();
    format!("\n### {title}\n\n| field | unit | valid | default | |\n| --- | --- | --- | --- | --- |\n{rows}")
}

/// `FAIRDROP_WRITE_DOCS=1` writes it.
#[test]
fn the_reference_is_that_of_the_program() {
    let command = Cli::command();
    let mut text = String::from(
        "# `fairdropd`\n\nWritten from the program's own help by `make generate`. Exit codes: 0; 1 when something failed in \
         running; 2 for wrong input; `shell` passes on the code of its command.\n",
    );
    for part in command.get_subcommands().filter(|part| !part.is_hide_set() && part.get_name() != "help") {
        text += &section(part, &format!("fairdropd {}", part.get_name()));
    }
    text += "\n## The file of a link\n\nTOML for `--link`. `[queue]` is as in a [scenario](scenario.md), for both directions; \
             `[up.queue]` and `[down.queue]` are for one.\n";
    text += &fields("Top level", TOP);
    text += &fields("`[up]` and `[down]`", DIRECTION);
    let page = docs("reference/fairdropd.md");
    if std::env::var_os("FAIRDROP_WRITE_DOCS").is_some() {
        fs::write(&page, &text).unwrap();
    }
    let written = fs::read_to_string(&page).unwrap_or_default();
    assert!(written == text, "{} is not that of the program; `make generate` writes it", page.display());
}
