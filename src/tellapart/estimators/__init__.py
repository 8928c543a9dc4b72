"""Estimators: from simulations to information and posteriors, one method a file."""
