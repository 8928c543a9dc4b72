"""Adaptive experiments: the next block from what a participant did so far.

What has to be learned, once for a study
    codes.py            the answer of a block as one of a few codes
    answers.py          the law of answers, learned from simulations: p(code | m, theta, d)
    groups/memory.py    does a model carry memory from block to block, and can it be continued?
    learned.py          which of the ways below serves a study; what it needs, learned and kept in the run folder

A decision
    belief.py           what is known of a participant so far: weighted draws of model and parameters
    proposals.py        draws near a posterior whose density is known
    candidates.py       which blocks could come next, given those that were run
    gain.py, table.py   what a next block is expected to tell, by the law of answers
    by_answers.py       the way for blocks with few answers
    continuations.py    the way for all others: simulated continuations, read by the trained network
    looking.py          the search over candidates
    policy.py           the policy: decisions for one participant, or for many
    decisions.py        a decision, its record, its replay

Before anybody takes part
    playing.py          simulated participants who are given what a policy decides
    worth.py            what adapting is worth: the policy minus the best fixed design
    stopping.py         when to stop, the blocks that saves, and calibration under stopping
    stages.py           first which model, then the parameters of the winning one
"""
