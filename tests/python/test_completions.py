"""Completion of words in shells."""

from __future__ import annotations

import shutil
import subprocess

import pytest


def completed(script: str, *words: str) -> set[str]:
    """What bash offers for the last of some words."""
    typed = " ".join(f"'{word}'" for word in words)
    asked = (
        f"COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}\n"
        'name=$(complete -p fairdrop | sed "s/.*-F \\([^ ]*\\).*/\\1/")\n'
        '"$name" fairdrop "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"\n'
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(["bash", "--norc", "-c", f"{script}\n{asked}"], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_bash_completes_commands_options_and_names(invoke):
    status, script, err = invoke("completions", "bash")
    assert (status, err) == (0, "")
    assert {"run", "compare", "reproduce", "report"} <= completed(script, "fairdrop", "")
    assert completed(script, "fairdrop", "repl") == {"replay"}
    assert {"--seed", "--seeds", "--set"} <= completed(script, "fairdrop", "run", "--se")
    assert completed(script, "fairdrop", "list", "fq_") == {"fq_codel", "fq_pie"}
    assert "fq_codel" in completed(script, "fairdrop", "compare", "s.toml", "--disciplines", "fq_c")
    assert completed(script, "fairdrop", "model", "equi") == {"equilibrium"}
    assert {"scenario", "paper"} <= completed(script, "fairdrop", "new", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_are_those_of_their_shells(invoke, shell, tmp_path):
    status, script, _ = invoke("completions", shell)
    assert status == 0
    assert "--disciplines" in script or "disciplines" in script
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    (tmp_path / "script").write_text(script)
    subprocess.run([shell, "-n", str(tmp_path / "script")], check=True)


def test_another_shell_is_refused(invoke):
    status, _, err = invoke("completions", "bsh")
    assert status == 2
    assert "'bsh' is not valid (did you mean bash?); valid: bash, zsh, fish" in err
