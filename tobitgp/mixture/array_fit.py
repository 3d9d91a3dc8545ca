"""Fit a mixture to censored rows, on arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tobitgp.engines import map_independent, single_blas_thread
from tobitgp.errors import DataError, NumericalError, SpecError
from tobitgp.mixture.arranged_rows import arrange, check_number, read_rows, subset
from tobitgp.mixture.coordinate_ascent import Ascended, Stop, Stream, chunks_of, climb, partial_fit, run, to_come
from tobitgp.mixture.evidence_bound import Bayes, MixtureState, Model, Points
from tobitgp.mixture.exponential_family import ExponentialFamily
from tobitgp.mixture.family import MixtureFamily
from tobitgp.mixture.fitted_mixture import Mixture, MixtureFit, describe, order_components
from tobitgp.mixture.gaussian import Gaussian, Lognormal
from tobitgp.mixture.methods import EMCM, SVBCM, VBCM, Method
from tobitgp.mixture.mixture_priors import ComponentPrior, Dirichlet, DirichletProcess, Weights
from tobitgp.mixture.mixture_rows import Floor, MixtureRows, MixtureUnits, Raw, WorkingRows
from tobitgp.mixture.rates import Exponential, Poisson
from tobitgp.mixture.ready_families import BERNOULLI, GAMMA, GEOMETRIC, INVERSE_GAUSSIAN, WITH_NUMBER
from tobitgp.mixture.starts import choose_units, crude_values, cut, drop_components, moved, starts
from tobitgp.mixture.weibull import Weibull
from tobitgp.numerics.sampling import generator, words_for_heavy
from tobitgp.typing import Array

STAGED_ABOVE, STAGE_ROWS = 50_000, 20_000
_FIRST_STARTS, _FIRST_PASSES = 10, 10  # of a stream
_MOVES, _TRIAL_PASSES = 12, 16  # of each component at most, passes to tell which leads highest
_LIGHT = 20_000  # entries of a pass up to which maximum likelihood, which has many maxima, takes more trials:
_OTHERS, _KEPT = 10, 3  # trials for each start, and the highest of them that go on,
_EACH, _SHORT, _AT_ONCE = 12, 10, 4  # moves of each component, passes of trials, and moves that go on together
_ALIKE = 0.05  # difference of plug-in parameters up to which states are one
_ROUND, _FAILED = 3, 2  # rounds of moves that take the passes of the first ascents, and that end the search in vain
_ROUGH = 1e-4  # nats to come, up to which all ascents by maximum likelihood go; the highest ones go on
_GAIN = 1e-3  # nats for which a round was not in vain
_JUDGED_PASSES, _LEFT = 6, 0.1  # passes and nats that say whether stochastic steps have come to an optimum
_HEAVY = 200_000  # entries of a pass from which starts go in threads

MIXTURE_FAMILIES: dict[str, MixtureFamily] = {
    family.name: family
    for family in (
        Gaussian(),
        Lognormal(),
        Exponential(),
        Poisson(),
        Weibull(),
        GAMMA,
        INVERSE_GAUSSIAN,
        GEOMETRIC,
        BERNOULLI,
    )
}


def resolve_mixture_family(name: object) -> MixtureFamily:
    """The family of a name."""
    if isinstance(name, str) and name in MIXTURE_FAMILIES:
        return MIXTURE_FAMILIES[name]
    if isinstance(name, ExponentialFamily):
        return name
    if isinstance(name, str) and name in WITH_NUMBER:
        call = WITH_NUMBER[name].__name__
        raise SpecError(f"family={name!r} needs a number: family=tg.{call}(2), for example.")
    allowed = ", ".join(map(repr, MIXTURE_FAMILIES))
    raise SpecError(
        f"family={name!r} is not supported for mixtures; choose one of {allowed}, or tg.ExponentialFamily(...)."
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
            raise SpecError(f"prior={{{name!r}: {value:g}}}: a positive number is needed.")
    return ComponentPrior(family.prior_to_working(values, units))


def fit_mixture(
    lower: Array,
    upper: Array,
    weight: Array | None = None,
    *,
    method: Method | None = None,
    rng: int | np.random.Generator | None = None,
    labels: Array | None = None,
    **components: Any,
) -> MixtureFit:
    """Fit a mixture to rows (n,); above 50,000 distinct ones on 20,000 of them first, and then on all."""
    method = VBCM() if method is None else method
    model, working, raw = _prepare(lower, upper, weight, labels, method, **components)
    with single_blas_thread(), np.errstate(over="ignore", under="ignore"):
        try:
            best, ends = _ascend(model, working, method, generator(rng))
        except NumericalError as error:
            suspects = words_for_heavy(raw.weight)
            raise NumericalError(f"{error} Look at {suspects}." if suspects else str(error)) from None
        return describe(model, method, working, best, ends, raw)


def start_stream(
    lower: Array,
    upper: Array,
    weight: Array | None = None,
    *,
    method: SVBCM | None = None,
    total: float | None = None,
    rng: int | np.random.Generator | None = None,
    k: int = 2,
    **components: Any,
) -> Stream:
    """Begin a stochastic fit with a first batch, at the best of ten starts; `partial_fit` goes on with it."""
    method = SVBCM() if method is None else method
    model, working, raw = _prepare(lower, upper, weight, None, method, k=k, **components)
    check_number(k, len(raw.lower))
    rng, stop = generator(rng), replace(_stop(method, working.total), passes=_FIRST_PASSES)
    some = subset(working, STAGE_ROWS)
    with single_blas_thread(), np.errstate(over="ignore", under="ignore"):
        begins = starts(model, some, model.k, _FIRST_STARTS, rng)
        state = _highest(model, [climb(model, chunks_of(some, model.k), one, stop) for one in begins]).state
    return partial_fit(Stream(model, state, working.units, method, total=total), lower, upper, weight, rng=rng)


def mixture_of(stream: Stream) -> Mixture:
    """The mixture that a stream has come to."""
    counts = stream.seen * stream.model.estimated_weights(stream.state)[0]
    return Mixture(stream.model, stream.state, order_components(stream.model, stream.state, counts), stream.units)


def _prepare(
    lower: Array,
    upper: Array,
    weight: Array | None,
    labels: Array | None,
    method: Method,
    *,
    family: str | MixtureFamily = "gaussian",
    k: int = 2,
    weights: Weights | None = None,
    prior: Mapping[str, Any] | None = None,
) -> tuple[Model, WorkingRows, Raw]:
    """The model, and the rows on the scale that is modelled and in the user's units."""
    kind = resolve_mixture_family(family)
    raw = read_rows(kind, lower, upper, weight, labels)
    n = len(raw.lower)
    if not n:
        raise DataError("There is no row that says anything of the response.")
    k = min(check_number(k), n) if isinstance(weights, DirichletProcess) else check_number(k, n)
    units = choose_units(kind, raw)
    if isinstance(method, EMCM):
        working = arrange(kind, raw, units)
        return Points(kind, k, _floor(kind, method.floor, working)), working, raw
    values = read_prior(kind, prior, units, _typical(kind, raw))
    model = Bayes(kind, values, Dirichlet() if weights is None else weights, k)
    return model, arrange(kind, raw, units, ties=model.adapts), raw


