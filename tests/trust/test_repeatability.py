"""The same numbers from other processes, whatever the threads of BLAS, the jobs and the order of hashes."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

SCRIPT = """
import json, sys, warnings
import numpy as np, pandas as pd, tobitgp as tg
warnings.simplefilter("ignore")
jobs = int(sys.argv[1])
rng = np.random.default_rng(7)
d = pd.DataFrame({"x": rng.uniform(0, 6, 200), "z": rng.normal(size=200), "g": rng.choice(list("abcd"), 200)})
d["y"] = np.maximum(np.sin(d["x"]) + 0.3 * d["z"] + 0.3 * rng.normal(size=200), -0.3)
d["t"] = np.exp(d["y"] + 0.4)
found = {}
gp = tg.fit("y ~ z + gp(x) + re(g) | censor(-0.3)", d, hyper="maximize", rng=1)
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
print(json.dumps({name: [float(v) for v in values] for name, values in found.items()}))
"""


def run(threads, jobs, hashes):
    settings = {"OPENBLAS_NUM_THREADS": str(threads), "PYTHONHASHSEED": str(hashes)}
    environment = {**os.environ, **settings, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", SCRIPT, str(jobs)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_the_same_numbers_in_every_process():
    """Order of hashes and jobs change nothing at all; threads of BLAS sum in another order, no more than that."""
    expected = run(threads=1, jobs=1, hashes=0)
    assert run(threads=1, jobs=2, hashes=1) == expected
    other = run(threads=2, jobs=1, hashes=2)
    for name, values in expected.items():
        np.testing.assert_allclose(other[name], values, rtol=1e-6, atol=1e-8, err_msg=name)
