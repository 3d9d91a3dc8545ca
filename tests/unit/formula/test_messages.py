"""What a user sees on mistakes of every kind, word for word: read these for tone when they change.

``python tests/unit/formula/test_messages.py`` writes the messages anew.
"""

from pathlib import Path

import numpy as np
import pytest

from tobitgp.errors import FormulaError, TobitGPError
from tobitgp.formula import parse_formula, parse_scale_formula
from tobitgp.priors.kernels import KERNELS

COLUMNS = ["y", "x", "z", "g", "age", "time", "event", "lo", "hi", "flag", "status", "my date"]
SNAPSHOT = Path(__file__).with_name("messages.txt")
MALFORMED = [
    "y ~ i.g + c.x",
    "y ~ c.x#c.z",
    "y ~ L.x",
    "y ~ x + i(g)",
    "y ~ x | z ~ age",
    "",
    "gp(x)",
    "y ~",
    "y ~ x +",
    "y ~ gp(x",
    "y = gp(x)",
    "y > 0 ~ x",
    "y + time ~ x",
    "y ~ gp(X)",
    "y ~ gp(agge)",
    "y ~ np.log(x)",
    "y ~ df['x']",
    "y ~ (lambda t: t)(x)",
    "y ~ x^2",
    "y ~ x**2",
    "y ~ gp(x, kernel='mattern52')",
    "y ~ gp(x, kernel=rbf)",
    "y ~ gp(x, by='g')",
    "y ~ gp(x, by=C(g))",
    "y ~ gp(x, by=x)",
    "y ~ gp(x, z, period=12)",
    "y ~ gp(x, kernel='matern52', period=12)",
    "y ~ gp(x, period=0)",
    "y ~ gp(x) * z",
    "y ~ gp(x) * 2",
    "y ~ gp(x)/z",
    "y ~ (gp(x) + z):age",
    "y ~ gp(x)**2",
    "y ~ .:gp(x)",
    "y ~ 2:gp(x)",
    "y ~ gp(x):C(g, Sum)",
    "y ~ gp(x, by=g):C(flag)",
    "y ~ gp(x, name='a'):gp(z, name='b')",
    "y ~ gp(x):gp(x)",
    "y ~ re(g):gp(x)",
    "y ~ log(re(g))",
    "y ~ re(g, flag)",
    "y ~ re(g) + (1 | g)",
    "y ~ x + (1 + gp(z) | g)",
    "y ~ x + (1 | g + flag)",
    "y ~ x + (1 | g*flag)",
    "y ~ x || g",
    "y ~ x + (1 | C(g))",
    "y ~ (x | censor(0))",
    "y ~ s(x)",
    "y ~ s(x, bs='tp')",
    "y ~ s(x, bs='re')",
    "y ~ s(x, bs='cc')",
    "y ~ s(x, bs='gp', m=1)",
    "y ~ s(x, bs='gp') + gp(x)",
    "y ~ s(x, bs='gp'):z",
    "y ~ hsgp(x, m=10, share_cov=False)",
    "y ~ hsgp(x, cov='Exponential')",
    "y ~ hsgp(x, m=z)",
    "y ~ smooth(x)",
    "y ~ my date",
    "y ~ gp(decimal_year(x + 1))",
    "y ~ gp(x) | z",
    "y ~ gp(x) | cens(status)",
    "y ~ gp(x) | censor(status='lef')",
    "y ~ gp(x) | censor(NaN, hi)",
    "y ~ gp(x) | censor(0, event=event)",
    "y ~ gp(x) | censor(nondetect=flag, event=event)",
    "y ~ gp(x) | censor(0) | censor(upper=9)",
    "y ~ gp(x) | truncate()",
    "y ~ gp(y)",
    "Surv(time) ~ gp(x)",
    "Surv(lo, hi, type='interval 2') ~ gp(x)",
    "Surv(lo, hi, type='interval') ~ gp(x)",
    "Surv(time, event) ~ gp(x) | censor(0)",
    "interval(lo) ~ gp(x)",
    "interval(lo, hi) ~ gp(x) | censor(lo, hi)",
    "log(interval(lo, hi)) ~ gp(x)",
    "cbind(lo, hi) ~ gp(x)",
    "y | cens(status) + trunc(lb = 0) ~ x",
    "Surv(time, event) ~ x + strata(g)",
    "Surv(time, event) ~ x + cluster(g)",
    "y ~ gp(x, z, iso=False)",
    "logit(y) ~ gp(x)",
    "logit(x, ) ~ f(1)",
]


MALFORMED_SCALES = [
    "",
    "z",
    "~",
    "y ~ z",
    "log(sigma) ~ z + x",
    "~ z ~ x",
    "~ z +",
    "~ 0",
    "~ zz",
    "~ x + log(y)",
    "~ gp(zz)",
    "~ z + mixture(2)",
    "~ z * log(re(g))",
    "~ z | censor(0)",
    "~ bs(z, dff=4)",
    "~ np.log(z)",
    "~ z**2",
    "~ offset()",
]


def message(formula):
    with pytest.raises(FormulaError) as caught:
        parse_formula(formula, COLUMNS, {"f": np.sin})
    return f"{formula!r}\n{caught.value}\n"


def message_of_scale(formula):
    with pytest.raises(TobitGPError) as caught:
        parse_scale_formula(formula, COLUMNS, {"f": np.sin}, beside=parse_formula("y ~ x"))
    return f"sigma={formula!r}: {type(caught.value).__name__}\n{caught.value}\n"


MESSAGES = [*((message, text) for text in MALFORMED), *((message_of_scale, text) for text in MALFORMED_SCALES)]


@pytest.mark.parametrize(("read", "formula"), MESSAGES)
def test_messages_are_as_they_were_read(read, formula):
    head, text = read(formula).replace(", ".join(KERNELS), "{kernels}").split("\n", 1)
    known = dict(block.split("\n", 1) for block in SNAPSHOT.read_text(encoding="utf-8").strip().split("\n\n"))
    assert known[head] == text.rstrip("\n")


def test_no_message_is_left_over():
    assert len(SNAPSHOT.read_text(encoding="utf-8").strip().split("\n\n")) == len(MESSAGES)


if __name__ == "__main__":
    found = "\n".join(read(formula) for read, formula in MESSAGES).replace(", ".join(KERNELS), "{kernels}")
    SNAPSHOT.write_text(found, encoding="utf-8")
