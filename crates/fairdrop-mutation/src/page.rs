//! The page of scores, survivors and equivalents, from the three files that hold them.

use std::collections::BTreeMap;
use std::fmt::Write;

const HEAD: &str = "# Wrong forms of the references

<!-- `make mutate-vectors` writes this page from conformance/mutation; equivalent.tsv there is written by hand. -->

The [conformance vectors](../../conformance/README.md) are meant to notice mistakes, so mistakes are made by machine and the vectors
are played to them. `make mutate-vectors` changes one place of a slow reference at a time: a comparison, an arithmetic
operator, a number, a condition, a statement that is left out, `if` for `while`, packets for bytes, microseconds for
nanoseconds. Each changed form has to fail on a vector of its discipline.

A form is noticed by its decisions when it drops, marks or sends another packet, or does not end. It is noticed by its values when
it decides alike, but takes other random numbers or candidates or has other internals. An equivalent form can be noticed by no
vector; the reason is given below. Where the reason is a number of events, a vector of more than 200,000 bytes, the most that one may have, would
notice the form. What survives is a gap in the vectors.

`red.rs` is also the reference of `choke` and `droptail`, `drr.rs` that of `sfq`, and `collar.rs` that of `collarw`, `collar_hosts`
and `collar_sparse`: their vectors count there, as do those of `cake` for `cobalt.rs` and of `fq_pie` for `pie.rs`. Files in `_linux`
are what the kernel does instead. One build holds all forms (the crate `fairdrop-mutation`), so that a run takes
minutes; an interrupted one goes on. `fairdrop-mutation search` looks for vectors that notice survivors. Patterns of `match`, arguments
of macros, constants that have a name in another file, and code that only compares with the library are not changed.
Continuous integration plays the [named mistakes](../../conformance/README.md#how-the-vectors-are-known-to-be-right) only.

## Scores

";

/// The page; each text is one of the files, with fields between tabs.
///
/// # Errors
/// A line has too few fields.
pub fn page(scores: &str, survivors: &str, equivalent: &str) -> Result<String, String> {
    let mut page = HEAD.to_owned();
    page += "| reference | forms | noticed by decisions | by values | equivalent | survive | noticed of all that are not equivalent |\n";
    page += "|---|---:|---:|---:|---:|---:|---:|\n";
    for line in lines(scores) {
        let row = fields::<7>(line)?;
        let [name, forms, decisions, values, same, survive, open] = row;
        let number = |text: &str| text.parse::<f64>().map_err(|error| format!("{line:?}: {error}"));
        let noticed = number(decisions)? + number(values)?;
        let score = 100.0 * noticed / (noticed + number(survive)?).max(1.0);
        let name = if name == "all" { "**all**".into() } else { format!("`{name}.rs`") };
        let open = if number(open)? > 0.0 { format!(" ({open} not run)") } else { String::new() };
        let _ = writeln!(
            page,
            "| {name} | {forms}{open} | {decisions} | {values} | {same} | {survive} | {score:.1} % |"
        );
    }
    page += "\n## Survivors\n\n";
    page += if lines(survivors).next().is_none() {
        "None.\n"
    } else {
        "Numbers by file and function, and of them those that no vector comes by; the forms are listed in\n[survivors.tsv](../../conformance/mutation/survivors.tsv).\n\n"
    };
    let mut by_place: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for line in lines(survivors) {
        let [name, _, outcome] = fields::<3>(line)?;
        let (place, _) = name.rsplit_once(": ").ok_or_else(|| format!("{line:?}: no change"))?;
        let (all, not_reached) = by_place.entry(place).or_default();
        *all += 1;
        *not_reached += u32::from(outcome == "not_reached");
    }
    for (place, (all, not_reached)) in by_place {
        let of_them = if not_reached > 0 { format!(" ({not_reached})") } else { String::new() };
        let _ = writeln!(page, "- `{place}`: {all}{of_them}");
    }
    page += "\n## Equivalents\n\nBy the reason why no vector can notice them.\n";
    let mut by_reason: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in lines(equivalent) {
        let [name, reason] = fields::<2>(line)?;
        by_reason.entry(reason.to_owned()).or_default().push(format!("`{name}`"));
    }
    list(&mut page, &by_reason);
    Ok(page)
}

fn list(page: &mut String, by_head: &BTreeMap<String, Vec<String>>) {
    for (head, items) in by_head {
        let _ = write!(page, "\n- {head}\n");
        for item in items {
            let _ = writeln!(page, "  - {item}");
        }
    }
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty())
}

fn fields<const N: usize>(line: &str) -> Result<[&str; N], String> {
    let fields: Vec<&str> = line.split('\t').collect();
    fields.try_into().map_err(|_| format!("{line:?}: should have {N} fields between tabs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_that_of_the_files() {
        let made = page(
            include_str!("../../../conformance/mutation/score.tsv"),
            include_str!("../../../conformance/mutation/survivors.tsv"),
            include_str!("../../../conformance/mutation/equivalent.tsv"),
        );
        let written = include_str!("../../../docs/reference/vector-mutation.md");
        assert!(made.as_deref() == Ok(written), "`make mutate-vectors` writes it");
    }

    #[test]
    fn a_score_is_of_those_that_are_not_equivalent() {
        let made =
            page("red\t10\t5\t1\t2\t2\t0\n", "red.rs: f: replace < with <=\t3\tnot_reached\n", "").unwrap();
        assert!(made.contains("| `red.rs` | 10 | 5 | 1 | 2 | 2 | 75.0 % |\n"), "{made}");
        assert!(made.contains("- `red.rs: f`: 1 (1)\n"), "{made}");
        assert!(page("red\t10\n", "", "").is_err());
    }
}
