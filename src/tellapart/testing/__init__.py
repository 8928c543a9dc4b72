"""Is this part fit to be used? For tests of your own, one function for each kind of part:

    from tellapart.testing import check_model, check_task

    def test_my_model():
        check_model(MyModel(), MyTask())

Each raises a `TellapartError` that says what is wrong. `tellapart check` runs these over the models and the task of a study, and
`check_likelihoods` over the models together.
"""

from ..models.symmetry import broken_symmetries
from .findings import Checked, Finding
from .likelihoods import check_likelihoods
from .models import check_model
from .parts import check_encoder, check_estimator, check_prior, check_search
from .tasks import check_task

__all__ = [
    "check_model",
    "check_likelihoods",
    "check_task",
    "check_prior",
    "check_encoder",
    "check_estimator",
    "check_search",
    "broken_symmetries",
    "Checked",
    "Finding",
]
