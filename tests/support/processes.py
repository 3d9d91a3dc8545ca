"""Python in a process of its own, which finds what the tests find."""

import os
import subprocess
import sys


def environment(**changes):
    """Environment of a child: this one's, its search path, and changes."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **changes}


def run_python(*words, env=None, **options):
    """Run Python on words of a command line and give back what became of it, output as text."""
    env = environment() if env is None else env
    return subprocess.run(
        [sys.executable, *map(str, words)],
        **{"env": env, "text": True, "check": False, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )


def printed_by(*words, **options):
    """What Python printed, once it ended well."""
    done = run_python(*words, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout
