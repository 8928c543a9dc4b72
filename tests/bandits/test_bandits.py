"""The other bandits: their rules against plain NumPy, compiled and not; their baselines; the models that play them."""

import numpy as np
import pytest
from scipy import stats

import tellapart as ta
from tellapart.models.evidence import log_evidence
from tellapart.models.kernel import numbers_of
from tellapart.models.streams import started
from tellapart.parts import find_part
from tellapart.priors import sample_priors
from tellapart.tasks.sampling import spread
from tellapart.testing import check_task

FALSE_ALARM = 1e-4
TASKS = {
    "gaussian-bandit": ta.GaussianBandit(3, 2, 10, noise=0.5),
    "reversal-bandit": ta.ReversalBandit(3, 2, 10),
    "restless-bandit": ta.RestlessBandit(3, 2, 10),
    "budget-bandit": ta.BudgetBandit(3, 2, 15, total=20),
}
each_task = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)


@each_task
def test_is_found_by_its_name_and_sound(task):
    assert find_part("task", task.name) is type(task)
    assert check_task(task).findings == ()


def compiled_rewards(task, designs, choices, seed):
    """What the compiled rules pay for choices (N, B, T), block after block; (N, B, T)."""
    rewards = np.zeros(choices.shape)
    luck = started(np.random.default_rng(seed).integers(0, 2**53, len(designs)))
    outcome, numbers = np.zeros(1), numbers_of(task)
    for i, b in np.ndindex(choices.shape[:2]):
        memory = np.zeros(designs.shape[2])
        for t in range(task.lengths(designs)[i, b]):
            task.rules.compiled(designs[i, b], t, int(choices[i, b, t]), numbers, memory, luck[i, 1:], outcome)
            rewards[i, b, t] = outcome[0]
    return rewards


def environment_rewards(task, designs, choices, seed):
    environment = task.environment(designs, np.random.default_rng(seed))
    while not environment.done:
        environment.step({"choice": choices[:, environment.block, environment.trial]})
    return environment.behavior.fields["reward"].astype(float)


@each_task
def test_compiled_rules_are_those_of_the_environment(task):
    """Means, variances and products of neighbouring trials, at the same design and choices; z-tests, false alarm 1e-4 over all."""
    n, rng = 2500, np.random.default_rng(1)
    design = spread(task.design_space, 3, np.random.default_rng(2))[1]
    designs = np.broadcast_to(design, (n, *design.shape))
    choices = np.broadcast_to(rng.integers(0, 3, (task.blocks, task.trials)), (n, task.blocks, task.trials))
    one, other = compiled_rewards(task, designs, choices, 3), environment_rewards(task, designs, choices, 4)
    for statistic in (lambda r: r, lambda r: (r - 0.5) ** 2, lambda r: r[..., 1:] * r[..., :-1]):
        a, b = statistic(one), statistic(other)
        spread_of = np.sqrt((a.var(0) + b.var(0)) / n)
        differs = spread_of > 0
        z = (a.mean(0) - b.mean(0))[differs] / spread_of[differs]
        assert not z.size or np.abs(z).max() < stats.norm.isf(FALSE_ALARM / 12 / 2 / z.size)
        np.testing.assert_allclose(a.mean(0)[~differs], b.mean(0)[~differs])


def test_gaussian_arms_pay_around_their_means():
    task, n = TASKS["gaussian-bandit"], 4000
    designs = np.broadcast_to([[0.1, 0.5, 0.9], [0.0, 0.3, 1.0]], (n, 2, 3))
    rewards = environment_rewards(task, designs, np.full((n, 2, 10), 2), 5)
    for block, mean in ((0, 0.9), (1, 1.0)):
        assert stats.kstest((rewards[:, block].reshape(-1) - mean) / 0.5, "norm").pvalue > FALSE_ALARM / 2


def test_reversed_arms_change_places_at_the_trial_of_the_design():
    task, n = TASKS["reversal-bandit"], 50
    designs = np.broadcast_to([[1.0, 0.5, 0.0, 4], [0.0, 1.0, 1.0, 10]], (n, 2, 4))
    rewards = environment_rewards(task, designs, np.zeros((n, 2, 10), int), 6)
    np.testing.assert_array_equal(rewards[:, 0], np.broadcast_to(np.arange(10) < 4, (n, 10)))
    assert not rewards[:, 1].any()


def test_arms_that_do_not_wander_stay_at_a_half():
    """Binomial test, false alarm 1e-4; and those that do wander repeat themselves."""
    task, n = ta.RestlessBandit(2, 1, 40), 1000
    designs = np.broadcast_to([[0.0, 0.3]], (n, 1, 2))
    still, moving = (environment_rewards(task, designs, np.full((n, 1, 40), arm), 7)[:, 0] for arm in (0, 1))
    assert stats.binomtest(int(still.sum()), still.size).pvalue > FALSE_ALARM
    again = [np.corrcoef(rewards[:, 20], rewards[:, 21])[0, 1] for rewards in (still, moving)]
    assert abs(again[0]) < 4 / np.sqrt(n)
    assert again[1] > 0.15


