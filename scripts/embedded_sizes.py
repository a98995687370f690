"""Code and stack of a program without an operating system, read from its machine code.

    embedded_sizes.py NAME TARGET PROGRAM [PAGE]

Prints the bytes of code, and the deepest stack of any call of `enqueue`, `dequeue` or `tick`: for each function the
bytes by which it moves the stack pointer, added up along the longest chain of calls. With PAGE, fails unless the row of
NAME and TARGET there holds these figures within a tenth, since compilers differ a little.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import capstone
from elftools.elf.elffile import ELFFile

ENTRIES = ("enqueue", "dequeue", "tick")
TOLERANCE = 0.1


@dataclass
class Function:
    """A function: where it begins, the bytes of its frame, and the addresses that it calls or jumps to."""

    name: str
    start: int
    end: int
    frame: int = 0
    calls: set[int] = field(default_factory=set)


def functions_of(elf: ELFFile) -> list[Function]:
    """Functions by address, without the bit that says Thumb."""
    thumb = elf["e_machine"] == "EM_ARM"
    found: dict[int, Function] = {}
    for symbol in elf.get_section_by_name(".symtab").iter_symbols():
        if symbol["st_info"]["type"] != "STT_FUNC" or symbol["st_size"] == 0:
            continue
        start = symbol["st_value"] & ~1 if thumb else symbol["st_value"]
        found[start] = Function(symbol.name, start, start + symbol["st_size"])
    return [found[start] for start in sorted(found)]


def code_ranges(elf: ELFFile) -> list[tuple[int, bool]]:
    """Where code (true) or data (false) begins, by the symbols that mark it: constants lie between the instructions."""
    marks = {"$t": True, "$x": True, "$d": False}
    symbols = elf.get_section_by_name(".symtab").iter_symbols()
    marked = {(symbol["st_value"] & ~1, marks[symbol.name[:2]]) for symbol in symbols if symbol.name[:2] in marks}
    return sorted(marked)


def disassembler(elf: ELFFile) -> capstone.Cs:
    """A disassembler for the processor of a program."""
    if elf["e_machine"] == "EM_ARM":
        return capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS)
    if elf["e_machine"] == "EM_RISCV":
        return capstone.Cs(capstone.CS_ARCH_RISCV, capstone.CS_MODE_RISCV32 | capstone.CS_MODE_RISCVC)
    sys.exit(f"embedded: machine {elf['e_machine']} is not known; there are EM_ARM and EM_RISCV")


def registers_in(operands: str) -> int:
    """Bytes that a list of registers takes: `r4` and `lr` have four, `d8` eight; `{r4-r7}` has four of them."""
    total = 0
    for part in operands.strip("{}").split(","):
        ends = part.strip().split("-")
        size = 8 if ends[0].startswith("d") else 4
        count = 1 if len(ends) == 1 else int(ends[1][1:]) - int(ends[0][1:]) + 1
        total += size * count
    return total


def pushed(mnemonic: str, operands: str) -> int:
    """Bytes by which an instruction moves the stack pointer down."""
    name = mnemonic.split(".")[0]
    if name in ("push", "vpush"):
        return registers_in(operands)
    if name in ("stmdb", "vstmdb") and operands.startswith("sp!"):
        return registers_in(operands.partition(",")[2].strip())
    if name in ("sub", "subw") and re.match(r"sp, (sp, )?#", operands):
        return int(operands.rpartition("#")[2], 0)
    if name in ("str", "strd") and (before := re.search(r"\[sp, #-(\w+)\]!", operands)):
        return int(before[1], 0)
    # RISC-V.
    if mnemonic in ("addi", "c.addi", "c.addi16sp") and (by := re.match(r"sp, (?:sp, )?-(\w+)$", operands)):
        return int(by[1], 0)
    return 0


def signed(value: int, bits: int) -> int:
    """The value of a field of two's complement."""
    return value - (1 << bits) if value >> (bits - 1) else value


