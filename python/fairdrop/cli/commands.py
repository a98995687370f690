"""What each subcommand does."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from fairdrop.result import Result


def run(options: Namespace) -> int:
    """``fairdrop run``."""
    from fairdrop.scenario import load

    scenario = load(options.scenario, options.settings)
    return _finish(scenario.run(options.seeds, **_work(options), **_simulation(options)), options)


def compare(options: Namespace) -> int:
    """``fairdrop compare``."""
    from fairdrop.scenario import load

    scenario = load(options.scenario, options.settings)
    result = scenario.compare(
        _disciplines(options),
        options.seeds,
        **_work(options),
        **_simulation(options),
        with_model=options.with_model,
    )
    return _finish(result, options)


def replay(options: Namespace) -> int:
    """``fairdrop replay``."""
    from fairdrop.capture import replay

    result = replay(
        options.capture,
        rate=options.rate,
        disciplines=_disciplines(options),
        key=options.key,
        speed=options.speed,
        max_gap=None if options.max_gap == "none" else options.max_gap,
        scenario=options.scenario,
        settings=options.settings,
        seeds=options.seeds,
        **_work(options),
    )
    return _finish(result, options)


def reproduce(options: Namespace) -> int:
    """``fairdrop reproduce``."""
    from fairdrop.reproduce.command import run as reproduce_all

    return reproduce_all(options)


def report(options: Namespace) -> int:
    """``fairdrop report``."""
    from pathlib import Path

    from fairdrop.report import write
    from fairdrop.result import read_result

    document = read_result(options.result)
    source = Path(options.result)
    default = (source if source.is_dir() else source.parent) / "report.html"
    target = Path(options.out) if options.out else default
    write(document, target)
    print(target)
    return 0


def show(options: Namespace) -> int:
    """``fairdrop show``."""
    from fairdrop.cli.meters import meters_text
    from fairdrop.result import read_result

    print(meters_text(read_result(options.result)))
    return 0


def list_catalogue(options: Namespace) -> int:
    """``fairdrop list``."""
    from fairdrop import _core
    from fairdrop.cli.show import catalogue_text

    if options.json and options.name is None:
        print(_core.catalogue())
    else:
        print(catalogue_text(options.name, as_json=options.json))
    return 0


def schema(_options: Namespace) -> int:
    """``fairdrop schema``."""
    import json

    from fairdrop.library import schema as scenario_schema

    print(json.dumps(scenario_schema(), indent=2))
    return 0


class _Work(TypedDict):
    threads: int | None
    progress: bool
    command: list[str]


def _work(options: Namespace) -> _Work:
    return {
        "threads": options.threads,
        "progress": not options.quiet and sys.stderr.isatty(),
        "command": options.command_line,
    }


class _Simulation(TypedDict):
    trace: str | None
    resume: str | None


def _simulation(options: Namespace) -> _Simulation:
    if options.resume and not options.out:
        raise ValueError("--resume: there is nothing to resume; valid: together with --out DIR")
    return {"trace": options.trace, "resume": options.out if options.resume else None}


def _disciplines(options: Namespace) -> list[str] | None:
    if options.disciplines is None:
        return None
    names = [name for name in dict.fromkeys(name.strip() for name in options.disciplines.split(",")) if name]
    if not names:
        raise ValueError(f"--disciplines {options.disciplines!r} names none; valid: names from `fairdrop list`")
    return names


def _finish(result: Result, options: Namespace) -> int:
    """Saves and shows what there is, complete or not."""
    if options.out:
        result.write(options.out)
    if options.timing:
        _write_timing(result, options.timing)
    if options.json:
        sys.stdout.write(result.to_json())
    if not options.quiet:
        from fairdrop.cli.show import result_text

        print(result_text(result), file=sys.stderr if options.json else sys.stdout)
    if options.report:
        result.report(options.report)
        if not options.quiet:
            print(f"report: {options.report}", file=sys.stderr)
    if not result.complete:
        print("fairdrop: interrupted; what was finished is kept", file=sys.stderr)
        return 130
    return 0


def _write_timing(result: Result, path: str) -> None:
    import json
    from pathlib import Path

    timing = {
        name: value if name.endswith("_s") else int(value) for name, value in sorted(result.timing().items())
    }
    temporary = Path(f"{path}.tmp")
    temporary.write_text(json.dumps(timing) + "\n", encoding="utf-8")
    temporary.replace(path)
