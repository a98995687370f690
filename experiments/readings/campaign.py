"""Run every reading that a paper's ``paper.toml`` declares against all of its ids: ``make readings``.

    python -m experiments.readings.campaign                        all papers, then the search, then the digest
    python -m experiments.readings.campaign choke --ids choke-fig5 choke-fig9
    python -m experiments.readings.campaign --estimate             how many simulations are missing, and their work

Finished runs and the digest of each id under each set-up are kept under ``results/readings`` as soon as they are there,
so that the command goes on where it was stopped. Each distinct simulation is run once. ``readings.json.xz`` beside this
file has what the page is made from.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from experiments import ROOT
from experiments.digests import store, text_of
from fairdrop.progress import Progress
from fairdrop.reproduce.across import Campaign, Matrix, key_of
from fairdrop.reproduce.define.papers import PAPERS, paper_of
from fairdrop.reproduce.define.reading import paper
from fairdrop.reproduce.execute.plan import Order
from fairdrop.reproduce.judge.whole import Effects

STORED = Path(__file__).with_name("readings.json.xz")
WORK = ROOT / "results" / "readings"


def stored() -> dict[str, Any]:
    """What the page is made from, by paper; nothing where no campaign was kept."""
    found: dict[str, Any] = json.loads(text_of(STORED)) if STORED.exists() else {}
    return found


def results() -> list[tuple[Matrix, str | None]]:
    """The stored digests, in the order of the papers, each with the set-up that the search ended with."""
    found = stored()
    return [(Matrix(name, found[name]["digests"]), found[name]["best"]) for name in PAPERS if name in found]


def effects() -> dict[str, dict[str, Effects]]:
    """What every set-up bears out and breaks, by paper: what verdicts are settled by."""
    return {matrix.name: matrix.effects() for matrix, _ in results()}


def keep(campaign: Campaign, best: str | None) -> None:
    """Take over the digests of one paper: set-ups under which all of its ids were run."""
    digests = {
        key: {
            name: {part: value for part, value in some[name].items() if part != "identity"}
            for name in campaign.ids
        }
        for key, some in campaign.digests.items()
        if not set(campaign.ids) - set(some)
    }  # fmt: skip
    document = {"profile": campaign.order.profile, "digests": digests, "best": best}
    text = json.dumps(stored() | {campaign.name: document}, allow_nan=False, separators=(",", ":"), sort_keys=True)
    store(STORED, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    declared = [name for name in PAPERS if paper(name).readings]
    parser.add_argument("papers", nargs="*", metavar="PAPER", help=f"of {', '.join(declared)}")
    parser.add_argument("--ids", nargs="+", default=[], metavar="ID", help="only these ids")
    parser.add_argument("--readings", nargs="+", metavar="NAME", help="only these readings, and no search")
    parser.add_argument("--threads", type=int, help="threads (all cores)")
    parser.add_argument("--estimate", action="store_true", help="run nothing")
    parser.add_argument("--keep", action="store_true", help="run nothing; take over what is done")
    args = parser.parse_args()
    if unknown := set(args.papers) - set(declared):
        parser.error(f"{', '.join(sorted(unknown))}: valid: {', '.join(declared)}")
    for name in args.papers or declared:
        ids = [one for one in args.ids if paper_of(one) == name]
        if args.ids and not ids:
            continue
        campaign = Campaign(name, Order(), WORK, args.threads, ids)
        campaign.check()
        set_ups = [one for one in campaign.singles() if not one or not args.readings or one[0] in args.readings]
        missing = campaign.runs(set_ups)
        print(f"{name}: {len(missing)} simulations are missing, of {sum(missing.values()):.3g} bits", file=sys.stderr)
        if args.keep:
            keep(campaign, None)
        if args.estimate or args.keep:
            continue
        progress = Progress(shown=sys.stderr.isatty())
        report = progress_of(progress)
        for set_up in set_ups:
            campaign.make(set_up, report)
        best = None if args.readings else key_of(campaign.search(report))
        progress.clear()
        keep(campaign, best)


def progress_of(progress: Progress) -> Any:
    """Prints each id that is done, in place on a terminal."""

    def report(line: str) -> None:
        progress.clear()
        print(line, file=sys.stderr, flush=True)

    return report


if __name__ == "__main__":
    main()
