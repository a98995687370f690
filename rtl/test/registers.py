"""Registers of the cores: what a set of parameters of the library is in fixed point, and what the cores cannot do."""

from dataclasses import dataclass

# Readings, from this address on.
READINGS = 0x200
EVENTS = (
    "arrived",
    "departed",
    "overflow",
    "red_early",
    "red_forced",
    "match_arriving",
    "match_queued",
    "marked_early",
    "marked_forced",
    "draws",
    "tries",
    "unoccupied",
    "foreign",
    "marked_entries",
    "empty_handed",
    "dropped_alone",
    "drawn",
    "waiting",
    "occupied",
    "average",
)
CAUSES = ("overflow", "red_early", "red_forced", "match_arriving", "match_queued")
ADDRESSES = {"occupied": 0, "memory": 1, "linux_holes": 2}
MARKED = {"reject": 0, "miss": 1, "blind": 2}
CONTROL = {
    "gentle": 1,
    "wait": 2,
    "independent": 3,
    "ecn": 4,
    "unoccupied_misses": 5,
    "mark_in_packet": 6,
    "physical_length": 7,
    "count_on_match": 8,
    "mark_one_cell": 9,
}
RESTART = 1


class NotInHardware(ValueError):
    """A feature of the library that the core does not have, and why."""


@dataclass
class Shape:
    """Parameters of a core that are fixed when it is made."""

    address_bits: int = 10
    id_bits: int = 16
    fifos: int = 1
    banks: int = 1
    most_candidates: int = 4
    chopped: int = 0

    def verilog(self):
        return {
            "ADDRESS_BITS": self.address_bits,
            "ID_BITS": self.id_bits,
            "FIFOS": self.fifos,
            "BANKS": self.banks,
            "MOST_CANDIDATES": self.most_candidates,
            "CHOPPED": self.chopped,
        }


def fixed(value, bits, name):
    """`value` with `bits` bits after the point."""
    scaled = round(value * (1 << bits))
    if not 0 <= scaled < 1 << (16 + bits):
        raise NotInHardware(f"{name} = {value}: 0 to 65535 in the core")
    return scaled


def shift_of(weight):
    """The exponent of a weight that is a power of two."""
    for shift in range(16):
        if weight == 2.0**-shift:
            return shift
    raise NotInHardware(f"w_q = {weight}: a power of two from 1 to 2^-15 in the core")


def average_words(red, packet_time_ns):
    """Registers of RED, by number."""
    for name in ("byte_mode", "ns2_compat", "idle_decay_only"):
        if red[name]:
            raise NotInHardware(f"{name}: not in the core")
    if red.get("linux", "none") != "none":
        raise NotInHardware(f"linux = {red['linux']}: not in the core")
    min_th, max_th, max_p = red["min_th"], red["max_th"], red["max_p"]
    spacing = fixed((max_th - min_th) / max_p, 32, "(max_th - min_th) / max_p")
    base, gentle_spacing = 0, 0
    if red["gentle"]:
        # The line from max_p at max_th to 1 at twice max_th.
        slope = max_th / (1 - max_p)
        gentle_spacing = fixed(slope, 32, "max_th / (1 - max_p)")
        base = round((max_th - max_p * slope) * 2**32) & ((1 << 49) - 1)
    low = (1 << 32) - 1
    return {
        3: fixed(min_th, 16, "min_th"),
        4: fixed(max_th, 16, "max_th"),
        5: spacing & low,
        6: spacing >> 32,
        7: base & low,
        8: base >> 32,
        9: gentle_spacing & low,
        10: gentle_spacing >> 32,
        11: packet_time_ns,
    }


def regions(choke, red):
    """Candidates in four regions of the average, and where the last three begin."""
    never = (1 << 32) - 1
    if choke["schedule"] == "fixed":
        return [choke["candidates"]] * 4, [never] * 3
    counts = {
        "two": [1, 2],
        "odd": [2 * at + 1 for at in range(choke["regions"])],
        "even": [2 * at + 2 for at in range(choke["regions"])],
    }.get(choke["schedule"], choke["schedule"])
    if len(counts) > 4:
        raise NotInHardware("schedule: four regions at most in the core")
    width = (red["max_th"] - red["min_th"]) / len(counts)
    edges = [fixed(red["min_th"] + width * at, 16, "region") for at in range(1, len(counts))]
    return counts + counts[-1:] * (4 - len(counts)), edges + [never] * (3 - len(edges))


def choke_words(params, limit, packet_time_ns, shape):
    """Registers of CHOKe, by number; the first is to be written last."""
    red, choke = params["red"], params["choke_hardware"]
    if choke["addresses"] not in ADDRESSES:
        reason = {
            "live": "no hardware has this set, without counting live entries",
            "linux": "it would have to know the last live entry",
            "linux_6.12": "RED of the core is not the kernel's",
        }.get(choke["addresses"], "it draws nothing at random, and would search the list for live entries")
        raise NotInHardware(f"addresses = {choke['addresses']}: {reason}")
    if choke["banks"] != shape.banks:
        raise NotInHardware(f"banks = {choke['banks']}: {shape.banks} in this core")
    if choke["fifos"] > shape.fifos:
        raise NotInHardware(f"fifos = {choke['fifos']}: {shape.fifos} at most in this core")
    if not choke["replacement"]:
        raise NotInHardware("replacement = false: draws of the core are independent of each other")
    if choke["cell_size"] and not shape.chopped:
        raise NotInHardware("cell_size: not in this core")
    if choke["list_limit"] > 1 << shape.address_bits:
        raise NotInHardware(f"list_limit = {choke['list_limit']}: {1 << shape.address_bits} at most in this core")
    if choke["id_bits"] > shape.id_bits:
        raise NotInHardware(f"id_bits = {choke['id_bits']}: {shape.id_bits} at most in this core")
    counts, edges = regions(choke, red)
    if max(counts) > shape.most_candidates:
        raise NotInHardware(f"candidates = {max(counts)}: {shape.most_candidates} at most in this core")
    switches = {**red, **choke, "mark_in_packet": choke["mark_bit"] == "packet"}
    control = RESTART | sum(1 << bit for name, bit in CONTROL.items() if switches[name])
    control |= ADDRESSES[choke["addresses"]] << 12 | MARKED[choke["marked"]] << 14
    control |= shift_of(red["w_q"]) << 16 | choke["fifos"] << 20
    words = average_words(red, packet_time_ns)
    words[1] = limit | choke["list_limit"] << 16
    words[2] = choke["quota"] | choke["max_tries"] << 16
    words[12] = sum(count << 4 * at for at, count in enumerate(counts))
    words.update(zip((13, 14, 15), edges, strict=True))
    words[0] = control
    return words


def red_words(params, limit, packet_time_ns):
    """Registers of RED, by number; the first is to be written last."""
    red = params["red"]
    control = RESTART | sum(1 << bit for name, bit in CONTROL.items() if red.get(name))
    words = average_words(red, packet_time_ns)
    words[1] = limit
    words[0] = control | shift_of(red["w_q"]) << 16 | 1 << 20
    return words


def cells_of(length, cell_size):
    """List entries of a packet."""
    return max(1, -(-length // cell_size)) if cell_size else 1
