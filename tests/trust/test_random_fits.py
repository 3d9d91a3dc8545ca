"""Random formulas on random data: every fit is refused, warns or is right.

``TOBITGP_EXAMPLES=2000 pytest tests/trust/test_random_fits.py`` looks further, at slower cases.
"""

import os

from hypothesis import HealthCheck, Phase, given, settings
from support.random_fits import cases, fit_case, judge

WANTED = os.environ.get("TOBITGP_EXAMPLES")


@settings(
    max_examples=int(WANTED or 100),
    derandomize=WANTED is None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    phases=list(Phase) if WANTED else [Phase.explicit, Phase.generate],
    deadline=None,
)
@given(cases() if WANTED else cases(most=16, easy=True))
def test_every_fit_is_refused_or_warns_or_is_right(case):
    judge(case, *fit_case(case))
