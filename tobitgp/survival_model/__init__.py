"""A model with the interface of lifelines' regression fitters."""

from tobitgp.survival_model.model import SurvivalModel as SurvivalModel
