"""Maximum likelihood for censored and truncated rows, on arrays."""

from tobitgp.regression.location_scale_fit import maximise, maximise_partitions, null_log_likelihood
from tobitgp.regression.maximum import Maximum, covariance, unidentified

__all__ = ["Maximum", "covariance", "maximise", "maximise_partitions", "null_log_likelihood", "unidentified"]
