"""A user's own exponential family."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tobitgp.mixture.conjugate_posterior import InnerFunction
from tobitgp.mixture.exponential_family import NaturalFamily
from tobitgp.numerics.unimodal import Domain
from tobitgp.typing import Array


def ExponentialFamily(
    name: str,
    *,
    statistic: Callable[[Array], Any],
    log_partition: Callable[..., Any],
    natural: Sequence[tuple[float, float]],
    log_base: Callable[[Array], Array] | None = None,
    support: tuple[float, float] = (-np.inf, np.inf),
    discrete: bool = False,
    parameters: Mapping[str, Callable[..., Any]] | None = None,
    units: Mapping[str, float] | None = None,
    prior: Mapping[str, float] | None = None,
    collapsed: tuple[InnerFunction, Domain] | None = None,
) -> NaturalFamily:
    r"""A family of components, :math:`f(y|\eta) = h(y) \exp(\eta \cdot T(y) - A(\eta))`, given as ``family=``.

    Truncated and censored statistics, moments, tails, quantiles, the conjugate prior and everything else follow from
    these functions, by quadrature or, for counts, by sums.

    Parameters
    ----------
    name : str
        What the family is called in summaries.
    statistic : callable
        T: values (n,), in the units of the response, to one array (n,), or to a tuple of two.
    log_partition : callable
        A, of the natural parameters: one argument or two, in functions of numpy and scipy.special for which
        derivatives are known.
    natural : sequence of (float, float)
        Between what each natural parameter lies, pure numbers if the statistic has no unit; one or two of them.
    log_base : callable, optional
        log h: values (n,) to (n,); 0 by default.
    support : (float, float)
        Between what values lie, in the units of the response; the least and the largest count of a discrete family.
    discrete : bool
        Whether values are whole numbers.
    parameters : mapping of str to callable, optional
        Parameters that users read, as functions of the natural ones; the natural ones by default.
    units : mapping of str to int, optional
        Powers of the unit of the response that these parameters have, where the family of ``c y`` is the same one for
        every c > 0: -1 for a rate. Fits are then the same in all units.
    prior : mapping of str to float, optional
        Conjugate prior, :math:`\propto \exp(\eta \cdot \xi - \nu A(\eta))`: ``"xi"`` (or ``"xi1"`` and ``"xi2"``)
        and ``"nu"``. With ``units`` it is that of the response in units near its median. The default is worth a tenth
        of a row; ``"nu"`` is a number of rows.
    collapsed : tuple, optional
        Of a family of two natural parameters, what is left of the conjugate density where one is integrated out in
        closed form; see the families in ``tobitgp/mixture/ready_families.py``.

    Returns
    -------
    NaturalFamily
        Pass it as ``family=`` of a mixture.

    Raises
    ------
    SpecError
        If functions and arguments do not fit together, or probabilities do not sum to 1.

    References
    ----------
    .. [1] M. Kohjima, T. Matsubayashi and H. Toda, "Variational Bayes for mixture models with censored data",
       ECML PKDD 2019, eqs. 3, 9 and 37-45.

    Examples
    --------
    >>> import numpy as np
    >>> import tobitgp as tg
    >>> rayleigh = tg.ExponentialFamily(
    ...     "rayleigh",
    ...     statistic=lambda y: y**2,
    ...     log_partition=lambda eta: -np.log(-2.0 * eta),
    ...     natural=[(-np.inf, 0.0)],
    ...     log_base=np.log,
    ...     support=(0.0, np.inf),
    ...     parameters={"scale": lambda eta: np.sqrt(-0.5 / eta)},
    ...     units={"scale": 1},
    ... )
    >>> speed = np.random.default_rng(1).rayleigh(3.0, 200)
    >>> res = tg.fit("speed ~ mixture(1) | censor(upper=5)", {"speed": np.minimum(speed, 5.0)}, family=rayleigh)
    >>> res.params.round(2).to_dict()
    {'weight[1]': 1.0, 'scale[1]': 3.02}
    """
    return NaturalFamily(
        name,
        statistic=statistic,
        log_partition=log_partition,
        natural=natural,
        log_base=log_base,
        support=support,
        discrete=discrete,
        parameters=parameters,
        units=units,
        prior=prior,
        collapsed=collapsed,
    )
