"""A script for statsmodels. It also runs with ``from tobitgp import Model as ols``."""

import matplotlib.pyplot as plt
import pandas as pd
from statsmodels.datasets import ccard
from statsmodels.formula.api import ols
from statsmodels.graphics.gofplots import qqplot
from statsmodels.graphics.regressionplots import influence_plot, plot_fit
from statsmodels.iolib.summary2 import summary_col
from statsmodels.stats.diagnostic import het_breuschpagan
from statsmodels.stats.outliers_influence import variance_inflation_factor
from statsmodels.stats.stattools import durbin_watson, jarque_bera

cards = ccard.load_pandas().data
res = ols("AVGEXP ~ AGE + INCOME + OWNRENT", cards).fit()
small = ols("AVGEXP ~ INCOME", cards).fit()
robust = ols("AVGEXP ~ AGE + INCOME + OWNRENT", data=cards).fit(cov_type="HC0")
print(res.summary(yname="spending", title="Credit cards"))
print(summary_col([res, robust], model_names=["plain", "robust"], stars=True))

# Estimates and tests.
estimate, limits = res.params["INCOME"], res.conf_int(alpha=0.1).loc["INCOME"]
likelihood = res.llf
slope = res.t_test("INCOME = 100").effect
together = res.f_test("AGE = 0, OWNRENT = 0").fvalue
larger = res.compare_lr_test(small)[0]
sandwich = robust.bse["INCOME"]
error = res.bse["INCOME"]

# Predictions.
new = pd.DataFrame({"AGE": [30, 50], "INCOME": [3.0, 4.0], "OWNRENT": [0, 1]})
means = res.get_prediction(new).summary_frame(alpha=0.1)["mean"]

# Diagnostics.
heteroscedastic = het_breuschpagan(res.resid, res.model.exog)[0]
inflation = variance_inflation_factor(res.model.exog, 2)
serial, skewed = durbin_watson(res.resid), jarque_bera(res.resid)[0]
leverage = res.get_influence().hat_matrix_diag.max()
distance = res.get_influence().cooks_distance[0].max()

fig, axes = plt.subplots(1, 3, figsize=(15, 5))
plot_fit(res, "INCOME", ax=axes[0], vlines=False)
influence_plot(res, ax=axes[1])
qqplot(res.resid, line="s", ax=axes[2])
fig.tight_layout()
