"""What censored mixtures must show: the paper's experiments, coverage of intervals, and speed beside scikit-learn."""
