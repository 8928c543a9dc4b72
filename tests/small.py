"""Small networks, for hidden numbers of which little is to be learned."""

import tellapart as ta


class Narrow(ta.SequenceEncoder):
    """Wide enough for a few readings."""

    def __init__(self, task):
        super().__init__(task, 64, 64, 4, 1, 1, 8)


class OneSpline(ta.PosteriorEstimator):
    """Flexible enough for posteriors that are nearly normal."""

    def __init__(self, question, encoder):
        super().__init__(question, encoder, (64,), 1)
