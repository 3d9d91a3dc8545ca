"""The fits, and the problems of each."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.axes import AXES
from benchmarks.peers import gpboost, gpflow, gpytorch, mixtures, regressions, sklearn, tobit
from benchmarks.peers.answer import Fit
from benchmarks.peers.rscript import mgcv, survreg


@dataclass(frozen=True)
class Peer:
    """A fit and its problems, for example "P1 P2"."""

    name: str
    problems: str
    fit: Fit


_DISCRETE = "bam(discrete = TRUE)"
_INTERACTION = "te(x1, x3) + s(x2) + s(x4)"
_LINEAR = "x1 + x2 + x3 + x4 + x5"

_FEW, _MANY = "rows-30 rows-100", " ".join(AXES["rows"].names.split()[2:])
_TERMS, _GROUPS, _INPUTS = (AXES[name].names for name in ("terms", "groups", "inputs"))
_COLUMNS, _COMPONENTS = AXES["columns"].names, AXES["components"].names

# A problem is left out where a peer cannot state it or would take minutes; dense ones hold n^2 numbers.
# Others are compared with the first tobitgp fit of a problem.
PEERS = (
    Peer("tobitgp (ep)", "P1 P2 P3 P4 P5 A1 R1 R2 R3 R4 R5 R6 F1 C1", tobit.process()),
    Peer("tobitgp (ep)", f"{AXES['rows'].names} {_TERMS} {_GROUPS} {_INPUTS}", tobit.process()),
    Peer("tobitgp (ep, pure Python)", "P1 P2 P3 P4 A1", tobit.process(pure=True)),
    Peer("tobitgp (ep), with the interaction", "P3", tobit.process(told="gp(x1, x3) + gp(x2) + gp(x4)")),
    Peer("tobitgp (ep, maximum)", "P1 P2 P3 A1 R4 R5", tobit.process(maximise=True)),
    Peer("tobitgp (laplace)", "P1 P2 P3 P4", tobit.process(method="laplace")),
    Peer("tobitgp (vi)", "P1 P2 P3", tobit.process(method="vi")),
    Peer("tobitgp (ep, Vecchia)", "R6", tobit.process("vecchia")),
    Peer("tobitgp (ep, low rank)", "R4 R5 R6", tobit.process("low_rank")),
    Peer("tobitgp (mixture)", _COMPONENTS, mixtures.tobitgp),
    Peer("tobitgp (mle)", f"P6 {_COLUMNS}", tobit.maximum_likelihood),
    Peer("mgcv gam, gp k=25", "P1 P2", mgcv('s(x, bs = "gp", k = 25)')),
    Peer("mgcv gam, gp k=15", "P1", mgcv('s(x, bs = "gp", k = 15)')),
    Peer("mgcv gam, tp k=15", "P1", mgcv('s(x, bs = "tp", k = 15)')),
    Peer("mgcv gam, tp k=25", "P2", mgcv('s(x, bs = "tp", k = 25)')),
    Peer("mgcv bam, tp k=25", "P2", mgcv('s(x, bs = "tp", k = 25)', _DISCRETE)),
    Peer("mgcv gam, s(x1, x2, x3, x4)", "P3", mgcv("s(x1, x2, x3, x4, k = 100)")),
    Peer("mgcv gam, additive", "P3", mgcv("s(x1) + s(x2) + s(x3) + s(x4)")),
    Peer("mgcv gam, with the interaction", "P3", mgcv(_INTERACTION)),
    Peer("mgcv bam, with the interaction", "P3", mgcv(_INTERACTION, _DISCRETE)),
    Peer("mgcv bam, s(x1, x2) k=100", f"P4 P5 R6 {_MANY}", mgcv("s(x1, x2, k = 100)", _DISCRETE)),
    Peer("mgcv gam, s(x1, x2) k=15", _FEW, mgcv("s(x1, x2, k = 15)")),
    Peer("mgcv bam, te(x1, x2) k=10", "P4 P5", mgcv("te(x1, x2, k = 10)", _DISCRETE)),
    Peer("mgcv bam, cr k=800", "R1 R2 R3", mgcv('s(x, bs = "cr", k = 800)', _DISCRETE)),
    Peer("mgcv bam, gp k=500", "R1 R2 R3", mgcv('s(x, bs = "gp", m = 3, k = 500)', _DISCRETE)),
    Peer("mgcv bam, gp k=500", "R4", mgcv('s(x1, x2, bs = "gp", m = 2, k = 500)', _DISCRETE)),
    Peer("mgcv bam, gp k=1000", "R5", mgcv('s(x1, x2, bs = "gp", m = 2, k = 1000)', _DISCRETE)),
    Peer("mgcv gam, tp k=500", "R4 R5", mgcv("s(x1, x2, k = 500)")),
    Peer("mgcv gam", "P6", mgcv(_LINEAR)),
    Peer("mgcv bam", "A1", mgcv('z + s(x1) + s(x2) + s(g, bs = "re")', _DISCRETE)),
    Peer("survreg, splines, with the interaction", "P3", survreg("ns(x1, 5) * x3 + ns(x2, 3) + x4")),
    Peer("survreg, product of splines", "P4", survreg("ns(x1, 7) * ns(x2, 7)")),
    Peer("survreg", "P6", survreg(_LINEAR)),
    Peer("GPBoost, Cholesky", "R1 R2 R3", gpboost.vecchia("matern", 1.5, inversion="cholesky")),
    Peer("GPBoost", "R4 R5", gpboost.vecchia("exponential")),
    Peer("GPBoost, Cholesky", "R4 R5", gpboost.vecchia("exponential", inversion="cholesky")),
    Peer("GPBoost", f"R6 {_FEW} {_MANY}", gpboost.vecchia("gaussian")),
    Peer("GPBoost", _GROUPS, gpboost.groups),
    Peer("GPBoost, Cholesky", "R6", gpboost.vecchia("gaussian", inversion="cholesky")),
    Peer("GPflow VGP", "P1", gpflow.vgp(steps=100)),
    Peer("GPflow VGP", "P2", gpflow.vgp(steps=60)),
    Peer("GPflow SVGP, M=150", "P3", gpflow.svgp(m=150, batch=500, steps=800, rate=0.03)),
    Peer("GPflow SVGP, M=64", "P4", gpflow.svgp(m=64, batch=1000, steps=1000)),
    Peer("GPflow SVGP, M=64", "P5", gpflow.svgp(m=64, batch=1000, steps=2000)),
    Peer("GPyTorch SVGP, M=30", "P1", gpytorch.svgp(m=30, batch=30, steps=400, natural=0.5, rate=0.05)),
    Peer("GPyTorch SVGP, M=50", "P2", gpytorch.svgp(m=50, batch=1000, steps=400)),
    Peer("GPyTorch SVGP, M=150", "P3", gpytorch.svgp(m=150, batch=500, steps=800, rate=0.03)),
    Peer("GPyTorch SVGP, M=64", "P4", gpytorch.svgp(m=64, batch=1000, steps=1000)),
    Peer("GPyTorch SVGP, M=64", "P5", gpytorch.svgp(m=64, batch=1000, steps=2000)),
    Peer("scikit-learn, censored rows dropped", f"P1 P2 P3 {_INPUTS}", sklearn.censored_rows_dropped),
    Peer("scikit-learn, censored rows dropped", _COMPONENTS, mixtures.censored_rows_dropped),
    Peer("lifelines LogNormalAFTFitter", f"P6 {_COLUMNS}", regressions.lifelines),
    Peer("statsmodels GenericLikelihoodModel", f"P6 {_COLUMNS}", regressions.statsmodels),
    Peer("statsmodels GLMGam, censored rows dropped", _TERMS, regressions.additive),
    Peer("statsmodels MixedLM, censored rows dropped", _GROUPS, regressions.groups),
)
