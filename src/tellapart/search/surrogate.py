"""A Gaussian process over designs: what is known of information after some evaluations, and where to look next.

Matérn-5/2 with one length scale for each design variable and learned noise; expected improvement over the highest posterior
mean, for a batch of designs at once. Designs that are equivalent by the task's symmetries are one design to it: what it is
asked about is always brought to the canonical form first.

The process is a function of the evaluations it was told and of nothing else, so that a resumed search is the same search.

References:
    Balandat et al. (2020), BoTorch: a framework for efficient Monte-Carlo Bayesian optimization.
    Ament et al. (2023), Unexpected improvements to expected improvement for Bayesian optimization.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterator, Sequence

import numpy as np

from ..tasks.scaling import from_unit, to_unit
from ..tasks.space import DesignSpace, Floats
from ..workers import one_thread

if TYPE_CHECKING:
    from torch import Tensor


class Surrogate:
    """The process after evaluations.

    Arguments:
        space: Where designs live.
        designs: What was evaluated, (n, B, V).
        nats: What came out, (n,).
        se: The standard errors of that, (n,); if not given, one noise for all is learned.
    """

    def __init__(self, space: DesignSpace, designs: Floats, nats: Sequence[float], se: Sequence[float] | None = None) -> None:
        import torch

        self.space = space
        noise = None if se is None else torch.tensor(se, dtype=torch.float64)[:, None].square().clamp_min(1e-10)
        self._x = self._points(designs)
        with one_thread(), _quiet():
            self._model = _fit(self._x, torch.tensor(nats, dtype=torch.float64)[:, None], noise)

    def mean(self, designs: Floats | None = None) -> Floats:
        """The posterior mean of the information of designs (n, B, V), by default of those evaluated; (n,)."""
        import torch

        x = self._x if designs is None else self._points(designs)
        with one_thread(), torch.no_grad(), _quiet():
            return np.array(self._model.posterior(x).mean.squeeze(-1).numpy(), np.float64)

    def thompson(self, candidates: Floats, batch: int, seed: int) -> Floats:
        """`batch` of the candidates (n, B, V), each the best in a joint draw of its own of what all may be worth; (batch, B, V)."""
        import torch
        from botorch.generation import MaxPosteriorSampling

        with one_thread(), torch.no_grad(), torch.random.fork_rng(devices=[]), _quiet():
            torch.manual_seed(seed)
            chosen = MaxPosteriorSampling(self._model, replacement=False)(self._points(candidates), num_samples=batch)
        return self._from_unit(chosen.numpy())

    def propose(self, batch: int, seed: int) -> Floats:
        """`batch` designs, canonical, with the largest expected improvement together; (batch, B, V)."""
        import torch
        from botorch.acquisition.logei import qLogExpectedImprovement
        from botorch.optim import optimize_acqf
        from botorch.sampling.normal import SobolQMCNormalSampler

        best, bounds = float(self.mean().max()), torch.stack([torch.zeros_like(self._x[0]), torch.ones_like(self._x[0])])
        with one_thread(), torch.random.fork_rng(devices=[]), _quiet():
            torch.manual_seed(seed)
            sampler = SobolQMCNormalSampler(torch.Size([128]), seed=seed)
            improvement = qLogExpectedImprovement(self._model, best, sampler)
            options: Any = {"seed": seed, "maxiter": 50}
            found, _ = optimize_acqf(self._among_canonical(improvement), bounds, batch, num_restarts=4, raw_samples=256, options=options)
        return self.space.canonical(self._from_unit(found.numpy()))

    def _among_canonical(self, acquisition: Any) -> Any:
        """The acquisition function of designs by way of their canonical forms."""
        from botorch.acquisition import AcquisitionFunction

        space = self.space

        class Canonical(AcquisitionFunction):  # type: ignore[misc]
            def forward(self, x: Tensor) -> Tensor:
                designs = x.reshape(*x.shape[:-1], *space.shape)
                return acquisition(canonical(designs, space).flatten(-2))  # type: ignore[no-any-return]

        return Canonical(acquisition.model)

    def _points(self, designs: Floats) -> Tensor:
        """The canonical forms of designs (n, B, V) as points of the unit cube, (n, B V)."""
        import torch

        return torch.from_numpy(np.ascontiguousarray(to_unit(self.space, self.space.canonical(designs)).reshape(len(designs), -1)))

    def _from_unit(self, points: Floats) -> Floats:
        return from_unit(self.space, points.reshape(len(points), *self.space.shape))


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings that say what is known here."""
    from botorch.exceptions.warnings import InputDataWarning, OptimizationWarning
    from linear_operator.utils.warnings import NumericalWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalWarning)  # designs nearly alike: the matrix gets a little added to its diagonal
        warnings.simplefilter("ignore", OptimizationWarning)  # a start of several that led nowhere; the others count
        warnings.simplefilter("ignore", InputDataWarning)  # values are standardised by the outcome transform
        yield


def canonical(designs: Tensor, space: DesignSpace) -> Tensor:
    """`DesignSpace.canonical` for tensors (..., B, V), through which gradients pass."""
    import torch

    if space.symmetry.columns:
        designs = designs.sort(dim=-1).values
    if space.symmetry.blocks:
        flat = designs.detach().reshape(-1, *designs.shape[-2:]).numpy()
        order = torch.from_numpy(np.stack([np.lexsort(design.T[::-1]) for design in flat])).reshape(designs.shape[:-1])
        designs = designs.gather(-2, order[..., None].expand_as(designs))
    return designs


def initial_designs(space: DesignSpace, n: int, seed: int) -> Floats:
    """`n` designs that cover the space evenly (a scrambled Sobol sequence), canonical, (n, B, V)."""
    from scipy.stats import qmc

    blocks, variables = space.shape
    points = qmc.Sobol(blocks * variables, rng=np.random.default_rng(seed)).random_base2(max(1, (n - 1).bit_length()))[:n]
    return space.canonical(from_unit(space, points.reshape(n, blocks, variables)))


def _fit(x: Tensor, y: Tensor, noise: Tensor | None) -> Any:
    """The process with the hyperparameters that explain the evaluations best."""
    import torch
    from botorch.exceptions.errors import ModelFittingError
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Standardize
    from botorch.models.utils.gpytorch_modules import get_matern_kernel_with_gamma_prior
    from gpytorch.mlls import ExactMarginalLogLikelihood

    kernel = get_matern_kernel_with_gamma_prior(x.shape[-1])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = SingleTaskGP(x, y, noise, covar_module=kernel, outcome_transform=Standardize(1))
        try:
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        except ModelFittingError:  # too few or all equal evaluations: the priors' own hyperparameters will do
            model.eval()
    return model
