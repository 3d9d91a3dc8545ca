"""A script for lifelines' regression fitters. A test runs it with these imports and with those of this package."""

import matplotlib.pyplot as plt
from lifelines import CoxPHFitter, WeibullAFTFitter
from lifelines.datasets import load_rossi
from lifelines.utils import concordance_index, k_fold_cross_validation

rossi = load_rossi()
found = {}

aft = WeibullAFTFitter(alpha=0.1)
aft.fit(rossi, "week", "arrest", robust=True)
aft.print_summary(decimals=3, columns=["coef", "se(coef)", "p"])
found["lambda"] = aft.params_["lambda_"][["age", "prio"]]
found["interval"] = aft.confidence_intervals_.loc[("lambda_", "fin"), "90% lower-bound"]
found["rho"] = aft.summary.loc[("rho_", "Intercept"), "exp(coef)"]
found["AIC"] = aft.AIC_
found["median"] = aft.median_survival_time_
found["ratio"] = aft.log_likelihood_ratio_test().test_statistic
found["curve"] = aft.predict_survival_function(rossi.loc[:2], times=[10, 20, 52])
found["left"] = aft.predict_percentile(rossi.loc[:2], p=0.9, conditional_after=[5.0, 10.0, 15.0])
found["concordance"] = concordance_index(rossi["week"], aft.predict_median(rossi), rossi["arrest"])
found["concordance_index_"] = aft.concordance_index_
aft.plot(columns=["age", "prio"])
aft.plot_partial_effects_on_outcome("prio", values=[0, 5, 10], cmap="coolwarm")

aft.fit(rossi, "week", "arrest", formula="age + fin * prio", ancillary="age", timeline=range(0, 100, 5))
found["scale"] = aft.params_["rho_"]["age"]
found["hazard"] = aft.predict_hazard(rossi.loc[[3]]).iloc[1:]
found["folds"] = k_fold_cross_validation(WeibullAFTFitter(), rossi, "week", "arrest", k=3, seed=1)

cox = CoxPHFitter()
cox.fit(rossi, "week", event_col="arrest", formula="age + fin + prio", strata="race")
plt.figure()
cox.plot(hazard_ratios=True)
found["cox"] = cox.params_[["age", "prio"]]
found["partial"] = cox.predict_partial_hazard(rossi.loc[:2])
found["hazard ratios"] = cox.hazard_ratios_["fin"]
