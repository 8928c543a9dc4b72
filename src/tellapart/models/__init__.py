"""What any model is: parameters with priors and a simulator, perhaps a likelihood. Models of bandits are with the bandits."""
