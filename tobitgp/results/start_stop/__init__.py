"""Fitted regressions of log time whose covariates change."""
