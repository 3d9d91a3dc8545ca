"""Fit a mixture to censored rows, on arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tobitgp.engines import map_independent, single_blas_thread
from tobitgp.errors import DataError, NumericalError, SpecError
from tobitgp.mixture.arranged_rows import arrange, check_number, read_rows, subset
from tobitgp.mixture.coordinate_ascent import Ascended, Stop, chunks_of, climb
from tobitgp.mixture.evidence_bound import Bayes, MixtureState, Points, PosteriorModel
from tobitgp.mixture.family import MixtureFamily
from tobitgp.mixture.fitted_mixture import MixtureFit, describe
from tobitgp.mixture.gaussian import Gaussian, Lognormal
from tobitgp.mixture.given_starts import GivenStart, state_at
from tobitgp.mixture.methods import EMCM, SVBCM, VBCM, MixtureMethod
from tobitgp.mixture.mixture_priors import ComponentPrior, Dirichlet, DirichletProcess, Weights
from tobitgp.mixture.mixture_rows import Floor, MixtureRows, MixtureUnits, Raw, WorkingRows
from tobitgp.mixture.rates import ExponentialRates, Poisson
from tobitgp.mixture.ready_families import READY, WITH_NUMBER
from tobitgp.mixture.starts import choose_units, crude_values, cut, drop_components, moved, starts
from tobitgp.mixture.stochastic_steps import StochasticEnd, has_levelled_off, run
from tobitgp.mixture.weibull import Weibull
from tobitgp.numerics.sampling import generator, words_for_heavy
from tobitgp.typing import Array

STAGED_ABOVE, STAGE_ROWS = 50_000, 20_000
_MOVES, _TRIAL_PASSES = 12, 16  # of each component at most, passes to tell which leads highest
_LIGHT = 20_000  # entries of a pass up to which maximum likelihood, which has many maxima, takes more trials:
_OTHERS, _KEPT = 10, 3  # trials for each start, and the highest of them that go on,
_EACH, _SHORT, _AT_ONCE = 12, 10, 4  # moves of each component, passes of trials, and moves that go on together
_ALIKE = 0.05  # difference of plug-in parameters up to which states are one
_ROUND, _FAILED = 3, 2  # rounds of moves that take the passes of the first ascents, and that end the search in vain
_ROUGH = 1e-4  # nats to come, up to which all ascents by maximum likelihood go; the highest ones go on
_GAIN = 1e-3  # nats for which a round was not in vain
_HEAVY = 200_000  # entries of a pass from which starts go in threads

MIXTURE_FAMILIES: dict[str, MixtureFamily] = {
    family.name: family
    for family in (
        Gaussian(),
        Lognormal(),
        ExponentialRates(),
        Poisson(),
        Weibull(),
        *READY.values(),
    )
}


class MixtureEnds(NamedTuple):
    """What a fit found."""

    best: Ascended  # the highest end
    ends: Array  # (R,), objective at the ends of all ascents
    path: Array  # (m,), objective along stochastic steps; none of other methods


def resolve_mixture_family(name: object) -> MixtureFamily:
    """The family of a name."""
    if isinstance(name, str) and name in MIXTURE_FAMILIES:
        return MIXTURE_FAMILIES[name]
    if isinstance(name, MixtureFamily):
        return name
    if isinstance(name, str) and name in WITH_NUMBER:
        call = WITH_NUMBER[name].__name__
        raise SpecError(f"family={name!r} requires a number, e.g. family=tg.{call}(2).")
    allowed = ", ".join(map(repr, MIXTURE_FAMILIES))
    raise SpecError(
        f"family={name!r} is not supported for mixtures. Choose one of {allowed}, or use tg.ExponentialFamily(...)."
    )


def read_prior(
    family: MixtureFamily, prior: Mapping[str, Any] | None, units: MixtureUnits, typical: float
) -> ComponentPrior:
    """The components' prior, on the scale that is modelled, given or for rows of a typical size."""
    if prior is None:
        return family.default_prior(typical)
    values = np.array([prior[name] for name in family.hyperparameters], dtype=np.float64)
    for name, value, positive in zip(family.hyperparameters, values, family.positive, strict=True):
        if not np.isfinite(value) or (positive and value <= 0.0):
            raise SpecError(f"prior={{{name!r}: {value:g}}}: must be a positive number.")
    return ComponentPrior(family.prior_to_working(values, units))