def test_a_budget_is_kept():
    task = ta.BudgetBandit(2, 3, 28, total=30, shortest=2)
    designs = spread(task.design_space, 200, np.random.default_rng(1))
    lengths = task.lengths(designs)
    assert (lengths.sum(1) == 30).all()
    assert lengths.min() >= 2
    assert (task.lengths(task.baseline(5, np.random.default_rng(1))) == 10).all()
    with pytest.raises(ta.StudyError, match="cannot be shared out"):
        ta.BudgetBandit(2, 2, 10, total=60)


@pytest.mark.parametrize("settings", [{"noise": 0.0}, {"noise": -1.0}, {"arms": 1}])
def test_impossible_settings(settings):
    with pytest.raises(ta.StudyError, match=next(iter(settings))):
        ta.GaussianBandit(**settings)


@pytest.mark.parametrize("task", [TASKS["reversal-bandit"], TASKS["restless-bandit"], TASKS["budget-bandit"]], ids=lambda task: task.name)
@pytest.mark.parametrize("model", ["wslts", "aeg", "gls"])
def test_the_models_of_the_paper_play_bandits_with_wins_and_losses(model, task):
    """Their likelihood is that of the Bernoulli bandit, whatever draws the rewards."""
    kind, n, rng = find_part("model", model)(), 40, np.random.default_rng(1)
    theta, designs = sample_priors(kind.parameters, n, rng), spread(task.design_space, n, rng)
    behavior = kind.simulate(theta, designs, rng, task)
    np.testing.assert_array_equal(behavior.mask.sum(-1), task.lengths(designs))
    plain = ta.BernoulliBandit(3, 2, task.trials)
    np.testing.assert_array_equal(*(kind.log_likelihood(theta, behavior, designs, place) for place in (task, plain)))
    assert np.isfinite(log_evidence(kind, behavior, designs, task)).all()


def test_they_do_not_play_for_numbers():
    with pytest.raises(ta.ModelError, match="wins and losses only"):
        ta.AEG().simulate({"epsilon": [0.5], "phi": [0.5]}, np.full((1, 2, 3), 0.5), np.random.default_rng(1), TASKS["gaussian-bandit"])


def test_ten_arms():
    task, rng = ta.BernoulliBandit(10, 1, 20), np.random.default_rng(1)
    for name in ("wslts", "q-learning", "kalman-thompson"):
        model = find_part("model", name)()
        theta, designs = sample_priors(model.parameters, 60, rng), task.baseline(60, rng)
        behavior = model.simulate(theta, designs, rng, task)
        assert set(np.unique(behavior.fields["choice"])) == set(range(10))
        assert np.isfinite(model.log_likelihood(theta, behavior, designs, task)).all()
    assert task.history(behavior).shape == (60, 1, 20, 163)


def test_kalman_filters_are_those_of_the_textbook():
    """Beliefs after normal rewards are the posterior of a normal mean: precision-weighted."""
    model = find_part("model", "kalman-softmax")(first_mean=0.2, first_sd=0.7, noise=0.3)
    person = model.live({"beta": 1.0}, ta.GaussianBandit(2, 1, 10, noise=0.3))
    person.begin([0.5, 0.5])
    rewards = [0.4, 0.9, -0.1]
    for reward in rewards:
        person.learn({"choice": 1}, {"reward": reward})
    mean, variance = person.save()["state"]
    precision = 1 / 0.7**2 + 3 / 0.3**2
    assert mean == pytest.approx([0.2, (0.2 / 0.7**2 + sum(rewards) / 0.3**2) / precision])
    assert variance == pytest.approx([0.49, 1 / precision])


def test_two_arms_are_the_probit_of_gershman():
    mean, variance = np.array([0.3, 0.6]), np.array([0.04, 0.09])
    task = ta.GaussianBandit(2, 1, 5)

    def share(name, parameters):
        person = find_part("model", name)().live(parameters, task)
        person.begin([0.5, 0.5])
        person._state = mean.copy(), variance.copy()
        return person.probabilities()[0]

    v, ru, tu = mean[0] - mean[1], np.sqrt(variance[0]) - np.sqrt(variance[1]), np.sqrt(variance.sum())
    assert share("kalman-thompson", {"scale": 1.0}) == pytest.approx(stats.norm.cdf(v / tu))
    weights = {"value": 0.7, "relative": -0.4, "total": 1.3}
    assert share("kalman-hybrid", weights) == pytest.approx(stats.norm.cdf(0.7 * v - 0.4 * ru + 1.3 * v / tu))
