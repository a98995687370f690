"""Count TCP's retransmissions that the kernel believes to be in flight and that no segment is marked with.

    python -m experiments.kernel_shares.leak [PACKAGE ...]    kernels by the names of their packages

What `retrans_leak` models ([transports](../../docs/reference/transports.md#as-linux)), shown by probes in the kernel's
own functions. At a timeout (`tcp_enter_loss`) it visits the segments in flight; before each but the first the probe of
`tcp_rack_skb_timeout` reads the counter, and that of `tcp_mark_skb_lost` the marks of each.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator

from experiments.kernel_loads import campaign as loads
from experiments.kernel_shares.campaign import GUEST, NETWORK, SECONDS, Missing, qdisc_vm

# TCPCB_SACKED_ACKED, TCPCB_SACKED_RETRANS of include/net/tcp.h.
REPORTED, SENT_AGAIN = 1, 2
EVENT = re.compile(r": (timeout|mark|look): .* sk=(\w+)(?: state=(\d+)| retrans_out=(\d+))?")


def timeouts(lines: Iterable[str]) -> Iterator[tuple[str, list[int], list[int]]]:
    """Of each timeout the socket, the marks of the segments, and the counter at each but the first."""
    found: tuple[str, list[int], list[int]] | None = None
    for line in lines:
        match = EVENT.search(line)
        if match is None:
            continue
        kind, socket, state, counter = match.groups()
        if kind == "timeout" or (found and found[0] != socket):
            if found:
                yield found
            found = (socket, [], []) if kind == "timeout" else None
        elif found:
            found[1 if kind == "mark" else 2].append(int(state or counter))
    if found:
        yield found


def leaked(marks: list[int], counters: list[int]) -> int | None:
    """Retransmissions counted at the last segment beyond those marked; None where the visit left one out."""
    if not counters or len(marks) != len(counters) + 1:
        return None
    # The marks of a lost retransmission are gone by then, unless its segment was reported or did not count as lost.
    kept = sum(mark & SENT_AGAIN > 0 for mark in marks[:-1] if mark & REPORTED or not mark & 4)
    return counters[-1] - kept - (marks[-1] & SENT_AGAIN > 0)


def main(packages: list[str]) -> None:
    try:
        for package in packages or [qdisc_vm.NEWEST]:
            kernel = qdisc_vm.fetch(package)
            script = NETWORK.read_text() + GUEST.with_name("guest_leak.sh").read_text()
            ended = qdisc_vm.boot(kernel, script, {"bin/flows": loads.sender()}, seconds=SECONDS, counted=True)
            if ended.status != 0 or any(line.startswith("FAILED") for line in ended.lines):
                sys.exit("\n".join(ended.lines[-20:]))
            counts = [(socket, leaked(marks, counters)) for socket, marks, counters in timeouts(ended.lines)]
            known = [(socket, count) for socket, count in counts if count is not None]
            wrong = [socket for socket, count in known if count > 0]
            print(
                f"Linux {kernel.version}: {len(wrong)} of {len(known)} timeouts count a retransmission too many, of "
                f"{len(set(wrong))} of {len({socket for socket, _ in known})} connections; fewer: "
                f"{sum(count < 0 for _, count in known)}",
                flush=True,
            )
    except Missing as reason:
        sys.exit(f"leak: {reason}")


if __name__ == "__main__":
    main(sys.argv[1:])
