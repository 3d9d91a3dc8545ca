"""Every process in words."""

import pytest

from tobitgp.formula import parse_formula

CURVE = "zero-mean Gaussian process over x, kernel rbf, one length-scale"
GROUP = "a curve for each level of g, hyper-parameters shared"


@pytest.mark.parametrize(
    ("term", "words"),
    [
        ("gp(x)", f"gp(x): {CURVE.replace('over x', 'over x and a linear effect of it')}"),
        ("gp(x, line=False)", f"gp(x): {CURVE}"),
        ("gp(x, by=g)", f"gp(x, by=g): {CURVE}; {GROUP}"),
        ("gp(x):C(g)", f"gp(x):C(g): {CURVE}; {GROUP}"),
        ("re(g)", "re(g): random intercept of each g; groups that were not seen are predicted from the prior"),
        (
            "z:gp(x)",
            "z:gp(x): slope of z that varies along x, a zero-mean Gaussian process, kernel rbf, one length-scale",
        ),
        (
            "z:w:gp(x, v)",
            "z:w:gp(x, v): slope of z times w that varies along x, v, a zero-mean Gaussian process, "
            "kernel rbf, a length-scale for each input",
        ),
        (
            "gp(x, kernel='periodic')",
            "gp(x): zero-mean Gaussian process over x, kernel periodic, estimated period, one length-scale",
        ),
        (
            "gp(x, period=12)",
            "gp(x, period=12): zero-mean Gaussian process over x, kernel periodic, period 12, one length-scale",
        ),
        ("gp(x, kernel='linear')", "gp(x): zero-mean Gaussian process over x, kernel linear"),
        (
            "gp(x, z, kernel='linear', ard=False)",
            "gp(x, z): zero-mean Gaussian process over x, z, kernel linear, one length-scale for all inputs",
        ),
        (
            "gp(x, period=7):gp(x, kernel='matern32'):gp(z, w, by=g)",
            "gp(x, period=7):gp(x):gp(z, w, by=g): zero-mean Gaussian process over x, z, w, product of the kernels "
            "periodic over x (period 7, one length-scale) and matern32 over x (one length-scale) "
            f"and rbf over z, w (a length-scale for each input); {GROUP}",
        ),
        (
            "gp(x, kernel='linear'):gp(z, kernel='linear')",
            "gp(x):gp(z): zero-mean Gaussian process over x, z, product of the kernels linear over x and linear over z",
        ),
        (
            's(x, bs="gp", k=20, m=-3)',
            "gp(x): zero-mean Gaussian process over x, kernel matern32, one length-scale; "
            's(x, bs="gp", k=20, m=-3) was read as gp(x, kernel="matern32", line=False), '
            "k= sets a basis that is not used here",
        ),
    ],
)
def test_processes(term, words):
    assert str(parse_formula(f"y ~ {term}")).splitlines()[-1] == f"  process    {words}"
