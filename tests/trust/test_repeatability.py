"""The same numbers from other processes, whatever the threads of BLAS, the jobs and the order of hashes."""

import importlib.util
import json

import numpy as np
import pytest
from support.processes import environment, printed_by

SCRIPT = """
import json, sys, tempfile, warnings
import numpy as np, pandas as pd, tobitgp as tg
warnings.simplefilter("ignore")
jobs = int(sys.argv[1])
rng = np.random.default_rng(7)
d = pd.DataFrame({"x": rng.uniform(0, 6, 200), "z": rng.normal(size=200), "g": rng.choice(list("abcd"), 200)})
d["y"] = np.maximum(np.sin(d["x"]) + 0.3 * d["z"] + 0.3 * rng.normal(size=200), -0.3)
d["t"] = np.exp(d["y"] + 0.4)
found = {}
gp = tg.fit("y ~ z + gp(x) + re(g) | censor(-0.3)", d, method=tg.EP(hyper="maximize"), rng=1)
found["process"] = [gp.log_evidence, *gp.predict(d.head(5))]
found["process drawn"] = gp.sample(d.head(3), draws=4, rng=2).to_numpy().ravel().tolist()
line = tg.fit("y ~ z + C(g) | censor(-0.3)", d)
found["regression"] = [line.llf, *line.params]
found["loo"] = [line.loo(draws=500, rng=3).elpd]
mixture = tg.fit("t ~ mixture(2)", d, family="lognormal", rng=4)
found["mixture"] = list(mixture.params)
folds = tg.cross_validate("y ~ z | censor(-0.3)", d, folds=3, rng=5, n_jobs=jobs)
found["folds"] = folds[["log_likelihood"]].to_numpy().ravel().tolist()
chosen = tg.select(["y ~ z | censor(-0.3)", "y ~ z + x | censor(-0.3)"], d, n_jobs=jobs)
found["select"] = chosen.table.select_dtypes("number").to_numpy().ravel().tolist()
import tobitgp.engines.partitions as spill, tobitgp.inference.search as search
search.SAMPLE_ROWS, formula = 60, "y ~ z + gp(x) + re(g) | censor(-0.3)"
def numbers(fit):
    return [fit.log_evidence, fit.elbo, *fit.params, *fit.bse, *fit.predict(d.head(5))]
with tempfile.TemporaryDirectory() as folder:
    for i in range(4):
        d[50 * i : 50 * (i + 1)].to_parquet(f"{folder}/{i}.parquet")
    for method in (tg.EP, tg.VI, tg.Laplace):
        found[f"files {method.name}"] = numbers(tg.fit(formula, folder, method=method(hyper="maximize")))
    found["files regression"] = numbers(tg.fit("y ~ z + C(g) | censor(-0.3)", folder, method="laplace"))
    spill.LIMIT = 0
    found["files on disk"] = numbers(tg.fit(formula, f"{folder}/*.parquet", method=tg.EP(hyper="maximize")))
assert found["files on disk"] == found["files ep"]
try:
    import dask, dask.dataframe as dd
except ImportError:
    pass
else:
    with dask.config.set(scheduler="threads", num_workers=jobs):
        parts = dd.from_pandas(d, npartitions=4, sort=False)
        found["partitions"] = numbers(tg.fit(formula, parts, method=tg.EP(hyper="maximize")))
print(json.dumps({name: [float(v) for v in values] for name, values in found.items()}))
"""


def run(threads, jobs, hashes):
    settings = {"OPENBLAS_NUM_THREADS": str(threads), "PYTHONHASHSEED": str(hashes)}
    return json.loads(printed_by("-c", SCRIPT, jobs, env=environment(**settings)).splitlines()[-1])


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is None, reason="no Parquet files without pyarrow")
def test_the_same_numbers_in_every_process():
    """Order of hashes and jobs change nothing at all; threads of BLAS sum in another order, no more than that."""
    expected = run(threads=1, jobs=1, hashes=0)
    assert run(threads=1, jobs=2, hashes=1) == expected
    other = run(threads=2, jobs=1, hashes=2)
    for name, values in expected.items():
        np.testing.assert_allclose(other[name], values, rtol=1e-6, atol=1e-8, err_msg=name)
