"""Contracts of priors, encoders, estimators and searches: what each implementation must keep, checked on a case that is small or known.

Random checks are one-sided or bounded for every distribution, at a chance of less than 10^-5 to call a sound part unsound.
"""

from __future__ import annotations

import json
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from ..behavior import Behavior
from ..errors import TellapartError
from ..models.base import Floats
from ..models.hidden_number import HiddenNumber
from ..models.python import model
from ..priors import LogNormal, Normal, Prior
from ..question import Question
from ..tasks.base import Task
from ..tasks.readings import NoisyReadings
from ..tasks.sampling import any_behavior, sample, spread

if TYPE_CHECKING:
    from ..estimators.base import Estimator
    from ..networks.base import Encoder
    from ..search.base import Found, Search

UNLIKELY = 4.5
"""Standard errors that an average exceeds by chance less than once in 10^5 times."""


def _require(condition: bool | np.bool_, what: str, **more: Any) -> None:
    if not condition:
        raise TellapartError(what, **more)


def check_prior(prior: Prior, *, seed: int = 0) -> None:
    """Raise a `TellapartError` unless quantiles, probabilities, densities, draws and the normal scale of a prior agree with each other."""
    from scipy.special import ndtr

    name, u, n = type(prior).__name__, np.linspace(0.01, 0.99, 99), 20_000
    theta = prior.quantile(u)
    _require(bool((np.diff(theta) >= 0).all()), f"The quantiles of '{name}' do not increase.", fix="`quantile` is the inverse of `cdf`")
    if prior.discrete:
        levels = np.unique(theta)
        _require(np.array_equal(prior.quantile(prior.cdf(levels) - 1e-9), levels), f"'{name}' does not find its levels again.")
        steps = prior.cdf(levels) - prior.cdf(levels - 1e-6)
        _require(np.allclose(np.exp(prior.log_density(levels)), steps, atol=1e-6), f"`cdf` and `log_density` of '{name}' disagree.")
    else:
        _require(np.allclose(prior.cdf(theta), u, atol=1e-6), f"`cdf` and `quantile` of '{name}' are no inverses of each other.")
        step = 0.01 * np.gradient(theta)
        slope = (prior.cdf(theta + step) - prior.cdf(theta - step)) / (2 * step)
        _require(np.allclose(np.exp(prior.log_density(theta)), slope, rtol=0.02), f"`cdf` and `log_density` of '{name}' disagree.")
    drawn, same = (prior.sample(n, np.random.default_rng(seed)) for _ in range(2))
    _require(drawn.shape == (n,) and bool(np.isfinite(drawn).all()), f"The draws of '{name}' are not {n} finite numbers.", got=drawn.shape)
    _require(drawn.tobytes() == same.tobytes(), f"'{name}' draws different numbers for the same seed.", fix="draw from `rng` alone")
    # Dvoretzky, Kiefer, Wolfowitz, Massart: the largest distance is beyond this with a probability of at most 10^-6, for any distribution
    limit = float(np.sqrt(np.log(2e6) / (2 * n)))
    at = np.unique(np.concatenate([theta, prior.quantile(np.array([0.001, 0.999]))]))
    below = (drawn[:, None] <= at).mean(0)
    _require(np.abs(below - prior.cdf(at)).max() < limit, f"The draws of '{name}' do not follow its `cdf`.")
    z, grid = prior.to_normal(drawn, np.random.default_rng([seed, 1]).random(n)), np.linspace(-3, 3, 25)
    _require(np.abs((z[:, None] <= grid).mean(0) - ndtr(grid)).max() < limit, f"'{name}' is not standard normal on the normal scale.")
    _require(np.allclose(prior.from_normal(z), drawn, rtol=1e-6), f"'{name}' does not come back from the normal scale.")
    ends = prior.to_normal(prior.quantile(np.array([0.0, 1.0])))
    _require(bool(np.isfinite(ends).all()), f"The normal scale of '{name}' is not finite at the ends.", got=ends)


