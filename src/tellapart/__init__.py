"""Which experiment tells our theories of the mind apart, and how sure will we be afterwards?

    import tellapart as ta

Everything a notebook needs is a name of this module. A name is loaded when it is first used, so that the import is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .behavior import Behavior, Field
    from .errors import DataError, DesignError, ModelError, RunError, StudyError, TellapartError
    from .information.estimate import InformationEstimate
    from .information.exact import exact_information
    from .models.aeg import AEG
    from .models.base import Model
    from .models.game import BanditGame
    from .models.gls import GLS
    from .models.python import ParticipantModel, model
    from .models.simulation import Simulations, simulate_models
    from .models.wslts import WSLTS
    from .posterior import Posterior
    from .priors import Beta, Categorical, Gamma, HalfNormal, Integers, LogNormal, Normal, Prior, Uniform
    from .run import DesignResult, Run, find_design
    from .study import Study
    from .tasks.bandit import BernoulliBandit
    from .tasks.base import Constraint, DesignSpace, Symmetry, Task, Variable
    from .tasks.constraints import fixed_total, increasing

__version__ = "0.1.0"

__all__ = [
    "Study",
    "find_design",
    "DesignResult",
    "Posterior",
    "Run",
    "BernoulliBandit",
    "WSLTS",
    "AEG",
    "GLS",
    "simulate_models",
    "Simulations",
    "exact_information",
    "InformationEstimate",
    "Behavior",
    "Field",
    "Task",
    "DesignSpace",
    "Symmetry",
    "Variable",
    "Constraint",
    "increasing",
    "fixed_total",
    "Model",
    "ParticipantModel",
    "model",
    "BanditGame",
    "Prior",
    "Uniform",
    "Normal",
    "LogNormal",
    "Beta",
    "Gamma",
    "HalfNormal",
    "Categorical",
    "Integers",
    "TellapartError",
    "DesignError",
    "StudyError",
    "DataError",
    "ModelError",
    "RunError",
]

_HOMES = {
    "behavior": ("Behavior", "Field"),
    "errors": ("DataError", "DesignError", "ModelError", "RunError", "StudyError", "TellapartError"),
    "information.estimate": ("InformationEstimate",),
    "information.exact": ("exact_information",),
    "models.aeg": ("AEG",),
    "models.base": ("Model",),
    "models.game": ("BanditGame",),
    "models.gls": ("GLS",),
    "models.python": ("ParticipantModel", "model"),
    "models.simulation": ("Simulations", "simulate_models"),
    "models.wslts": ("WSLTS",),
    "priors": ("Beta", "Categorical", "Gamma", "HalfNormal", "Integers", "LogNormal", "Normal", "Prior", "Uniform"),
    "posterior": ("Posterior",),
    "run": ("DesignResult", "Run", "find_design"),
    "study": ("Study",),
    "tasks.bandit": ("BernoulliBandit",),
    "tasks.constraints": ("fixed_total", "increasing"),
    "tasks.base": ("Constraint", "DesignSpace", "Symmetry", "Task", "Variable"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(f"{__name__}.{home}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
