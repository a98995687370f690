"""Commands that ask a question by many simulations."""

from __future__ import annotations

import sys
from argparse import Namespace

from fairdrop.cli import names
from fairdrop.cli.errors import print_incomplete
from fairdrop.cli.places import ADVICE, SCORECARD, taken
from fairdrop.cli.studies import ended


def characterize(options: Namespace) -> int:
    """``fairdrop characterize``."""
    import json

    from fairdrop.characterize import characterize
    from fairdrop.cli.show import scorecard_text
    from fairdrop.wording.phrases import count

    with taken(options, SCORECARD, options.out):
        card = characterize(
            names.disciplines(",".join(options.disciplines), "DISCIPLINE") if options.disciplines else None,
            out=options.out,
            profile=options.profile,
            sections=None if options.sections is None else [word.strip() for word in options.sections.split(",")],
            seeds=options.seeds,
            seed=1 if options.seed is None else options.seed,
            threads=options.threads,
            progress=not options.quiet and sys.stderr.isatty(),
            command=options.command_line,
        )
        if options.json:
            print(json.dumps({**card.about, "rows": [row.__dict__ for row in card.rows]}, indent=1, allow_nan=False))
        elif not options.quiet:
            print(scorecard_text(card))
            runs = count(card.about["runs"], "run")
            print(f"{runs}, {card.about['computed']} of them simulated now; scorecard: {options.out}/scorecard.csv")
        return ended(card, options)


def advise(options: Namespace) -> int:
    """``fairdrop advise``."""
    import json

    from fairdrop.advise import advise
    from fairdrop.cli.advice import advice_text

    with taken(options, ADVICE, options.out):
        found = advise(
            options.rate,
            options.rtt,
            options.flows,
            profile=options.profile,
            access=options.access,
            target=options.target,
            disciplines=None if options.disciplines in (None, names.EVERY) else names.disciplines(options.disciplines),
            out=options.out,
            time=options.time,
            seed=options.seed,
            threads=options.threads,
            progress=not options.quiet and sys.stderr.isatty(),
        )
    if found is None:
        return print_incomplete()
    print(json.dumps(found.to_dict(), indent=1, allow_nan=False) if options.json else advice_text(found, options.out))
    return 0
