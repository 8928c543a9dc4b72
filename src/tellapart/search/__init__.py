"""Ways to find a design, one in each file. The published one has a folder of its own, `paper`."""
