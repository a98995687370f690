"""What the check of several kernels reads from a guest."""

from __future__ import annotations

import json

import qdisc_kernels
import qdisc_smoke


def lines(name: str, departed: int, sent: int, verified: int = 900) -> list[str]:
    """Of 9 packets of 100 bytes `departed` left a program and the others were dropped; the kernel counts `sent`."""

    def amount(packets: int) -> dict[str, int]:
        return {"packets": packets, "bytes": 100 * packets}

    counters = {"arrived": amount(9), "departed": amount(departed), "dropped": {"overflow": amount(9 - departed)}}
    ours = {"counters": counters | {"stuck_draws": 0}, "waiting": amount(0)}
    kernel = {"packets": sent, "bytes": 100 * sent, "drops": 9 - departed, "qlen": 0, "backlog": 0}
    state = [f"FAIRDROPD {json.dumps([ours])}", f"TC {json.dumps([kernel])}"]
    loaded = [f"LOADED {name} 1.00 1.75", f"VERIFIED {name} {verified} 2000"]
    return [*loaded, "RUN 750 113 237000 290114", f"CHANGED {name} 200", f"STATE {name}", *state]


def test_equal_counters_pass():
    wrong, shown = qdisc_kernels.judge([line for name in qdisc_smoke.DISCIPLINES for line in lines(name, 6, 6)])
    assert wrong == [] and len(shown) == len(qdisc_smoke.DISCIPLINES)
    assert shown[0] == "red     loaded in 0.8 s, 900 instructions verified, changed 200 times, arrived 9, departed 6"


def test_what_differs_is_named():
    wrong, _ = qdisc_kernels.judge([*lines("red", 6, 5), "FAILED add ward", *lines("choke", 9, 9)])
    assert wrong[0] == "FAILED add ward"
    assert "red: departed packets: 6 by the program, 5 by the kernel" in wrong
    assert "choke: 9 of 9 packets left" in wrong
    assert wrong[-1] == "not loaded: chokew, collar, ward"


def test_a_program_that_takes_the_verifier_too_long_is_named():
    wrong, _ = qdisc_kernels.judge([line for name in qdisc_smoke.DISCIPLINES for line in lines(name, 6, 6, 500_000)])
    assert wrong[0] == "red: 500000 instructions verified, of less than 500000"


def test_the_set_up_is_that_of_the_loads():
    script = qdisc_kernels.script()
    assert "ip netns add" in script and "for load in" not in script and "LOADED $name" in script
