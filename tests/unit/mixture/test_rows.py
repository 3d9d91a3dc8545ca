import numpy as np
import pytest

from tobitgp.errors import DataError, SpecError
from tobitgp.mixture import MIXTURE_FAMILIES, fit_mixture
from tobitgp.mixture.arranged_rows import arrange, read_rows, subset
from tobitgp.mixture.mixture_rows import MixtureUnits
from tobitgp.mixture.starts import choose_units

INF = np.inf
BAD = [
    ("exponential", -1.0, -1.0, "Times must be at least 0: row 1 holds -1"),
    ("weibull", 0.0, 0.0, "Times must be positive: row 1 holds 0"),
    ("lognormal", -3.0, -3.0, "Times must be positive"),
    ("exponential", -INF, 0.0, "left-censored at or below 0"),
    ("weibull", -INF, -2.0, "left-censored at or below 0"),
    ("lognormal", -2.0, -1.0, "left-censored at or below 0"),
    ("poisson", 2.5, 2.5, "whole numbers of at least 0"),
    ("poisson", -1.0, -1.0, "whole numbers of at least 0"),
    ("poisson", -INF, -1.0, "cannot lie below 0"),
    ("poisson", 2.2, 2.9, "holds no whole number"),
    ("gaussian", np.nan, 1.0, "Ends are missing"),
    ("gaussian", INF, INF, "Ends are missing"),
    ("gaussian", 2.0, 1.0, "A lower end lies above its upper end"),
]


@pytest.mark.parametrize(("name", "lower", "upper", "message"), BAD)
def test_impossible_rows_are_named(name, lower, upper, message):
    with pytest.raises(DataError, match=message):
        fit_mixture(np.array([1.0, lower, 2.0]), np.array([1.0, upper, 2.0]), family=name)


def test_labels_name_rows():
    y = np.array([1.0, -1.0, -2.0])
    with pytest.raises(DataError, match="rows b, c hold"):
        fit_mixture(y, y, family="exponential", labels=np.array(["a", "b", "c"]))


@pytest.mark.parametrize("weight", [[1.0, -1.0], [1.0, np.nan], [1.0]])
def test_weights_are_finite_and_of_one_length(weight):
    with pytest.raises(DataError):
        fit_mixture(np.ones(2), np.ones(2), np.array(weight), k=1)


@pytest.mark.parametrize("k", [0, -1, 2.0, True, "dp", 4])
def test_numbers_of_components(k):
    with pytest.raises(SpecError, match="mixture"):
        fit_mixture(np.arange(3.0), np.arange(3.0), k=k)


def test_rows_without_anything_to_say_are_not_enough():
    with pytest.raises(DataError, match="No row"):
        fit_mixture(np.array([-INF]), np.array([INF]), k=1)


def test_limits_of_counts_become_whole_numbers():
    lower, upper = np.array([-INF, 1.5, 2.0, -3.0, 4.9]), np.array([3.7, 4.2, 3.0, 2.0, INF])
    raw = read_rows(MIXTURE_FAMILIES["poisson"], lower, upper)
    np.testing.assert_array_equal(raw.lower, [-INF, 1.0, 3.0, -INF, 4.0])
    np.testing.assert_array_equal(raw.upper, [3.0, 4.0, 3.0, 2.0, INF])


def test_times_above_nothing_say_nothing():
    raw = read_rows(MIXTURE_FAMILIES["exponential"], np.array([0.0, -2.0, 0.0, 1.0]), np.array([INF, 3.0, 0.0, INF]))
    np.testing.assert_array_equal(raw.position, [1, 2, 3])
    np.testing.assert_array_equal(raw.lower, [-INF, 0.0, 1.0])


def test_units_are_not_moved_by_a_limit_far_away():
    y = np.random.default_rng(0).normal(size=100)
    family = MIXTURE_FAMILIES["gaussian"]
    units = choose_units(family, read_rows(family, np.append(y, -INF), np.append(y, 1e12)))
    assert units.scale < 2.0


def test_equal_values_have_a_scale():
    fit = fit_mixture(np.full(5, 3.0), np.full(5, 3.0), k=1)
    assert fit.units == MixtureUnits(3.0, 1.0)
    assert np.isfinite(fit.elbo)


def test_width_of_a_log_interval_is_taken_before_rounding():
    family = MIXTURE_FAMILIES["lognormal"]
    raw = read_rows(family, np.array([1e8]), np.array([1e8 + 1e-6]))
    working = arrange(family, raw, MixtureUnits())
    assert working.parts[0].width[0] == pytest.approx((raw.upper[0] - raw.lower[0]) / 1e8, rel=1e-12)


def test_a_part_of_the_rows_weighs_as_much():
    rng = np.random.default_rng(1)
    y = rng.normal(size=5000)
    lower, upper = np.where(y > 1.0, 1.0 + 0.1 * rng.random(5000), y), np.where(y > 1.0, INF, y)
    family = MIXTURE_FAMILIES["gaussian"]
    working = arrange(family, read_rows(family, lower, upper), MixtureUnits())
    some = subset(working, 500)
    assert sum(map(len, some.parts)) == pytest.approx(500, abs=2)
    for part, whole in zip(some.parts, working.parts, strict=True):
        assert part.weight.sum() == pytest.approx(whole.weight.sum())
        assert part.lower.mean() == pytest.approx(whole.lower.mean(), abs=0.01)
