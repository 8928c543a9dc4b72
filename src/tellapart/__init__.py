"""Which experiment tells our theories of the mind apart, and how sure will we be afterwards?

    import tellapart as ta

Everything that a notebook, a study's own file or a package of parts needs is a name of this module. A name is loaded when it is
first used, so that the import is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bandits.aeg import AEG as AEG
    from .bandits.bernoulli import BernoulliBandit as BernoulliBandit
    from .bandits.budget import BudgetBandit as BudgetBandit
    from .bandits.game import BanditGame as BanditGame
    from .bandits.gaussian import GaussianBandit as GaussianBandit
    from .bandits.gls import GLS as GLS
    from .bandits.restless import RestlessBandit as RestlessBandit
    from .bandits.reversal import ReversalBandit as ReversalBandit
    from .bandits.wslts import WSLTS as WSLTS
    from .behavior import Behavior as Behavior
    from .behavior import Field as Field
    from .data.settings import TableSettings as TableSettings
    from .data.understand import understand as understand
    from .errors import DataError as DataError
    from .errors import DesignError as DesignError
    from .errors import ModelError as ModelError
    from .errors import RunError as RunError
    from .errors import StudyError as StudyError
    from .errors import TellapartError as TellapartError
    from .estimators.base import Batch as Batch
    from .estimators.base import Estimator as Estimator
    from .estimators.fresh import pointwise_at as pointwise_at
    from .estimators.fresh import pointwise_at_each as pointwise_at_each
    from .estimators.infonce import InfoNCEEstimator as InfoNCEEstimator
    from .estimators.nwj import NWJEstimator as NWJEstimator
    from .estimators.posterior import PosteriorEstimator as PosteriorEstimator
    from .groups.analysis import Analysis as Analysis
    from .groups.analysis import AnalysisSettings as AnalysisSettings
    from .groups.random_effects import random_effects as random_effects
    from .information.estimate import Difference as Difference
    from .information.estimate import InformationEstimate as InformationEstimate
    from .information.estimate import Pointwise as Pointwise
    from .information.exact import exact_information as exact_information
    from .journal import Journal as Journal
    from .models.agents import Agent as Agent
    from .models.agents import agent as agent
    from .models.base import LikelihoodModel as LikelihoodModel
    from .models.base import Model as Model
    from .models.choices import drawn_largest as drawn_largest
    from .models.choices import largest as largest
    from .models.choices import softmax as softmax
    from .models.python import ParticipantModel as ParticipantModel
    from .models.python import model as model
    from .models.simulation import Simulations as Simulations
    from .models.simulation import simulate_models as simulate_models
    from .models.streams import below as below
    from .models.streams import standard_normal as standard_normal
    from .models.streams import uniform as uniform
    from .models.with_priors import with_priors as with_priors
    from .networks.base import Encoder as Encoder
    from .networks.history import HistoryEncoder as HistoryEncoder
    from .networks.sequence import SequenceEncoder as SequenceEncoder
    from .paper.bayesopt import BayesianOptimization as BayesianOptimization
    from .posterior import Posterior as Posterior
    from .priors import Beta as Beta
    from .priors import Categorical as Categorical
    from .priors import Gamma as Gamma
    from .priors import HalfNormal as HalfNormal
    from .priors import Integers as Integers
    from .priors import LogNormal as LogNormal
    from .priors import Normal as Normal
    from .priors import Prior as Prior
    from .priors import Uniform as Uniform
    from .question import Question as Question
    from .report.analysis import write_analysis as write_analysis
    from .result import DesignResult as DesignResult
    from .run import Run as Run
    from .run import find_design as find_design
    from .search.amortized import Amortized as Amortized
    from .search.base import Alternative as Alternative
    from .search.base import Baseline as Baseline
    from .search.base import Found as Found
    from .search.base import Job as Job
    from .search.base import Search as Search
    from .search.base import part as part
    from .study import Study as Study
    from .tasks.base import Task as Task
    from .tasks.constraints import fixed_total as fixed_total
    from .tasks.constraints import increasing as increasing
    from .tasks.environment import Environment as Environment
    from .tasks.screen import Screen as Screen
    from .tasks.space import Constraint as Constraint
    from .tasks.space import DesignSpace as DesignSpace
    from .tasks.space import Symmetry as Symmetry
    from .tasks.space import Variable as Variable
    from .tasks.text import format_design as format_design
    from .tasks.text import parse_design as parse_design
    from .training import Stream as Stream
    from .training import Trainer as Trainer
    from .training import TrainingSettings as TrainingSettings
    from .workers import Workers as Workers
    from .workers import dask_workers as dask_workers

__version__ = "0.2.0"

_HOMES = {
    "study": "Study",
    "run": "find_design Run",
    "result": "DesignResult",
    "question": "Question",
    "posterior": "Posterior",
    "bandits.bernoulli": "BernoulliBandit",
    "bandits.gaussian": "GaussianBandit",
    "bandits.reversal": "ReversalBandit",
    "bandits.restless": "RestlessBandit",
    "bandits.budget": "BudgetBandit",
    "bandits.game": "BanditGame",
    "bandits.wslts": "WSLTS",
    "bandits.aeg": "AEG",
    "bandits.gls": "GLS",
    "search.amortized": "Amortized",
    "search.base": "Search Job Found Baseline Alternative part",
    "paper.bayesopt": "BayesianOptimization",
    "information.exact": "exact_information",
    "information.estimate": "InformationEstimate Difference Pointwise",
    "models.simulation": "simulate_models Simulations",
    "models.base": "Model LikelihoodModel",
    "models.agents": "agent Agent",
    "models.choices": "softmax largest drawn_largest",
    "models.streams": "uniform standard_normal below",
    "models.with_priors": "with_priors",
    "models.python": "ParticipantModel model",
    "tasks.base": "Task",
    "tasks.environment": "Environment",
    "tasks.screen": "Screen",
    "tasks.space": "DesignSpace Variable Symmetry Constraint",
    "tasks.constraints": "increasing fixed_total",
    "behavior": "Behavior Field",
    "priors": "Prior Uniform Normal LogNormal Beta Gamma HalfNormal Categorical Integers",
    "estimators.base": "Estimator Batch",
    "estimators.posterior": "PosteriorEstimator",
    "estimators.nwj": "NWJEstimator",
    "estimators.infonce": "InfoNCEEstimator",
    "networks.base": "Encoder",
    "networks.history": "HistoryEncoder",
    "networks.sequence": "SequenceEncoder",
    "tasks.text": "parse_design format_design",
    "estimators.fresh": "pointwise_at pointwise_at_each",
    "training": "Trainer TrainingSettings Stream",
    "data.understand": "understand",
    "data.settings": "TableSettings",
    "groups.analysis": "Analysis AnalysisSettings",
    "report.analysis": "write_analysis",
    "groups.random_effects": "random_effects",
    "journal": "Journal",
    "workers": "Workers dask_workers",
    "errors": "TellapartError DesignError StudyError DataError ModelError RunError",
}
"""Modules and the public names in them, in the order in which a reader meets them."""

_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
