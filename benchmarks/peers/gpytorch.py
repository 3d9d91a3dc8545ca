"""GPyTorch with a Tobit likelihood: natural gradients for q(u), Adam for everything else, as its examples do."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers.answer import Answer, Fit
from benchmarks.peers.arrays import Arrays, cosine
from benchmarks.problems import Draw


def svgp(m: int, batch: int, steps: int, natural: float = 0.1, rate: float = 0.02) -> Fit:
    """Stochastic variational inference with ``m`` inducing inputs; step lengths of q(u) and of the rest."""

    def fit(draw: Draw) -> Answer:
        import gpytorch
        import torch

        torch.manual_seed(0)
        a = Arrays.of(draw)
        X, y, status, T = (torch.tensor(part) for part in (a.X, a.y, a.status, a.T))
        model, likelihood = _process(torch.tensor(a.inducing(m))), _tobit()
        elbo = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(X))
        optimizers = [
            gpytorch.optim.NGD(model.variational_parameters(), num_data=len(X), lr=natural),
            torch.optim.Adam([*model.hyperparameters(), *likelihood.parameters()], lr=rate),
        ]
        for share in cosine(steps):
            rows = torch.randint(len(X), (batch,)) if batch < len(X) else slice(None)
            for optimizer, length in zip(optimizers, (natural, rate), strict=True):
                optimizer.param_groups[0]["lr"] = length * share
                optimizer.zero_grad()
            loss = -elbo(model(X[rows]), y[rows], status=status[rows])
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()
        model.eval()
        with torch.no_grad():
            f = model(T)
            return a.answer(f.mean.numpy(), f.variance.numpy())

    return fit


def _process(Z: Any) -> Any:
    import gpytorch

    class Process(gpytorch.models.ApproximateGP):  # type: ignore[misc]
        def __init__(self) -> None:
            q = gpytorch.variational.TrilNaturalVariationalDistribution(len(Z))
            super().__init__(gpytorch.variational.VariationalStrategy(self, Z, q, learn_inducing_locations=True))
            self.mean = gpytorch.means.ConstantMean()
            self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=Z.shape[1]))
            self.kernel.base_kernel.lengthscale = 0.3

        def forward(self, X: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean(X), self.kernel(X))

    return Process().double()


def _tobit() -> Any:
    import gpytorch
    import torch

    class Tobit(gpytorch.likelihoods._OneDimensionalLikelihood):  # type: ignore[misc]
        """``status`` is -1, 0 or 1 for left-censored, exact, right-censored rows."""

        def __init__(self) -> None:
            super().__init__()
            self.log_sigma = torch.nn.Parameter(torch.tensor(np.log(0.5)))

        def forward(self, f: Any, status: Any) -> Any:
            return torch.distributions.Normal(f, self.log_sigma.exp())

        def expected_log_prob(self, y: Any, q: Any, status: Any) -> Any:
            def log_prob(f: Any) -> Any:
                sigma = self.log_sigma.exp()
                exact = torch.distributions.Normal(f, sigma).log_prob(y)
                return torch.where(status == 0, exact, torch.special.log_ndtr(status * (f - y) / sigma))

            return self.quadrature(log_prob, q)

    return Tobit().double()
