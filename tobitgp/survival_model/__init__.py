"""A model with the interface of lifelines' regression fitters."""

from tobitgp.survival_model.regression_fitter import SurvivalModel as SurvivalModel
