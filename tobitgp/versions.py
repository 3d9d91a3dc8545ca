"""Versions of this package, of Python and of the packages that it requires."""

from __future__ import annotations

import platform
import re
from importlib.metadata import PackageNotFoundError, requires, version

from tobitgp import compiled


def show_versions() -> None:
    """Print the versions of tobitgp, Python and the packages that it uses, and whether its core is compiled.

    Fits with and without the compiled core agree to eight digits or more; the compiled core is several times as fast.
    It is built at installation if there is a C compiler. Set ``TOBITGP_COMPILED=0`` in the environment to turn it off.

    Examples
    --------
    >>> import tobitgp as tg
    >>> tg.show_versions()  # doctest: +ELLIPSIS
    tobitgp ...1.0.0rc1
    core ...
    Python ...
    """
    rows = {
        "tobitgp": version("tobitgp"),
        "core": compiled.state(),
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }
    for line in requires("tobitgp") or []:
        name = re.split(r"[^\w-]", line)[0]
        try:
            rows[name] = version(name)
        except PackageNotFoundError:
            rows[name] = "not installed"
    width = max(map(len, rows))
    print("\n".join(f"{name:<{width}} {number}" for name, number in rows.items()))
