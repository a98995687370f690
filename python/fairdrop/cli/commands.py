"""What each subcommand does."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypedDict

from fairdrop.cli import names
from fairdrop.cli.errors import print_error
from fairdrop.cli.places import REPORT, REPRODUCTION, RESULT, check_file, check_folder, taken

if TYPE_CHECKING:
    from pathlib import Path

    from fairdrop.result import Result
    from fairdrop.scenario import Scenario


# What a result document is.
_WROTE = "what --out or --json wrote"


def run(options: Namespace) -> int:
    """``fairdrop run``."""
    from fairdrop.scenario import load

    with taken(options, RESULT, options.out):
        scenario = load(options.scenario, _settings(options))
        return _finish(scenario.run(options.seeds, **_work(options), **_simulation(options)), options)


def compare(options: Namespace) -> int:
    """``fairdrop compare``."""
    from fairdrop.scenario import load

    with taken(options, RESULT, options.out):
        scenario = load(options.scenario, _settings(options))
        if options.congestion and not options.live:
            raise ValueError("--congestion is given; valid: together with --live")
        if options.live:
            return _finish(_compared_live(scenario, options), options)
        result = scenario.compare(
            _disciplines(options),
            options.seeds,
            **_work(options),
            **_simulation(options),
            with_model=options.with_model,
        )
        return _finish(result, options)


def _compared_live(scenario: Scenario, options: Namespace) -> Result:
    alone = (("--with-model", options.with_model), ("--trace", options.trace), ("--run-timeout", options.run_timeout))
    for name, given in alone:
        if given:
            raise ValueError(f"{name} is given together with --live; valid: one of them")
    resume = _simulation(options)["resume"]
    return scenario.compare_live(
        options.seeds, disciplines=_disciplines(options), congestion=options.congestion, resume=resume, **_work(options)
    )


def live(options: Namespace) -> int:
    """``fairdrop live``."""
    from fairdrop.scenario import load

    with taken(options, RESULT, options.out):
        scenario = load(options.scenario, _settings(options))
        result = scenario.live(
            options.seeds,
            disciplines=_disciplines(options),
            congestion=options.congestion,
            progress=_work(options)["progress"],
            command=options.command_line,
            resume=_simulation(options)["resume"],
        )
        return _finish(result, options)


def replay(options: Namespace) -> int:
    """``fairdrop replay``."""
    from fairdrop.capture import replay

    with taken(options, RESULT, options.out):
        result = replay(
            options.capture,
            rate=options.rate,
            disciplines=_disciplines(options),
            key=options.key,
            speed=options.speed,
            max_gap=None if options.max_gap == "none" else options.max_gap,
            scenario=options.scenario,
            settings=names.settings(options.settings),
            seeds=options.seeds,
            seed=1 if options.seed is None else options.seed,
            run_timeout=options.run_timeout,
            **_work(options),
        )
        return _finish(result, options)


def reproduce(options: Namespace) -> int:
    """``fairdrop reproduce``."""
    from fairdrop.reproduce.command import run as reproduce_all

    if options.list:
        return reproduce_all(options)
    with taken(options, REPRODUCTION, options.out):
        return reproduce_all(options)


def report(options: Namespace) -> int:
    """``fairdrop report``."""
    from pathlib import Path

    from fairdrop.report import write

    document = read_finished(options.result)
    source = Path(options.result)
    default = (source if source.is_dir() else source.parent) / "report.html"
    target = Path(options.out) if options.out else default
    check_file(target, *REPORT)
    with of_document(options.result):
        write(document, target)
    print(target)
    return 0


def show(options: Namespace) -> int:
    """``fairdrop show``."""
    from fairdrop import flent
    from fairdrop.cli.meters import meters_text

    if options.out is not None and options.export is None:
        raise ValueError(f"--out {options.out} without --export; valid: --export flent --out {options.out}")
    if options.out is not None:
        check_folder(options.out)
    document = read_finished(options.result)
    with of_document(options.result):
        if options.export is None:
            text = meters_text(document)
        else:
            text = "\n".join(map(str, flent.write(document, options.out or ".")))
    print(text)
    return 0


def read_finished(path: str) -> dict[str, Any]:
    """The result document of ``path``, with a finished run at least. Raises OSError, ValueError."""
    from fairdrop.result import read_document

    document = read_document(path)
    runs = document.get("runs")
    if not isinstance(runs, list) or not all(isinstance(run, dict) for run in runs):
        raise ValueError(f"{path}: not a whole result document (it has no list of runs); valid: {_WROTE}")
    if not runs:
        raise ValueError(f"{path}: holds no finished run, so there is nothing to show; valid: a result of one or more")
    return document


@contextmanager
def of_document(path: str) -> Iterator[None]:
    """A document with the right schema may still lack what is asked of it, or have something else there."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ArithmeticError) as error:
        what = f"{type(error).__name__}: {error}"
        raise ValueError(f"{path}: not a whole result document ({what}); valid: {_WROTE}") from None
    except ValueError as error:
        raise ValueError(str(error) if path in str(error) else f"{path}: {error}") from None


