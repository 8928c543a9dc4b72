"""Conclusions about groups of people: which models they follow, with which parameters, and how many people that takes."""
