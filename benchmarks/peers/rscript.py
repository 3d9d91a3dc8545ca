"""mgcv and survreg, in a process of R that times and weighs itself."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.peers.answer import Answer, Fit
from benchmarks.problems import Draw

SCRIPT = Path(__file__).with_name("fit.R")
NOT_INSTALLED = 3


def mgcv(right: str, call: str = 'gam(method = "REML")') -> Fit:
    """A smooth model of the right side given, by ``gam`` or ``bam`` with the options of ``call``."""
    return _fit("mgcv", f"{call[:-1]}, formula = Y ~ {right}, family = cnorm(), data = train)")


def survreg(right: str) -> Fit:
    """A linear model of the right side given, which may hold natural splines."""
    return _fit("survival", f'survreg(S ~ {right}, dist = "gaussian", data = train)')


def _fit(package: str, call: str) -> Fit:
    def fit(draw: Draw) -> Answer:
        if shutil.which("Rscript") is None:
            raise ModuleNotFoundError("Rscript", name="Rscript")
        with tempfile.TemporaryDirectory() as folder:
            columns = [*draw.inputs, "y", "status"]
            train = draw.train[[*draw.inputs, "y"]].assign(status=draw.status)
            train.to_numpy(float).T.tofile(Path(folder, "train"))
            draw.test[draw.inputs].to_numpy(float).T.tofile(Path(folder, "test"))
            command = ["Rscript", "--vanilla", str(SCRIPT), folder, package, call, *columns]
            ended = subprocess.run(command, capture_output=True, text=True)
            if ended.returncode == NOT_INSTALLED:
                raise ModuleNotFoundError(package, name=f"R package {package}")
            if ended.returncode:
                raise RuntimeError(ended.stderr.strip())
            seconds, cpu, peak_mb, *f = np.fromfile(Path(folder, "answer"))
        mean, sd = np.reshape(f, (2, 1, -1))
        return Answer(mean, sd, np.ones(1), seconds, cpu, peak_mb)

    return fit
