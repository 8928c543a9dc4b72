"""Evidence: is what the estimator says of simulated participants, whose truth is known, right?

Computing is here, drawing is in `report`. Every result is a frozen dataclass of plain numbers, which JSON can hold.
"""
