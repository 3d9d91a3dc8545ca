"""Axes that are given are drawn into, or refused by name."""

import inspect

import pytest

import tobitgp as tg
from tobitgp.errors import SpecError

LUNG = tg.datasets.load("lung")
DRAWN = {
    "process": lambda: tg.fit("Surv(time, event) ~ gp(age)", LUNG, family="lognormal", method=tg.EP(hyper="maximize")),
    "regression": lambda: tg.fit("Surv(time, event) ~ age", LUNG, family="weibull"),
    "mixture": lambda: tg.fit("Surv(time, event) ~ mixture(2)", LUNG, family="lognormal"),
    "selection": lambda: tg.select("Surv(time, event) ~ mixture(range(1, 3))", LUNG, family="lognormal"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", DRAWN)
def test_what_are_no_axes_is_refused(kind):
    drawn = DRAWN[kind]()
    names = [name for name in dir(drawn) if name.startswith("plot")]
    taking = [name for name in names if "ax" in inspect.signature(getattr(drawn, name)).parameters]
    assert taking
    for name in taking:
        more = {"x": "age"} if "x" in inspect.signature(getattr(drawn, name)).parameters else {}
        with pytest.raises(SpecError, match="ax= must be matplotlib axes, not int"):
            getattr(drawn, name)(ax=3, **more)
