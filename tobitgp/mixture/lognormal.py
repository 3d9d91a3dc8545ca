"""Log-normal components: Gaussian ones of the logarithm, with all sums, priors and posteriors on that scale."""

from tobitgp.mixture.gaussian import Gaussian

LOGNORMAL = Gaussian(name="lognormal", support="positive", logarithm=True)