class Program:
    """The functions of a program and the calls between them."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self.elf = ELFFile(file)
            text = self.elf.get_section_by_name(".text")
            self.code, self.base = text.data(), text["sh_addr"]
            self.functions = functions_of(self.elf)
            self.disassembler, self.ranges = disassembler(self.elf), code_ranges(self.elf)
            sections = [section for section in self.elf.iter_sections() if section["sh_flags"] & 2]
            self.bytes = sum(section["sh_size"] for section in sections if not section["sh_flags"] & 1)
        self.starts = [function.start for function in self.functions]
        for function in self.functions:
            self.read(function)

    def at(self, address: int) -> Function | None:
        """The function in which an address lies."""
        place = bisect_right(self.starts, address) - 1
        function = self.functions[place] if place >= 0 else None
        return function if function and address < function.end else None

    def instructions(self, function: Function) -> Iterator[tuple[int, int, str, str]]:
        """The instructions of a function, without the constants between them."""
        inside = [(at, is_code) for at, is_code in self.ranges if function.start < at < function.end]
        before = [is_code for at, is_code in self.ranges if at <= function.start]
        bounds = [(function.start, before[-1] if before else True), *inside, (function.end, False)]
        for (start, is_code), (end, _) in pairwise(bounds):
            if is_code:
                yield from self.disassembler.disasm_lite(self.code[start - self.base : end - self.base], start)

    def read(self, function: Function) -> None:
        """Finds the frame and the calls of a function; stops the program at what it cannot follow."""
        upper: dict[str, int] = {}
        for address, _, mnemonic, operands in self.instructions(function):
            function.frame += pushed(mnemonic, operands)
            if mnemonic == "auipc":
                register, _, high = operands.partition(", ")
                upper[register] = address + (signed(int(high, 0), 20) << 12)
            target = self.target(address, mnemonic, operands, upper)
            if target is not None and not function.start <= target < function.end:
                function.calls.add(target)

    def target(self, address: int, name: str, operands: str, upper: dict[str, int]) -> int | None:
        """Where an instruction calls or jumps to, if it does."""
        if self.elf["e_machine"] == "EM_ARM":
            name = name.split(".")[0]
            if name in ("blx", "bx") and not operands.startswith("#") and operands != "lr":
                sys.exit(f"embedded: an indirect call at {address:#x} ({name} {operands}): its stack is not known")
            is_branch = re.fullmatch(r"b(l|lx)?(eq|ne|hs|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)?", name)
            return int(operands[1:], 0) if is_branch and operands.startswith("#") else None
        if name in ("jal", "j", "c.jal", "c.j"):
            return address + int(operands.rpartition(", ")[2], 0)
        if name in ("c.jr", "c.jalr") and operands != "ra":
            sys.exit(f"embedded: an indirect call at {address:#x} ({name} {operands}): its stack is not known")
        if name == "jalr":
            # Without an offset the register stands alone.
            _, through, offset = operands.split(", ") if "," in operands else ("ra", operands, "0")
            if through not in upper:
                sys.exit(f"embedded: an indirect call at {address:#x} ({name} {operands}): its stack is not known")
            return upper[through] + int(offset, 0)
        return None

    def depth(self, function: Function, above: tuple[int, ...] = ()) -> int:
        """Bytes of stack of a call, with those of the deepest call that it makes."""
        if function.start in above:
            sys.exit(f"embedded: {function.name} calls itself: its stack has no bound")
        called = [self.at(target) for target in function.calls]
        below = [self.depth(other, (*above, function.start)) for other in called if other]
        return function.frame + max(below, default=0)

    def stack(self) -> int:
        """The deepest stack of the three calls of a discipline."""
        named = [f for f in self.functions if any(re.search(rf"no_panic\d+{name}", f.name) for name in ENTRIES)]
        if not named:
            sys.exit(f"embedded: no function is called {', '.join(ENTRIES)}")
        return max(self.depth(function) for function in named)


def documented(page: Path, name: str, target: str) -> tuple[int, int]:
    """Bytes of code and of stack in the row of a page."""
    row = re.search(rf"^\| {name} \| `{target}` \| ([\d,]+) \| ([\d,]+) \|$", page.read_text(), re.MULTILINE)
    if not row:
        sys.exit(f"embedded: {page} has no row of {name} for {target}")
    code, stack = (int(number.replace(",", "")) for number in row.groups())
    return code, stack


def main(name: str, target: str, program: str, page: str = "") -> None:
    """Prints the figures of a program, and compares them with those of a page."""
    read = Program(Path(program))
    figures = (read.bytes, read.stack())
    print(f"embedded: {name} takes {figures[0]:,} bytes of code and {figures[1]:,} of stack for {target}")
    if not page:
        return
    for kind, is_now, was in zip(("code", "stack"), figures, documented(Path(page), name, target), strict=True):
        if abs(is_now - was) > TOLERANCE * was:
            sys.exit(f"embedded: {page} has {was:,} bytes of {kind} for {name} on {target}; now {is_now:,}")


if __name__ == "__main__":
    if not 4 <= len(sys.argv) <= 5:
        sys.exit("usage: embedded_sizes.py NAME TARGET PROGRAM [PAGE]")
    main(*sys.argv[1:])
