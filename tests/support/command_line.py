"""Runs the command line on cases from stdin, one after the other, and prints what became of each as JSON.

A case is a list of arguments; each runs in the folder that bears its name. On the disk of a case "full ..." files end
after 500 bytes.
"""

import contextlib
import io
import json
import os
import sys
from pathlib import Path

from support.audit import watched


def digest(root):
    """Every file and folder below a folder with its content."""
    found = sorted(Path(root).rglob("*"))
    return {str(path): path.read_bytes().hex() if path.is_file() else None for path in found}


def run(arguments, root):
    from tobitgp.cli import main

    out, err = io.StringIO(), io.StringIO()
    before = digest(root)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), watched() as seen:
        try:
            code = main(arguments)
        except SystemExit as stop:
            code = stop.code or 0
        events = [[event, *(os.path.realpath(place) for place in places)] for event, *places in seen]
    after = digest(root)
    changed = [path for path in sorted({*before, *after}) if before.get(path, 0) != after.get(path, 0)]
    return {"code": code, "out": out.getvalue(), "err": err.getvalue(), "events": events, "changed": changed}


@contextlib.contextmanager
def full_disk():
    """Writing more than 500 bytes to one file fails, as on a disk that is full."""
    import resource
    import signal

    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)


def main():
    root, cases = sys.argv[1], json.load(sys.stdin)
    results = {}
    for name, arguments in cases.items():
        os.chdir(Path(root, "work", name))
        with full_disk() if name.startswith("full ") else contextlib.nullcontext():
            results[name] = run(arguments, root)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
