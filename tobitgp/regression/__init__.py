"""Maximum likelihood for censored and truncated rows, on arrays."""

from tobitgp.regression.covariance import covariance
from tobitgp.regression.fit import maximise, null_log_likelihood
from tobitgp.regression.maximum import Maximum
from tobitgp.regression.outcome import Outcome, outcome

__all__ = ["Maximum", "Outcome", "covariance", "maximise", "null_log_likelihood", "outcome"]
