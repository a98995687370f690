"""A foreign program at the other end of two pipes."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from typing import IO, Any

from fairdrop.conformance import plain_text
from fairdrop.conformance.vectors import Vector
from fairdrop.wording.phrases import count

# The last lines of stderr that a message shows.
_SHOWN = 8


class ForeignError(Exception):
    """The program did not answer as the format asks."""


class Declined(Exception):
    """The program says that it does not have what the vector asks for."""


def answers(program: Sequence[str], vector: Vector, form: str, timeout: float) -> Generator[dict[str, Any], None, None]:
    """The answers of a program to a vector, event by event.

    One thread writes the questions while others read, so that programs which answer at once and programs which read
    everything first both work. ``timeout`` is in seconds, for each answer and for the end. Raises ``Declined`` and
    ``ForeignError``; ``OSError`` when there is no such program.
    """
    process = subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace"
    )
    talk = _Talk(process, timeout)
    threads = [
        threading.Thread(target=work, daemon=True)
        for work in (lambda: talk.write(vector.questions(form)), talk.read, talk.listen)
    ]
    for thread in threads:
        thread.start()
    try:
        for event in range(len(vector.events)):
            answer = _parsed(talk.line(f"to event {event}"), form, event)
            if "unsupported" in answer:
                raise Declined(str(answer["unsupported"]))
            yield answer
        talk.finish(len(vector.events))
    finally:
        process.kill()
        process.wait()
        for thread in threads:
            thread.join()
        for pipe in (process.stdin, process.stdout, process.stderr):
            _close(pipe)


def _close(pipe: IO[str] | None) -> None:
    try:
        if pipe is not None:
            pipe.close()
    except BrokenPipeError:
        pass


def _parsed(line: str, form: str, event: int) -> dict[str, Any]:
    try:
        answer = plain_text.answer(line) if form == "text" else json.loads(line)
    except ValueError as error:
        raise ForeignError(f"the answer to event {event} cannot be read: {_short(line)} ({error})") from None
    if not isinstance(answer, dict):
        raise ForeignError(f"the answer to event {event} is not an object: {_short(line)}")
    return answer


def _short(line: str) -> str:
    return repr(line if len(line) <= 120 else line[:117] + "...")


class _Talk:
    """What the threads share."""

    def __init__(self, process: subprocess.Popen[str], timeout: float) -> None:
        self.process = process
        self.timeout = timeout
        # Lines of stdout, then None.
        self.lines: queue.Queue[str | None] = queue.Queue()
        self.complaints: deque[str] = deque(maxlen=_SHOWN)

    def write(self, questions: Iterator[str]) -> None:
        stdin = self.process.stdin
        assert stdin is not None
        try:
            for question in questions:
                stdin.write(question + "\n")
            stdin.close()
        except (BrokenPipeError, ValueError):
            # It went away, or stopped reading: its answers, or their lack, say the rest.
            pass

    def read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.complaints.append(line.rstrip("\n"))

    def line(self, what: str) -> str:
        try:
            line = self.lines.get(timeout=self.timeout)
        except queue.Empty:
            raise ForeignError(f"no answer {what} within {self.timeout:g} s{self._errors()}") from None
        if line is None:
            raise ForeignError(f"it {self._ended()} and left no answer {what}{self._errors()}")
        return line

    def finish(self, events: int) -> None:
        """Sees the program end, with nothing more to say."""
        deadline = time.monotonic() + self.timeout
        try:
            line = self.lines.get(timeout=self.timeout)
            if line is not None:
                raise ForeignError(f"more lines than the {count(events, 'event')}: {_short(line)}")
            status = self.process.wait(max(0.1, deadline - time.monotonic()))
        except (queue.Empty, subprocess.TimeoutExpired):
            raise ForeignError(f"it did not end within {self.timeout:g} s after the last event") from None
        if status != 0:
            raise ForeignError(f"it {self._ended()} after the last event{self._errors()}")

    def _ended(self) -> str:
        try:
            status = self.process.wait(self.timeout)
        except subprocess.TimeoutExpired:
            return "closed its output"
        return f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"

    def _errors(self) -> str:
        # What it wrote just before it ended may still be on its way.
        time.sleep(0.05)
        return "; its errors:\n" + "\n".join(self.complaints) if self.complaints else ""
