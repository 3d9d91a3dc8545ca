"""Tests of censored mixtures: the paper's experiments, coverage of intervals, and speed against scikit-learn."""
