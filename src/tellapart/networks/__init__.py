"""Networks: encoders that summarise behavior, and heads that turn summaries into bounds and posteriors."""
