"""Bandits: choose among arms, see what it pays. The task, its rules and history, the compiled core, and one file for each model."""