def check_encoder(encoder: type[Encoder], task: Task, *, seed: int = 0) -> None:
    """Raise a `TellapartError` unless an encoder gives each participant summaries of what was recorded, and of nothing else.

    Arguments:
        task: One that the encoder is for.
    """
    import torch

    name, n = encoder.name, 12
    try:
        network, twin = (_seeded(lambda: encoder(task).eval(), seed) for _ in range(2))  # type: ignore[call-arg]
    except TypeError as error:
        expected = f"{encoder.__name__}(task); what else it takes has a default"
        raise TellapartError(f"The encoder '{name}' cannot be made for a task.", expected=expected, got=error) from error
    weights = zip(network.state_dict().values(), twin.state_dict().values(), strict=True)
    _require(all(torch.equal(a, b) for a, b in weights), f"The weights of '{name}' do not begin at torch's seed.")
    rng = np.random.default_rng(seed)
    designs, whole = spread(task.design_space, n, rng), any_behavior(task, n, rng)
    mask = rng.random(whole.shape) < 0.7
    gaps = Behavior(whole.fields, mask)
    network.learn_scale(any_behavior(task, 200, rng))

    def summaries(behavior: Behavior, at: Floats = designs) -> Any:
        with torch.no_grad():
            return network(network.prepare(behavior, at))

    def alike(one: Any, other: Any) -> bool:
        return bool(torch.allclose(one, other, rtol=1e-3, atol=1e-5))

    inputs, out = network.prepare(gaps, designs), summaries(gaps)
    right = inputs.shape[:3] == whole.shape and inputs.dtype == torch.float32
    _require(right, f"'{name}' must prepare float32 numbers (N, B, T, F).", got=f"{inputs.dtype} {tuple(inputs.shape)}")
    _require(np.array_equal(inputs[..., -1].numpy() == 1, mask), f"The last feature that '{name}' prepares must be the mask.")
    _require(tuple(out.shape) == (n, network.summaries), f"'{name}' must give summaries (N, {network.summaries}).", got=tuple(out.shape))
    _require(bool(torch.isfinite(out).all()), f"The summaries of '{name}' are not finite.")
    _require(not alike(out[:-1], out[1:]), f"'{name}' gives different participants the same summaries.")
    _require(alike(summaries(gaps[3:5], designs[3:5]), out[3:5]), f"The participants of '{name}' depend on each other.")
    elsewhere = any_behavior(task, n, rng).fields
    other = Behavior({field: np.where(mask, values, elsewhere[field]) for field, values in whole.fields.items()}, mask)
    _require(alike(summaries(other), out), f"What '{name}' says depends on values at trials that were missed.", fix="use the mask")
    moved = task.design_space.repair(designs[::-1].copy())
    same = alike(summaries(gaps, moved), out)
    _require(same == task.design_acts_through_data, f"'{name}' {'ignores' if same else 'uses'} the design, and the task says otherwise.")
    if network.any_length:
        blocks, trials = max(1, task.blocks // 2), max(1, task.trials // 2)
        shown = np.zeros(whole.shape, bool)
        shown[:, :blocks, :trials] = True
        short, missed = summaries(whole.first(blocks=blocks, trials=trials)), summaries(Behavior(whole.fields, shown))
        fix = "leave out everything where the last feature is 0, or say `any_length = False`"
        _require(alike(short, missed), f"'{name}' takes an unfinished experiment for another than a shorter one.", fix=fix)


def _seeded(make: Any, seed: int) -> Any:
    """What is made when torch's generator begins at a seed; the generator is left as it was."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()


def _silence_likelihood(parameters: Any, behavior: Behavior, designs: Floats, task: Task) -> Floats:
    spread = parameters["spread"][:, None, None]
    terms = 0.5 * (behavior.fields["reading"] / spread) ** 2 + np.log(spread * np.sqrt(2 * np.pi))
    return np.asarray(-(terms * behavior.mask).sum((1, 2)))


@model(
    name="silence",
    parameters={"spread": LogNormal(0.0, 0.3), "unused": Normal()},
    vectorised=True,
    log_likelihood=_silence_likelihood,
    resets=True,
)
def silence(parameters: Any, designs: Floats, rng: np.random.Generator, task: Task) -> dict[str, Any]:
    """Readings in which no number is hidden, with a spread of their own, and a parameter without effect."""
    return {"reading": parameters["spread"][:, None, None] * rng.standard_normal((len(designs), task.blocks, task.trials))}


def check_estimator(estimator: type[Estimator], *, steps: int = 150, seed: int = 0) -> None:
    """Raise a `TellapartError` unless an estimator keeps its contract, on noisy readings, where the exact information is known.

    Arguments:
        steps: Of training, which must raise the bound, and must not raise it above the truth.
    """
    number, models = HiddenNumber(), (HiddenNumber(), silence())
    some = Question(models, "both", (0.3, 0.7), ("hidden-number.theta", "silence.spread"))
    for question in (Question((number,), "estimate"), Question(models, "discriminate", (0.7, 0.3)), some):
        _check_estimator(estimator, NoisyReadings(1, 2), question, steps, seed)


def _check_estimator(kind: type[Estimator], task: Task, question: Question, steps: int, seed: int) -> None:
    import torch

    from ..information.exact import exact_pointwise
    from ..networks.sequence import SequenceEncoder
    from ..training import Stream, Trainer, TrainingSettings, load_weights, save_weights
    from ..workers import one_thread

    name, n, design = f"'{kind.name}' (goal '{question.goal}')", 600, np.array([[2.0]])

    def make(begin: int) -> Estimator:
        return _seeded(lambda: kind.for_every_design(question, SequenceEncoder(task, 16, 16, 4, 1, 1, 8)), begin).eval()  # type: ignore[no-any-return]

    with one_thread():
        estimator, rng = make(seed), np.random.default_rng([seed, 1])
        batch = estimator.simulate(design, n, rng)
        generator = torch.Generator().manual_seed(seed)
        bound = estimator.bound(batch, generator)
        finite = tuple(bound.shape) == (n,) and bool(torch.isfinite(bound).all())
        _require(finite, f"The bound of {name} is not {n} finite numbers.", got=tuple(bound.shape))
        before = estimator.pointwise(batch, seed).estimate()
        trainer = Trainer(estimator, TrainingSettings(learning_rate=kind.learning_rate, clip=2.0, pieces=2), steps, seed)
        source = Stream(estimator, lambda count, r: sample(task.design_space, count, r), 128, (seed, 2))
        trainer.run(source)
        trainer.settle(source)
        after = estimator.pointwise(batch, seed).estimate()
        truth = exact_pointwise(task, question, design, n, np.random.default_rng([seed, 1])).estimate()
        for when, estimate in (("untrained", before), ("trained", after)):
            below = estimate.nats - truth.nats < UNLIKELY * float(np.hypot(estimate.se, truth.se))
            _require(below, f"The bound of {name}, {when}, is above the exact information.", expected=f"at most {truth}", got=estimate)
        higher = after.nats > before.nats + 0.02
        _require(higher, f"Training does not raise the bound of {name}.", expected=f"more than {before}", got=after)
        few = batch[:100]
        again = estimator.pointwise(few, seed).values
        _require(np.array_equal(again, estimator.pointwise(few, seed).values), f"{name} gives different numbers for the same seed.")
        _check_posterior(estimator, name, few.inputs[:9], question, seed)
        with TemporaryDirectory() as folder:
            file, copy = Path(folder) / "weights.safetensors", make(seed + 1)
            save_weights(file, estimator)
            load_weights(file, copy)
            _require(np.array_equal(copy.pointwise(few, seed).values, again), f"The weights of {name} do not survive `save_weights`.")


def _check_posterior(estimator: Estimator, name: str, inputs: Any, question: Question, seed: int) -> None:
    """Draws of the parameters asked about, and probabilities of models."""
    import torch

    with torch.no_grad():
        if question.about_models:
            shares, shape = estimator.log_model_probabilities(inputs).exp(), (len(inputs), len(question.models))
            right = tuple(shares.shape) == shape and np.allclose(shares.sum(-1), 1.0, atol=1e-4)
            _require(right, f"The model probabilities of {name} do not sum to 1.", expected=str(shape), got=tuple(shares.shape))
        for m in range(len(question.models)):
            if not question.parameters(m):
                continue
            z, same = (estimator.sample_theta(inputs, m, 5, np.random.default_rng(seed)) for _ in range(2))
            expected = (5, len(inputs), len(question.parameters(m)))
            _require(tuple(z.shape) == expected, f"The draws of {name} have the wrong shape.", expected=str(expected), got=tuple(z.shape))
            _require(bool(torch.isfinite(z).all()), f"The draws of {name} are not finite.")
            _require(torch.equal(z, same), f"The draws of {name} are not the same for the same seed.")
            many = estimator.draws(inputs, m, 5, np.random.default_rng(seed))
            _require(np.array_equal(many, z.movedim(0, 1).cpu().numpy()), f"The `draws` of {name} are not those of `sample_theta`.")


def check_search(search: Search, task: Task, question: Question, *, seed: int = 1) -> None:
    """Raise a `TellapartError` unless a search finds a design of the task, goes on where it was stopped, and can be read back.

    Arguments:
        search: With settings so small that it takes seconds.
    """
    import torch

    from ..journal import Journal
    from ..search.base import Found, Job

    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # Windows keeps a journal that is still open
        journals, heard = [Path(folder) / name for name in ("whole", "stopped")], _Stop(10**9)
        whole = _found(search, Job(task, question, seed, Journal(journals[0]), heard))
        for share in (0.1, 0.4, 0.7):
            with suppress(_Stopped):
                _found(search, Job(task, question, seed, Journal(journals[1]), _Stop(max(1, int(share * heard.calls)))))
        stopped = _found(search, Job(task, question, seed, Journal(journals[1])))
        one, other = (json.dumps(found.to_json(), sort_keys=True) for found in (whole, stopped))
        fix = "keep what is computed in the journal, and let nothing else decide the next step"
        _require(one == other, f"The search '{search.name}' ends with something else after it was stopped.", fix=fix)
        task.design_space.check(whole.design)
        _require(bool(np.isfinite(whole.information.nats) and whole.information.se >= 0), f"'{search.name}' gives no finite information.")
        copy = search.build(task, question)
        copy.load_state_dict(whole.estimator.state_dict())
        back = Found.from_json(json.loads(one), copy)
        _require(json.dumps(back.to_json(), sort_keys=True) == one, f"What '{search.name}' found does not come back from JSON.")
        weights = zip(whole.estimator.state_dict().values(), stopped.estimator.state_dict().values(), strict=True)
        _require(all(torch.equal(a, b) for a, b in weights), f"The search '{search.name}' ends with another network after it was stopped.")
        job, designs = Job(task, question, seed, Journal(journals[0])), [whole.design, task.baseline(1, np.random.default_rng(seed))[0]]
        estimates, same = (search.evaluate(job, designs, copy.eval()) for _ in range(2))
        _require(len(estimates) == 2 and estimates == same, f"'{search.name}' evaluates the same designs differently for the same seed.")


class _Stopped(Exception):
    """The search was stopped on purpose."""


class _Stop:
    """Someone who counts what is told of progress, and stops the search after so many calls."""

    def __init__(self, most: int) -> None:
        self.most, self.calls = most, 0

    def __call__(self, done: int, total: int, stage: str = "", detail: str = "") -> None:
        self.calls += 1
        if self.calls >= self.most:
            raise _Stopped


def _found(search: Search, job: Any) -> Found:
    with closing(job.journal):
        return search.find(job)
