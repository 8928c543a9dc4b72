"""Random-effects model selection: the published vector, Dirichlet draws, enumeration, invariances, and intervals that hold."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import beta, binom

from tellapart import DataError, StudyError
from tellapart.groups.comparison import compare_frequencies, same_model
from tellapart.groups.contrasts import Comparison
from tellapart.groups.mixture import largest
from tellapart.groups.random_effects import random_effects
from tellapart.groups.sampled import sampled_frequencies
from tellapart.groups.urn import exact_frequencies
from tellapart.report.analysis import _comparison

VECTOR = np.array([[-100, -120, -100, -120], [-120, -100, -120, -100], [-110, -110, -110, -110]], float).T
PRIORS = ("1/K each", "one each")


def dirichlet_draws(log_evidence, alpha, seed, n=400_000):
    """Frequencies, exceedance probabilities and omnibus risk by drawing r from the prior and weighting by p(y | r).

    400,000 draws at least, and as many more as this reference needs for standard errors below 0.001: where the data say much, few draws
    carry the weight, and 400,000 of them can be off by 0.006 by themselves.
    """
    rng, evidence = np.random.default_rng(seed), np.exp(log_evidence - log_evidence.max(1, keepdims=True))
    equal, parts = np.log(evidence.mean(1)).sum(), []
    while True:
        r = rng.dirichlet(alpha, n)
        w = np.exp(np.log(np.maximum(r @ evidence.T, 1e-300)).sum(1) - equal)
        each = np.concatenate([r, r.argmax(1)[:, None] == np.arange(len(alpha))], axis=1)
        parts.append((w.sum(), w @ each, (w**2).sum(), w**2 @ each, w**2 @ each**2))
        total, sums, squares, first, second = (sum(column) for column in zip(*parts, strict=True))
        mean = sums / total
        se = np.sqrt(second - 2 * mean * first + mean**2 * squares) / total
        if se.max() < 0.001:
            return mean[: len(alpha)], mean[len(alpha) :], 1 / (1 + total / (n * len(parts)))


def test_the_published_vector():
    ours = random_effects(VECTOR, "abc", prior="1/K each")
    assert ours.frequencies == pytest.approx([0.4667, 0.4667, 0.0667], abs=1e-4)
    assert ours.exceedance == pytest.approx([0.4899, 0.4899, 0.0203], abs=1e-4)
    assert ours.protected == pytest.approx([0.3959, 0.3959, 0.2081], abs=1e-4)
    assert random_effects(VECTOR, "abc", prior="one each").frequencies == pytest.approx([0.4286, 0.4286, 0.1429], abs=1e-4)


AGAIN = {6, 8, 10, 13, 15, 17, 18, 19}
"""Problems with as many people and models, and the same prior counts, as another of the 20."""


@pytest.mark.parametrize("problem", [pytest.param(n, marks=pytest.mark.slow) if n in AGAIN else n for n in range(20)])
def test_against_400_000_dirichlet_draws_or_more(problem):
    rng = np.random.default_rng(problem)
    people, models = int(rng.choice([6, 12, 20])), int(rng.choice([2, 3, 4]))
    log_evidence = rng.normal(0, 1.5, (people, models)) + rng.normal(0, 0.7, models)
    prior = PRIORS[problem % 2]
    ours = random_effects(log_evidence, "abcd"[:models], prior=prior)
    frequencies, exceedance, risk = dirichlet_draws(log_evidence, ours.posterior.alpha, problem)
    assert ours.frequencies == pytest.approx(frequencies, abs=0.005)
    assert ours.exceedance == pytest.approx(exceedance, abs=0.005)
    assert ours.omnibus_risk == pytest.approx(risk, abs=0.005)


def test_the_urn_is_a_sum_over_all_assignments():
    rng = np.random.default_rng(3)
    evidence, alpha = rng.random((6, 3)), np.array([0.2, 1.0, 0.7])
    weights: dict[tuple[int, ...], float] = {}
    for models in product(range(3), repeat=6):
        counts = np.bincount(models, minlength=3)
        prior = gammaln(alpha + counts).sum() - gammaln(alpha).sum() + gammaln(alpha.sum()) - gammaln(alpha.sum() + 6)
        weights[tuple(counts)] = weights.get(tuple(counts), 0.0) + np.exp(prior) * np.prod(evidence[np.arange(6), models])
    ours = exact_frequencies(evidence, 0.0, alpha)
    assert ours.log_evidence == pytest.approx(np.log(sum(weights.values())), abs=1e-12)
    total = sum(weights.values())
    for counts, weight in zip(ours.counts, ours.weights, strict=True):
        assert weight == pytest.approx(weights[tuple(counts)] / total, rel=1e-5)


def test_two_models_exceed_as_the_beta_distribution_says():
    counts, alpha = np.array([[0, 7], [3, 4], [7, 0]]), np.array([0.5, 0.5])
    assert largest(alpha, counts)[:, 0] == pytest.approx(beta.sf(0.5, alpha[0] + counts[:, 0], alpha[1] + counts[:, 1]), abs=1e-9)


def test_order_constants_and_names_do_not_matter():
    rng = np.random.default_rng(5)
    log_evidence = rng.normal(0, 2, (200, 3))
    one = random_effects(log_evidence, "abc")
    order, models = rng.permutation(200), [2, 0, 1]
    other = random_effects(log_evidence[order][:, models] + rng.normal(0, 500, (200, 1)), "cab")
    assert other.frequencies == pytest.approx(one.frequencies[models], abs=1e-6)
    assert other.exceedance == pytest.approx(one.exceedance[models], abs=1e-5)
    assert other.omnibus_risk == pytest.approx(one.omnibus_risk, abs=1e-6)


def test_people_sorted_by_model_do_not_matter():
    """The counts at the rim that are dropped on the way must not be needed later."""
    log_evidence = np.zeros((300, 3))
    log_evidence[:150, 0], log_evidence[150:, 1] = 5.0, 5.0
    shuffled = np.random.default_rng(0).permutation(log_evidence)
    assert random_effects(log_evidence, "abc").frequencies == pytest.approx(random_effects(shuffled, "abc").frequencies, abs=1e-6)


def test_sampling_agrees_with_the_exact_way():
    rng = np.random.default_rng(2)
    evidence, alpha = np.exp(rng.normal([1.0, 0.5, 0.0, -2.0], 1.5, (60, 4))), np.full(4, 0.25)
    exact, sampled = exact_frequencies(evidence, 0.0, alpha), sampled_frequencies(evidence, 0.0, alpha, 0.004, seed=1)
    assert sampled.error() <= 0.004
    assert sampled.means() == pytest.approx(exact.means(), abs=0.006)
    assert sampled.exceedance() == pytest.approx(exact.exceedance(), abs=0.008)
    assert sampled.log_evidence == pytest.approx(exact.log_evidence, abs=5 * sampled.log_evidence_se + 1e-3)
    assert sampled.quantile(0, 0.05) == pytest.approx(exact.quantile(0, 0.05), abs=0.01)


@pytest.mark.parametrize("prior", PRIORS)
def test_intervals_hold_the_truth_as_often_as_they_say(prior):
    """300 groups of 15 people; a right program fails once in 10,000 times."""
    rng, groups, held = np.random.default_rng(11), 300, 0
    alpha = np.full(3, 1 / 3 if prior == "1/K each" else 1.0)
    for _ in range(groups):
        r = rng.dirichlet(alpha)
        model = rng.choice(3, 15, p=r)
        y = rng.normal(1.5 * np.eye(3)[model])
        log_evidence = -0.5 * ((y[:, None, :] - 1.5 * np.eye(3)) ** 2).sum(-1)
        ours = random_effects(log_evidence, "abc", prior=prior)
        k = rng.integers(3)
        held += bool(ours.low[k] <= r[k] <= ours.high[k])
    low, high = binom.ppf([5e-5, 1 - 5e-5], groups, 0.9)
    assert low <= held <= high


def test_exceedance_probabilities_mean_what_they_say():
    """Where a model is called the most frequent with probability p, it is so in a share p of groups; checked on average."""
    rng, groups = np.random.default_rng(12), 300
    gaps = []
    for _ in range(groups):
        r = rng.dirichlet(np.ones(3))
        y = rng.normal(1.5 * np.eye(3)[rng.choice(3, 12, p=r)])
        ours = random_effects(-0.5 * ((y[:, None, :] - 1.5 * np.eye(3)) ** 2).sum(-1), "abc", prior="one each")
        best = int(ours.exceedance.argmax())
        gaps.append(float(r.argmax() == best) - ours.exceedance[best])
    assert abs(np.mean(gaps)) < 3.9 * np.std(gaps) / np.sqrt(groups)


def test_families_share_their_prior_and_their_people():
    families = {"first": ["a", "b"], "second": ["c"]}
    ours = random_effects(VECTOR, "abc", families=families)
    assert ours.names == ("first", "second")
    assert ours.posterior.alpha == pytest.approx([0.5, 0.5])
    assert ours.frequencies == pytest.approx([0.9, 0.1], abs=1e-3)
    with pytest.raises(StudyError, match="each model once"):
        random_effects(VECTOR, "abc", families={"first": ["a"], "second": ["c"]})
    with pytest.raises(StudyError, match="nothing to be compared with"):
        random_effects(VECTOR, "abc", families={"all": ["a", "b", "c"]})


def test_people_without_evidence_are_listed():
    log_evidence = VECTOR.copy()
    log_evidence[1, 2] = np.nan
    log_evidence[3] = -np.inf
    ours = random_effects(log_evidence, ["wslts", "aeg", "gls"], participants=["007", "008", "009", "010"])
    assert [(one.participant, one.reason) for one in ours.left_out] == [
        ("008", "no evidence for gls"),
        ("010", "no model can produce these data"),
    ]
    assert ours.people == 2
    assert ours.to_json()["left_out"][0] == {"participant": "008", "reason": "no evidence for gls"}


def test_wrong_input_is_named():
    with pytest.raises(DataError, match="wrong shape"):
        random_effects(np.zeros((3, 2)), "abc")
    with pytest.raises(DataError, match="nobody"):
        random_effects(np.full((3, 2), np.nan), "ab")
    with pytest.raises(StudyError, match="prior counts"):
        random_effects(np.zeros((3, 2)), "ab", prior="flat")


def test_groups_that_differ_and_groups_that_do_not():
    rng = np.random.default_rng(1)

    def people(r, n):
        y = rng.normal(2.5 * np.eye(3)[rng.choice(3, n, p=r)])
        return -0.5 * ((y[:, None, :] - 2.5 * np.eye(3)) ** 2).sum(-1)

    apart = compare_frequencies({"old": people([0.8, 0.1, 0.1], 60), "young": people([0.1, 0.8, 0.1], 60)}, "abc")
    alike = compare_frequencies({"old": people([0.4, 0.3, 0.3], 60), "young": people([0.4, 0.3, 0.3], 60)}, "abc")
    assert apart.probability > 0.999
    assert alike.probability < 0.5
    row = apart.rows()[0]
    assert row["model"] == "a"
    assert row["low"] > 0
    assert row["probability_larger"] > 0.999


def test_the_same_people_under_two_conditions():
    first = np.random.default_rng(4).choice(2, 40)
    evidences = {name: 8.0 * np.eye(2)[first] for name in ("calm", "stress")}
    assert same_model(evidences, "ab").frequencies[0] > 0.9
    evidences["stress"] = 8.0 * np.eye(2)[1 - first]
    assert same_model(evidences, "ab").frequencies[0] < 0.1


@pytest.mark.parametrize(("each", "said"), [(0.3, ""), (12.0, "the model, for")])
def test_that_people_change_their_model_is_said_if_it_is_probable(each, said):
    """Twelve people who lean to another model under the other condition: a little, which says nothing, or clearly."""
    lean = np.tile([each, 0.0], (12, 1))
    same = same_model({"low": lean, "high": lean[:, ::-1]}, ["a", "b"])
    assert same.frequencies[1] > 0.5
    assert Comparison("load", True, same=same).differs().startswith(said)
    assert bool(Comparison("load", True, same=same).differs()) == bool(said)


def test_two_people_and_many_models_fit_into_memory():
    """All counts of 26 models would take terabytes; there are 26² ways in which two people can follow them."""
    rng, names = np.random.default_rng(3), [f"model {k}" for k in range(26)]
    log_evidence, alpha = 2.0 * rng.standard_normal((2, 26)), 1 / 26
    found = random_effects(log_evidence, names, accuracy=0.01)
    ways = np.exp(log_evidence[0][:, None] + log_evidence[1]) * alpha * (alpha + np.eye(26)) / 2
    mean = (alpha + (ways.sum(0) + ways.sum(1)) / ways.sum()) / 3
    assert 0 < found.error <= 0.01
    assert np.abs(found.frequencies - mean).max() < 2.5 * found.error


def test_that_a_comparison_was_sampled_is_said():
    """A probability of 0.5 whose log Bayes factor is known within 0.4 is known within 0.1; an exact one is told as it is."""
    exact = replace(compare_frequencies({"one": VECTOR, "other": VECTOR}, "abc"), probability=0.5, error=0.0)
    told = [_comparison(0, Comparison("group", False, one))[1][0] for one in (exact, replace(exact, error=0.4))]
    assert "is 0.500 (one half" in told[0]
    assert "is 0.500 ± 0.100, by two Monte-Carlo standard errors (one half" in told[1]