def fit_mixture(
    lower: Array,
    upper: Array,
    weight: Array | None = None,
    *,
    method: MixtureMethod | None = None,
    rng: int | np.random.Generator | None = None,
    labels: Array | None = None,
    start: GivenStart | None = None,
    window: tuple[Array, Array] | None = None,
    **components: Any,
) -> MixtureFit:
    """Fit a mixture to rows (n,); above 50,000 distinct ones on 20,000 of them first, and then on all.

    The first ascent begins at ``start``, where it is given. Rows could only be seen inside of ``window``, (entry, exit]
    of (n,) each.
    """
    method = VBCM() if method is None else method
    model, working, raw = prepare_fit(lower, upper, weight, labels, method, window=window, **components)
    model = _with_rows(model, len(raw.lower))
    with single_blas_thread(), np.errstate(over="ignore", under="ignore"):
        try:
            given = None if start is None else state_at(model, raw, working.units, start)
            found = _ascend(model, working, method, generator(rng), given)
        except NumericalError as error:
            suspects = words_for_heavy(raw.weight)
            raise NumericalError(f"{error} Look at {suspects}." if suspects else str(error)) from None
        return describe(model, method, working, *found, raw)


def prepare_fit(
    lower: Array,
    upper: Array,
    weight: Array | None,
    labels: Array | None,
    method: MixtureMethod,
    *,
    window: tuple[Array, Array] | None = None,
    family: str | MixtureFamily = "gaussian",
    k: int = 2,
    weights: Weights | None = None,
    prior: Mapping[str, Any] | None = None,
) -> tuple[PosteriorModel, WorkingRows, Raw]:
    """The model, and the rows on the scale that is modelled and in the user's units."""
    kind = resolve_mixture_family(family)
    if isinstance(method, SVBCM) and method.draws is not None and not kind.expected:
        raise SpecError(f"draws={method.draws}: family={kind.name!r} has no statistics to sample. Leave draws= out.")
    raw = read_rows(kind, lower, upper, weight, labels, window)
    k = check_number(k)
    if not len(raw.lower):
        raise DataError("No row has information about the response.")
    units = choose_units(kind, raw)
    if isinstance(method, EMCM):
        working = arrange(kind, raw, units)
        return Points(kind, k, _floor(kind, method.floor, working)), working, raw
    values = read_prior(kind, prior, units, _typical(kind, raw))
    model = Bayes(kind, values, Dirichlet() if weights is None else weights, k)
    return model, arrange(kind, raw, units, ties=model.adapts), raw


def _with_rows(model: PosteriorModel, rows: int) -> PosteriorModel:
    """The model, a process of no more components than there are rows."""
    if isinstance(model, Bayes) and isinstance(model.weights, DirichletProcess):
        return replace(model, k=min(model.k, rows))
    check_number(model.k, rows)
    return model


def _typical(family: MixtureFamily, raw: Raw) -> float:
    """Mean of the rows on the scale that is modelled, which is 1 or 0 but for counts."""
    typical = float(np.average(crude_values(family, raw), weights=raw.weight)) if family.free_of == "nothing" else 1.0
    return typical if typical > 0.0 else 1.0


def _floor(family: MixtureFamily, given: float | None, working: WorkingRows) -> Floor:
    if given is None:
        return family.floor(working)
    return given**0.5 if family.free_of == "location and scale" else given


def stop_of(method: MixtureMethod, total: float) -> Stop:
    """When an ascent over rows of a total weight ends."""
    return Stop(max(method.tol * total, 1e-9), method.max_iter, method.relax, method.check)


