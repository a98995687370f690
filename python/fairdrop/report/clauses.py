"""What disciplines do, in words: the same in every sentence about them."""

from __future__ import annotations

from collections.abc import Sequence

from fairdrop.report.effects import ABOVE, BELOW, FAIR, SHUT_OUT, UNDECIDED, Effect, Effects
from fairdrop.report.greedy import Subject
from fairdrop.report.max_min import FlowMeans
from fairdrop.wording.disciplines import discipline_name
from fairdrop.wording.numbers import percent, percent_number
from fairdrop.wording.phrases import clean, count, joined, shorten

#: A link that is used less than this counts as passing nothing.
NOTHING = 0.05
MOST_NAMES = 3
#: What backs off, and is no TCP.
_OTHER_THAN_TCP = frozenset({"quic", "tfrc"})


class Clauses:
    """Clauses about the disciplines of a document, for sentences whose subject has been named."""

    def __init__(self, found: Effects) -> None:
        self._subject = found.subject
        self._senders = frozenset(found.subject.flows) if found.subject else frozenset[str]()
        self._others = [flow for flow in found.flows if flow.name not in self._senders]

    def held(self, holding: Sequence[Effect], subject: Subject) -> str:
        """``A holds the greedy sender udp[0] to 3.1 % of the link, near its fair share (3.0 %)``, and who else does."""
        first, *also = holding
        to = f"{percent(first.taken)} of the link, " if first.taken else ""
        clause = f"{_name(first)} holds {subject.phrase} to {to}near {_its(subject)} fair share ({fair_text(subject)})"
        theirs = _have_theirs(subject)
        if not also:
            return clause + theirs
        names = [f"{_name(one)} ({percent(one.taken, False)})" if one.taken else _name(one) for one in also]
        return f"{clause}{theirs}; so {'does' if len(also) == 1 else 'do'} {joined(names)}"

    def alone(self, effect: Effect, subject: Subject) -> str:
        """Of the only discipline there is, with the sender's name and its fair share."""
        clause = self.does(effect, subject.phrase)
        whose = f"{_its(subject)} fair share" if subject.phrase in clause else f"the fair share of {subject.phrase}"
        return f"{clause}; {whose} is {fair_text(subject)} of the link"

    def none_holds(self, subject: Subject, undecided: bool) -> str:
        """The clause about all disciplines where none is seen to hold the senders."""
        begin = "These seeds do not show whether a discipline here holds" if undecided else "No discipline here holds"
        return f"{begin} {subject.phrase} to {_its(subject)} fair share ({fair_text(subject)} of the link)"

    def does(self, effect: Effect, whom: str | None = None) -> str:
        """``RED lets it take 96.8 % and starves TCP``; ``whom`` in the place of the pronoun."""
        who = whom or ("them" if self._subject is not None and self._subject.plural else "it")
        return f"{_name(effect)} {joined(self._verbs(effect, who) or self._undecided(effect, who))}"

    def counted(self, others: Sequence[Effect]) -> str:
        """``Of the other 11 disciplines 8 hold it, 2 are undecided and 1 leaves the link idle``."""
        kinds = [self._kind(effect) for effect in others]
        if len(set(kinds)) == 1:
            return f"The other {len(others)} disciplines {kinds[0][1]}"
        parts = [f"{kinds.count(kind)} {kind[kinds.count(kind) > 1]}" for kind in dict.fromkeys(kinds)]
        return f"Of the other {len(others)} disciplines {joined(parts)}"

    def short(self, effect: Effect) -> str:
        """``starves TCP``: the gravest of what a discipline does, for a table."""
        return self._kind(effect)[0]

    def _verbs(self, effect: Effect, who: str) -> list[str]:
        """The harm done, with the sender's share beside it; empty where no harm is significant."""
        if effect.link == SHUT_OUT and effect.used.mean < NOTHING:
            return [f"leaves the link idle ({percent(effect.used, False)} used)"]
        verbs = []
        if effect.link in (SHUT_OUT, BELOW):
            verbs.append(f"leaves {percent_number(1 - effect.used.mean)} of the link idle")
        if effect.fails:
            verbs += [*self._sender_verbs(effect, who), *self._other_verbs(effect)]
        return verbs

    def _sender_verbs(self, effect: Effect, who: str) -> list[str]:
        taken = percent(effect.taken) if effect.taken else ""
        verbs = {
            SHUT_OUT: [f"shuts {who} out" if len(who) <= len("them") else f"shuts out {who}"],
            BELOW: [f"keeps {who} at {taken}, below {_its(self._subject)} fair share"],
            FAIR: [f"gives {who} {taken}"],
            ABOVE: [f"lets {who} take {taken}"],
            UNDECIDED: [f"gives {who} {taken}"],
        }
        found = verbs[effect.sender] if effect.sender else []
        if effect.shut_out and effect.sender != SHUT_OUT:
            found = [*found, f"shuts out {_some(effect.shut_out)}"]
        if effect.over and effect.sender != ABOVE:
            found = [*found, f"lets {_some(effect.over)} take more"]
        return found

    def _other_verbs(self, effect: Effect) -> list[str]:
        if effect.starved:
            return [f"starves {self._starved(effect)}"]
        if effect.starved_flows:
            return [f"starves {effect.starved_flows:,} of the other {count(len(self._others), 'flow')}"]
        if effect.others in (BELOW, SHUT_OUT) and effect.sender != ABOVE and effect.link == FAIR:
            return ["leaves the others less than their shares"]
        return []

    def _whom(self, effect: Effect) -> str:
        return self._starved(effect) if effect.starved else "some flows"

    def _starved(self, effect: Effect) -> str:
        """``TCP`` where it is all there is beside the senders, otherwise the groups."""
        if all(flow.group in effect.starved and _is_tcp(flow) for flow in self._others):
            return "TCP"
        names = _some(effect.starved, "group")
        few = len(effect.starved) <= MOST_NAMES
        return f"{'group' if len(effect.starved) == 1 else 'groups'} {names}" if few else names

    def _undecided(self, effect: Effect, who: str) -> list[str]:
        taken = f"gives {who} {percent(effect.taken)}" if effect.taken else ""
        if effect.sender == UNDECIDED:
            return [f"{taken}, not distinguishable from {_its(self._subject)} fair share with these seeds"]
        theirs = ["the others have theirs"] if effect.others == UNDECIDED else []
        parts = [*theirs, *(["the link is used"] if effect.link == UNDECIDED else [])]
        gives = taken or "gives everybody a fair share"
        return [f"{gives}, while these seeds do not show whether {joined(parts)}" if parts else gives]

    def _kind(self, effect: Effect) -> tuple[str, str]:
        """What is counted of a discipline, the gravest first: its verb for one, and for several."""
        plural = self._subject is not None and self._subject.plural
        whom = "them" if plural else "it"
        if effect.link == SHUT_OUT:
            return "leaves the link idle", "leave the link idle"
        if effect.sender == SHUT_OUT:
            return f"shuts {whom} out", f"shut {whom} out"
        if effect.starves:
            return f"starves {self._whom(effect)}", f"starve {self._whom(effect)}"
        if self._subject is None:
            fair = "gives fair shares" if effect.holds else "is further from fair shares"
            return fair, "give fair shares" if effect.holds else "are further from fair shares"
        if effect.sender == ABOVE:
            return f"lets {whom} take more", f"let {whom} take more"
        if effect.fails:
            return "treats somebody unfairly", "treat somebody unfairly"
        return (f"holds {whom}", f"hold {whom}") if effect.holds else ("is undecided", "are undecided")


def fair_text(subject: Subject) -> str:
    """The fair share of the senders in per cent."""
    return percent_number(subject.fair)


def _name(effect: Effect) -> str:
    return discipline_name(effect.discipline)


def _its(subject: Subject | None) -> str:
    return "their" if subject is not None and subject.plural else "its"


def _have_theirs(subject: Subject) -> str:
    if subject.others == 0:
        return ""
    if subject.others == 1:
        return ", and the other flow has its own"
    return f", and the other {count(subject.others, 'flow')} have theirs"


def _is_tcp(flow: FlowMeans) -> bool:
    return flow.responsive and flow.transport not in _OTHER_THAN_TCP


def _some(names: Sequence[str], noun: str | None = None) -> str:
    if len(names) <= MOST_NAMES:
        return joined([shorten(clean(name), 40) for name in names])
    return count(len(names), noun) if noun else f"{len(names):,} of them"
