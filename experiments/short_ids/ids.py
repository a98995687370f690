"""Short ids of flows, as `choke_hardware` of the library makes them: the highest bits of SipHash-2-4 of a flow."""

from __future__ import annotations

_WORD = (1 << 64) - 1


def short_id(flow: int, bits: int, salt: int = 0) -> int:
    """The id of ``bits`` bits under a host's key of zeros and ``salt``; the flow itself with 0."""
    return siphash(salt, 0, flow) >> (64 - bits) if bits else flow


def siphash(low: int, high: int, word: int) -> int:
    """SipHash-2-4 of the eight bytes of a word (Aumasson, Bernstein 2012, sections 2.1 to 2.3)."""
    state = [
        low ^ 0x736F6D6570736575,
        high ^ 0x646F72616E646F6D,
        low ^ 0x6C7967656E657261,
        high ^ 0x7465646279746573,
    ]
    # The second word is the last: its highest byte is the length of the message.
    for message in (word, 8 << 56):
        state[3] ^= message
        _rounds(state, 2)
        state[0] ^= message
    state[2] ^= 0xFF
    _rounds(state, 4)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _rounds(state: list[int], count: int) -> None:
    a, b, c, d = state
    for _ in range(count):
        a, c = (a + b) & _WORD, (c + d) & _WORD
        b, d = _rotated(b, 13) ^ a, _rotated(d, 16) ^ c
        a = _rotated(a, 32)
        c, a = (c + b) & _WORD, (a + d) & _WORD
        b, d = _rotated(b, 17) ^ c, _rotated(d, 21) ^ a
        c = _rotated(c, 32)
    state[:] = a, b, c, d


def _rotated(word: int, by: int) -> int:
    return (word << by | word >> (64 - by)) & _WORD
