"""Methods with settings, for tests that take a method or options from a list."""

from dataclasses import replace

from tobitgp.method_settings import EP
from tobitgp.method_spelling import read_method


def having(method="auto", **settings):
    """A method, given by its name or as a value, with some settings; that of "auto" is EP."""
    value = read_method(method)
    return replace(EP() if isinstance(value, str) else value, **settings)


def with_settings(options, **settings):
    """Options of a fit whose method has some settings."""
    return {**options, "method": having(options.get("method", "auto"), **settings)}