def _ascend(
    model: PosteriorModel,
    working: WorkingRows,
    method: MixtureMethod,
    rng: np.random.Generator,
    given: MixtureState | None,
) -> MixtureEnds:
    """The highest end, from a given state among others, and the ends of all ascents."""
    k = model.k
    some = subset(working, STAGE_ROWS) if sum(map(len, working.parts)) > STAGED_ABOVE else working
    stop, chunks = stop_of(method, working.total), chunks_of(some, k)
    first = method.n_init - method.n_init // 2
    begins = starts(model, some, k, first, rng)
    begins = begins if given is None else [given, *begins[1:]]
    runs = [run(model, working, state, method, rng) for state in begins] if isinstance(method, SVBCM) else []
    if isinstance(method, SVBCM):
        begins = [one.state for one in runs]
        if not method.polish:
            return _after_steps(model, working, runs, method)
    if isinstance(model, Points) and method.n_init > 1 and k > 1:
        begins = _best_of_more(model, some, chunks, begins, stop, rng)
        begins = begins if given is None else [given, *begins]
    rough = replace(stop, gain=max(stop.gain, _ROUGH)) if isinstance(model, Points) and len(begins) > 1 else stop
    climbs = _climb_all(model, chunks, begins, rough)
    path = _highest_path(model, runs, climbs)
    if k > 1:
        climbs += _climb_beside(model, some, chunks, climbs, rough, method.n_init // 2, rng)
    best = highest(model, climbs)
    if rough is not stop:
        best = highest(model, _climb_all(model, chunks, _unlike(model, climbs, _AT_ONCE), stop))
    if isinstance(model, Bayes) and isinstance(model.weights, DirichletProcess) and k > 1:
        best = drop_components(model, chunks, best, stop)
    if some is not working:
        best = climb(model, chunks_of(working, k), best.state, stop)
    return MixtureEnds(best, np.array([one.value for one in climbs]), path)


def _after_steps(
    model: PosteriorModel, working: WorkingRows, runs: Sequence[StochasticEnd], method: SVBCM
) -> MixtureEnds:
    """The highest end of stochastic steps, evaluated once on all rows."""
    chunks, once = chunks_of(working, model.k), Stop(0.0, passes=1)
    climbs = [climb(model, chunks, one.state, once) for one in runs]
    path = _highest_path(model, runs, climbs)
    best = replace(highest(model, climbs), converged=has_levelled_off(path, method, working.total))
    return MixtureEnds(best, np.array([one.value for one in climbs]), path)


def _highest_path(model: PosteriorModel, runs: Sequence[StochasticEnd], climbs: Sequence[Ascended]) -> Array:
    """The path of the steps from which an ascent came highest; none without steps."""
    best = max(zip(climbs, runs, strict=False), key=lambda pair: worth(model, pair[0]), default=None)
    return np.zeros(0) if best is None else best[1].path


def _climb_all(
    model: PosteriorModel, chunks: Sequence[MixtureRows], begins: Sequence[MixtureState], stop: Stop
) -> list[Ascended]:
    heavy = len(begins) > 1 and model.k * sum(map(len, chunks)) > _HEAVY
    return map_independent(lambda state: climb(model, chunks, state, stop), begins, heavy=heavy)


def _best_of_more(
    model: Points,
    working: WorkingRows,
    chunks: Sequence[MixtureRows],
    begins: Sequence[MixtureState],
    stop: Stop,
    rng: np.random.Generator,
) -> list[MixtureState]:
    """As many states at most, the highest after some passes from these and from others, no two of them alike."""
    k, number = model.k, len(begins)
    light = k * sum(map(len, chunks)) <= _LIGHT
    more = _OTHERS * number if light else 0
    others = starts(model, working, k, more, rng) if more else []
    others += cut(model, working, k, rng)
    trials = _climb_all(model, chunks, [*begins, *others], replace(stop, passes=_SHORT if light else _TRIAL_PASSES))
    return _unlike(model, trials, _KEPT * number if light else number)


def _climb_beside(
    model: PosteriorModel,
    working: WorkingRows,
    chunks: Sequence[MixtureRows],
    ends: Sequence[Ascended],
    stop: Stop,
    number: int,
    rng: np.random.Generator,
) -> list[Ascended]:
    """Up to so many ascents from moves of the highest end, one a round, as long as they lead higher."""
    best, found, failed = highest(model, ends), list[Ascended](), 0
    k, trial = model.k, replace(stop, passes=_TRIAL_PASSES)
    moves, at_once = min(_MOVES * k, max(k, sum(end.passes for end in ends) // (_ROUND * _TRIAL_PASSES))), 1
    thorough = isinstance(model, Points) and k * sum(map(len, chunks)) <= _LIGHT
    if thorough:
        moves, at_once, trial = _EACH * k, _AT_ONCE, replace(stop, passes=_SHORT)
    while len(found) < number and failed < _FAILED:
        states = moved(model, working, best.state, moves, rng, crowded=thorough and not failed)
        if not states:
            break
        trials = _climb_all(model, chunks, states, trial)
        further = _climb_all(model, chunks, _unlike(model, trials, at_once), stop)
        found += further
        higher = worth(model, highest(model, further)) > worth(model, best) + _GAIN
        failed = 0 if higher else failed + 1
        best = highest(model, [best, *further])
    return found


def _unlike(model: PosteriorModel, climbs: Sequence[Ascended], number: int) -> list[MixtureState]:
    """States of the highest ends, no two of them alike."""
    kept = list[tuple[Array, MixtureState]]()
    for one in sorted(climbs, key=lambda one: -worth(model, one)):
        order = np.argsort(model.family.location(model.view(one.state).theta))
        theta = model.view(one.state).theta[:, order]
        if all(np.abs(theta - other).max() > _ALIKE for other, _ in kept):
            kept.append((theta, one.state))
    return [state for _, state in kept[:number]]


def highest(model: PosteriorModel, climbs: Sequence[Ascended]) -> Ascended:
    """The ascent with the highest end."""
    return max(climbs, key=lambda one: worth(model, one))


def worth(model: PosteriorModel, end: Ascended) -> float:
    """Objective less log n for each component that a bound alone keeps from closing in on one of n values; (EM9)."""
    if not isinstance(model, Points) or model.k == 1:
        return end.value
    narrow = model.family.narrow(end.state.components, model.floor)
    return end.value - float(narrow.sum() * np.log(max(end.sums.counts.sum(), 1.0)))
