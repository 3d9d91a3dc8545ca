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


class RanAwayError(BaseException):
    """Nothing that reports errors of the machine in other words may take this for one."""


def _run_away(*_):
    raise RanAwayError


@contextmanager
def bounded(seconds=5, megabytes=80):
    """Fail where time of the processor or memory run away; the time ends what takes it."""
    tally.add()
    timed = hasattr(signal, "setitimer")
    if timed:
        before = signal.signal(signal.SIGPROF, _run_away)
        signal.setitimer(signal.ITIMER_PROF, seconds)
    tracemalloc.start()
    try:
        yield
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        if timed:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)
    assert peak < megabytes * 1e6


@contextmanager
def nothing_happens():
    """Fail where a file is opened, anything imported, a program started, or a second goes by."""
    with bounded(seconds=1), watched("import", "read") as seen:
        yield
    assert seen == [], seen
