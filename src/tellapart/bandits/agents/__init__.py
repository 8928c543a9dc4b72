"""Models of bandits by name, one short file for each: where it is from, its priors, and what it is for. They are written as users write."""
