"""Information: estimates with their errors and kinds, and the exact reference."""
