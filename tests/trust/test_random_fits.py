"""Random formulas on random data: every fit is refused, warns or is right.

``TOBITGP_EXAMPLES=2000 pytest -m slow tests/trust/test_random_fits.py`` looks further, at slower cases.
"""

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from support.random_fits import cases, fit_case, judge

WANTED = os.environ.get("TOBITGP_EXAMPLES")


CALM = {"suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much], "deadline": None}
FIXED = {"derandomize": True, "phases": [Phase.explicit, Phase.generate], **CALM}


@settings(max_examples=100, **FIXED)
@given(cases(most=16, easy=True))
def test_every_fit_is_refused_or_warns_or_is_right(case):
    judge(case, *fit_case(case))


@pytest.mark.slow
@settings(**(CALM | {"max_examples": int(WANTED)} if WANTED else FIXED | {"max_examples": 200}))
@given(cases() if WANTED else cases(most=16, easy=True))
def test_more_fits(case):
    judge(case, *fit_case(case))
