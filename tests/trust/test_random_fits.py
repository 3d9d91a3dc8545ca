"""Random formulas on random data: every fit is refused in words, or warns, or is right."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from support.random_fits import cases, fit_case, judge

CHECKS = [HealthCheck.too_slow, HealthCheck.filter_too_much]


def attempt(case):
    judge(case, *fit_case(case))


@settings(max_examples=150, suppress_health_check=CHECKS, phases=[Phase.explicit, Phase.generate])
@given(cases(most=16, easy=True))
def test_every_fit_is_refused_or_warns_or_is_right(case):
    attempt(case)


@pytest.mark.slow
@settings(max_examples=2000, suppress_health_check=CHECKS)
@given(cases())
def test_thousands_of_fits(case):
    attempt(case)
