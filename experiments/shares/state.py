"""Store what each discipline keeps beside the packets, in bytes, on the loads of the validation set.

The C library reports the memory of a queue for one packet (``make ffi`` builds it). DropTail's is taken off, and with
it the few numbers of fixed count for which every queue has room. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import ctypes
from pathlib import Path
from statistics import median

from experiments import ROOT
from experiments.digests import as_csv, read, store
from experiments.shares.campaign import DISCIPLINES, RIVALS, settings_of
from experiments.shares.loads import SETS, Load

LIBRARY = ROOT / "target" / "c" / "libfairdrop_ffi.so"
DIGEST = Path(__file__).with_name("state.csv")
# More than a `struct fairdrop_params` of any version has.
_PARAMS_BYTES = 4096


def size(library: ctypes.CDLL, name: str, load: Load, settings: list[str]) -> int:
    """Bytes of the queue. Raises ValueError where the library refuses a parameter."""
    params = ctypes.create_string_buffer(_PARAMS_BYTES)
    given = [("limit", "1p"), *(setting.split("=") for setting in settings)]
    statuses = [library.fairdrop_params_init(params, name.encode(), ctypes.c_uint64(int(load.rate_bps)), None)]
    statuses += [library.fairdrop_params_set(params, key.encode(), value.encode(), None) for key, value in given]
    found = library.fairdrop_size(params, None)
    if any(statuses) or not found:
        raise ValueError(f"{name}, {load.name}: refused: {', '.join(settings)}")
    return int(found)


def beside_packets(library: ctypes.CDLL, discipline: str) -> int:
    """The median over the loads, in bytes."""
    found = []
    for load in SETS["validation"]():
        name, settings = settings_of(discipline, load)
        found.append(max(size(library, name, load, settings) - size(library, "droptail", load, []), 0))
    return round(median(found))


def stored() -> dict[str, int]:
    """Bytes by discipline."""
    return {row["discipline"]: int(row["bytes"]) for row in read(DIGEST)}


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    library = ctypes.CDLL(str(LIBRARY))
    library.fairdrop_size.restype = ctypes.c_size_t
    rows = [{"discipline": name, "bytes": beside_packets(library, name)} for name in (*DISCIPLINES, *RIVALS)]
    store(DIGEST, as_csv(rows))


if __name__ == "__main__":
    main()