def _typical(family: MixtureFamily, raw: Raw) -> float:
    """Mean of the rows on the scale that is modelled, which is 1 or 0 but for counts."""
    typical = float(np.average(crude_values(family, raw), weights=raw.weight)) if family.free_of == "nothing" else 1.0
    return typical if typical > 0.0 else 1.0


def _floor(family: MixtureFamily, given: float | None, working: WorkingRows) -> Floor:
    if given is None:
        return family.floor(working)
    return given**0.5 if family.free_of == "location and scale" else given


def _stop(method: Method, total: float) -> Stop:
    return Stop(max(method.tol * total, 1e-9), method.max_iter, method.relax, method.check)


def _ascend(model: Model, working: WorkingRows, method: Method, rng: np.random.Generator) -> tuple[Ascended, Array]:
    """The highest end, and the ends of all ascents."""
    k = model.k
    some = subset(working, STAGE_ROWS) if sum(map(len, working.parts)) > STAGED_ABOVE else working
    stop, chunks = _stop(method, working.total), chunks_of(some, k)
    first = method.n_init - method.n_init // 2
    begins = starts(model, some, k, first, rng)
    if isinstance(method, SVBCM):
        begins = [run(model, working, state, method, rng) for state in begins]
        if not method.polish:
            chunks = chunks_of(working, k)
            climbs = [climb(model, chunks, state, replace(stop, passes=1)) for state in begins]
            return _judged(model, chunks, _highest(model, climbs), stop), np.array([one.value for one in climbs])
    if isinstance(model, Points) and method.n_init > 1 and k > 1:
        begins = _best_of_more(model, some, chunks, begins, stop, rng)
    rough = replace(stop, gain=max(stop.gain, _ROUGH)) if isinstance(model, Points) and len(begins) > 1 else stop
    climbs = _climb_all(model, chunks, begins, rough)
    if k > 1:
        climbs += _climb_beside(model, some, chunks, climbs, rough, method.n_init // 2, rng)
    best = _highest(model, climbs)
    if rough is not stop:
        best = _highest(model, _climb_all(model, chunks, _unlike(model, climbs, _AT_ONCE), stop))
    if isinstance(model, Bayes) and isinstance(model.weights, DirichletProcess) and k > 1:
        best = drop_components(model, chunks, best, stop)
    if some is not working:
        best = climb(model, chunks_of(working, k), best.state, stop)
    return best, np.array([one.value for one in climbs])


def _judged(model: Model, chunks: Sequence[MixtureRows], best: Ascended, stop: Stop) -> Ascended:
    """The end of stochastic steps, converged where a few passes say that less than a tenth of a nat is left."""
    more = climb(model, chunks, best.state, replace(stop, passes=_JUDGED_PASSES)).trace
    gains = np.diff(more)
    left = more[-1] - more[0] + (to_come(gains[-1], gains[-2]) if len(gains) > 1 else 0.0)
    return replace(best, converged=bool(left < _LEFT))


def _climb_all(
    model: Model, chunks: Sequence[MixtureRows], begins: Sequence[MixtureState], stop: Stop
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
    model: Model,
    working: WorkingRows,
    chunks: Sequence[MixtureRows],
    ends: Sequence[Ascended],
    stop: Stop,
    number: int,
    rng: np.random.Generator,
) -> list[Ascended]:
    """Up to so many ascents from moves of the highest end, one a round, as long as they lead higher."""
    best, found, failed = _highest(model, ends), list[Ascended](), 0
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
        higher = worth(model, _highest(model, further)) > worth(model, best) + _GAIN
        failed = 0 if higher else failed + 1
        best = _highest(model, [best, *further])
    return found


def _unlike(model: Model, climbs: Sequence[Ascended], number: int) -> list[MixtureState]:
    """States of the highest ends, no two of them alike."""
    kept = list[tuple[Array, MixtureState]]()
    for one in sorted(climbs, key=lambda one: -worth(model, one)):
        order = np.argsort(model.family.location(model.view(one.state).theta))
        theta = model.view(one.state).theta[:, order]
        if all(np.abs(theta - other).max() > _ALIKE for other, _ in kept):
            kept.append((theta, one.state))
    return [state for _, state in kept[:number]]


def _highest(model: Model, climbs: Sequence[Ascended]) -> Ascended:
    return max(climbs, key=lambda one: worth(model, one))


def worth(model: Model, end: Ascended) -> float:
    """Objective less log n for each component that a bound alone keeps from closing in on one of n values; (EM9)."""
    if not isinstance(model, Points) or model.k == 1:
        return end.value
    narrow = model.family.narrow(end.state.components, model.floor)
    return end.value - float(narrow.sum() * np.log(max(end.sums.counts.sum(), 1.0)))
