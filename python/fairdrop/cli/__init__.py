"""The ``fairdrop`` command."""

# Imports come late: Ctrl-C before `main` would end in a traceback.
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from types import FrameType

__all__ = ["main"]

_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status: 0 done, 1 failed, 2 bad input, 130 interrupted."""
    try:
        import sys

        from fairdrop.terminal import Streams

        words = list(sys.argv[1:] if arguments is None else arguments)
        with Streams() as streams, _quiet_interrupts():
            status = _run(words)
        return status or int(streams.lost)
    except KeyboardInterrupt:
        return _INTERRUPTED


def _run(words: list[str]) -> int:
    from fairdrop.cli.errors import print_error

    try:
        from fairdrop.cli.parser import build_parser

        options = build_parser().parse_args(words)
        options.command_line = ["fairdrop", *words]
        for file in getattr(options, "extensions", ()):
            _register(file)
        status: int = options.action(options)
        return status
    except KeyboardInterrupt:
        print_error("interrupted")
        return _INTERRUPTED
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    except (OSError, ValueError) as error:
        print_error(error)
        return 2


def _register(file: str) -> None:
    from fairdrop.extension.registry import register

    try:
        register(file)
    except ValueError as error:
        raise ValueError(f"extension {error}") from None


def _quiet_interrupts() -> AbstractContextManager[None]:
    """Ctrl-C while a module is loaded ends the process at once.

    Nothing is lost then, and an exception would not do: what is loading may take it for a failure of its own, or print
    it from a destructor.
    """
    import os
    import signal
    import sys
    from contextlib import contextmanager, suppress

    def interrupted(_signal: int, frame: FrameType | None) -> None:
        while frame is not None:
            if frame.f_code.co_filename.startswith("<frozen importlib"):
                with suppress(Exception):
                    sys.stdout.flush()
                with suppress(OSError):
                    os.write(2, b"fairdrop: error: interrupted\n")
                os._exit(_INTERRUPTED)
            frame = frame.f_back
        raise KeyboardInterrupt

    @contextmanager
    def installed() -> Iterator[None]:
        try:
            before = signal.getsignal(signal.SIGINT)
            # A process that was started to ignore Ctrl-C goes on ignoring it.
            if before is signal.default_int_handler:
                signal.signal(signal.SIGINT, interrupted)
        except ValueError:
            # Not in the main thread: signals are somebody else's.
            yield
            return
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    return installed()
