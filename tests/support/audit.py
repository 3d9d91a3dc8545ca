"""What Python is asked to do to the machine while something runs."""

import os
import signal
import sys
import tracemalloc
from contextlib import contextmanager

from support import tally

# Writing, starting programs and going to the network; reading and importing are asked for by name.
PREFIXES = (
    "os.chmod",
    "os.chown",
    "os.exec",
    "os.fork",
    "os.link",
    "os.mkdir",
    "os.posix_spawn",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.spawn",
    "os.startfile",
    "os.symlink",
    "os.system",
    "os.truncate",
    "os.utime",
    "pickle.find_class",
    "pty.spawn",
    "shutil.",
    "socket.bind",
    "socket.connect",
    "sqlite3.connect",
    "subprocess.Popen",
    "tempfile.",
    "urllib.Request",
    "webbrowser.open",
)
SEEN: list[tuple[str, ...]] = []
WATCHING: tuple[str, ...] = ()


def writes(mode, flags):
    return bool(set(str(mode or "")) & set("wax+") or (flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def watch(event, arguments):
    if not WATCHING:
        return
    if event == "open":
        kind = "write" if writes(*arguments[1:3]) else "read"
        if kind == "write" or kind in WATCHING:
            SEEN.append((kind, str(arguments[0])))
    elif event.startswith(WATCHING):
        SEEN.append((event, *(str(argument) for argument in arguments if not isinstance(argument, int | None))))


sys.addaudithook(watch)  # stays for the process, asleep outside `watched`


@contextmanager
def watched(*more):
    """Events as tuples of text, files that are opened as ``("write", path)``.

    ``more`` names further events, as ``"import"``, and ``"read"`` for files that are opened to be read.
    """
    global WATCHING
    SEEN.clear()
    WATCHING = (*PREFIXES, *more)
    try:
        yield SEEN
    finally:
        WATCHING = ()


@contextmanager
def bounded(seconds=20, megabytes=80):
    """Fail where time and memory run away.

    Both limits are far above what anything here needs; they end a bomb before it takes the machine along.
    """

    def late(*_):
        raise TimeoutError(f"over {seconds} s")

    tally.add()
    before = signal.signal(signal.SIGALRM, late) if hasattr(signal, "SIGALRM") else None
    if before is not None:
        signal.alarm(seconds)
    tracemalloc.start()
    try:
        yield
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        if before is not None:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
    assert peak < megabytes * 1e6


@contextmanager
def nothing_happens():
    """Fail where a file is written, a program started, or time and memory run away."""
    with bounded(), watched() as seen:
        yield
    assert not seen