def list_catalogue(options: Namespace) -> int:
    """``fairdrop list``."""
    import json

    from fairdrop.cli.catalogue import catalogue_text, entry_text
    from fairdrop.library import catalogue

    if options.name is not None:
        print(entry_text(options.name, as_json=options.json))
    elif options.json:
        print(json.dumps(catalogue(), separators=(",", ":"), ensure_ascii=False))
    else:
        print(catalogue_text())
    return 0


def new(options: Namespace) -> int:
    """``fairdrop new``."""
    for path in _begun(options):
        print(path)
    return 0


def _begun(options: Namespace) -> list[Path]:
    """The files of what was begun."""
    from fairdrop.extension.new import new_extension
    from fairdrop.new import new_paper, new_scenario

    if options.what in ("discipline", "congestion-control"):
        if options.name is None:
            raise ValueError(f"NAME is missing; valid: fairdrop new {options.what} NAME")
        return new_extension(options.what, options.name, options.language or "python", options.out, options.library)
    for option in ("language", "library"):
        if getattr(options, option) is not None:
            raise ValueError(f"--{option} {getattr(options, option)} is given with {options.what}; valid: without it")
    if options.what == "scenario":
        return new_scenario("scenario" if options.name is None else options.name, options.out)
    return new_paper("paper" if options.name is None else options.name, options.out)


def schema(_options: Namespace) -> int:
    """``fairdrop schema``."""
    import json

    from fairdrop.library import schema as scenario_schema

    print(json.dumps(scenario_schema(), indent=2))
    return 0


def completions(options: Namespace) -> int:
    """``fairdrop completions``."""
    from fairdrop.cli.completions import script

    print(script(options.build(), options.shell))
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
    run_timeout: str | None


def _simulation(options: Namespace) -> _Simulation:
    if options.resume and not options.out:
        raise ValueError("--resume: there is nothing to resume; valid: together with --out DIR")
    resume = options.out if options.resume else None
    return {"trace": options.trace, "resume": resume, "run_timeout": options.run_timeout}


def _settings(options: Namespace) -> list[str]:
    """Those of ``--set``, and the seed."""
    if options.seed is None:
        return names.settings(options.settings)
    for setting in options.settings:
        if setting.partition("=")[0].strip() == "seed":
            raise ValueError(f"--seed {options.seed} is given together with --set {setting}; valid: one of them")
    return [*names.settings(options.settings), f"seed={options.seed}"]


def _disciplines(options: Namespace) -> list[str] | None:
    return None if options.disciplines is None else names.disciplines(options.disciplines)


def _finish(result: Result, options: Namespace) -> int:
    """Saves and shows what there is, complete or not; where one of the outputs fails, the others are made."""
    written = [
        *([_attempt(lambda: result.write(options.out))] if options.out else ()),
        *([_attempt(lambda: _write_timing(result, options.timing))] if options.timing else ()),
    ]
    if options.json:
        sys.stdout.write(result.to_json())
    if options.report:
        written.append(_attempt(lambda: result.report(options.report)))
        if written[-1] and not options.quiet:
            print(f"report: {options.report}", file=sys.stderr)
    if not options.quiet:
        from fairdrop.cli.show import result_text

        # The verdict is its last line, and is to be the last thing that is read.
        print(result_text(result), file=sys.stderr if options.json else sys.stdout)
    if not all(written):
        return 2
    for run in result.failed:
        print_error(f"seed {run['seed']}: {run['error']}")
    if result.failed:
        return 1
    if not result.complete:
        print("fairdrop: interrupted; what was finished is kept", file=sys.stderr)
        return 130
    return 0


def _attempt(write: Callable[[], None]) -> bool:
    try:
        write()
    except OSError as error:
        print_error(error)
        return False
    return True


def _write_timing(result: Result, path: str) -> None:
    import json

    from fairdrop.files import write_text

    timing = {name: value if name.endswith("_s") else int(value) for name, value in sorted(result.timing().items())}
    write_text(path, json.dumps(timing) + "\n")
