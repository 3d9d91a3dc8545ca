"""The layout of a neutral comparison of survival models, on data sets of SurvSet and lifelines."""
