"""People one by one and together, on a small run: evidences, predictive checks, and groups that invite false statements."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

import tellapart as ta
from tellapart.data.understand import Understanding
from tellapart.folder import RunFolder
from tellapart.groups.analysis import analyse
from tellapart.groups.contrasts import by_conditions, by_groups
from tellapart.groups.evidence import PeopleEvidence, likelihood_evidence
from tellapart.groups.parameters import GroupParameters
from tellapart.groups.predictive import Predictor
from tellapart.groups.words import conclusion, described, methods, rounded, warnings_of
from tellapart.models.evidence import log_evidence
from tellapart.parts import find_part
from tellapart.priors import sample_priors
from tellapart.report.analysis import people_columns
from tellapart.result import ASSUMED

QUICK = ta.AnalysisSettings(amortized=True)


class Plain(ta.LikelihoodModel):
    """A model with a likelihood, but without an integral of its own; and, on demand, one that holds some data to be impossible."""

    def __init__(self, model, impossible=()):
        self.inner, self.name, self.impossible = model, model.name, np.array(impossible, int)

    @property
    def parameters(self):
        return self.inner.parameters

    def simulate(self, parameters, designs, rng, task):
        return self.inner.simulate(parameters, designs, rng, task)

    def log_likelihood(self, parameters, behavior, designs, task):
        values = self.inner.log_likelihood(parameters, behavior, designs, task)
        return np.where(np.isin(behavior.participants, self.impossible), -np.inf, values)


@pytest.fixture
def plain(result, monkeypatch):
    """The run's estimator, asking about models without integrals; some people are impossible under the given models."""

    def make(*impossible):
        question = result.study.question
        models = tuple(Plain(model, one) for model, one in zip(question.models, impossible or ((), ()), strict=True))
        estimator, asked = result.found.estimator, ta.Question(models, question.goal, question.prior, question.about)
        for one in {estimator, estimator.quick}:
            monkeypatch.setattr(one, "question", asked)
        return estimator

    return make


def simulate(result, n, seed=0, models=None):
    study = result.study
    return ta.simulate_models(study.task, models or study.models, result.design, n, np.random.default_rng(seed)).behavior


def at(result, n):
    return np.broadcast_to(result.design, (n, *result.design.shape))


def test_evidences_by_proposals_agree_with_integrals(result, plain):
    """Within five of the stated standard errors, for 6 people and 2 models; a right program fails once in 20,000 times."""
    people = simulate(result, 6)
    exact = np.stack([log_evidence(model, people, result.design, result.study.task) for model in result.study.models], axis=1)
    ours = likelihood_evidence(plain(), people, at(result, 6), draws=1500)
    assert (np.abs(ours.log_evidence - exact) < 5 * ours.se + 0.01).all()
    assert ours.draws["aeg"].shape == (6, 1500, 1)
    assert f"{ours.se.max():.3f} at most" in ours.words


def test_where_parameters_come_from_and_errors_that_cannot_be_told(result, plain, monkeypatch):
    """A study about models has no posterior of parameters. Of three draws one carries the weight of somebody: the stated error is none."""
    estimator = plain()
    assert "proposed by the network and the prior" in likelihood_evidence(estimator, simulate(result, 2), at(result, 2), draws=300).words
    alone = SimpleNamespace(question=ta.Question(estimator.question.models, "discriminate"), task=estimator.task)
    alone.quick = alone
    many = likelihood_evidence(alone, simulate(result, 2), at(result, 2), draws=3000)
    assert "drawn from the prior" in many.words
    assert "network" not in many.words
    assert many.se.max() < 0.3
    assert "several times as large" not in many.words
    monkeypatch.setattr("tellapart.groups.importance.ENOUGH", np.inf)
    few = likelihood_evidence(alone, simulate(result, 40), at(result, 40), draws=3)
    assert few.se.max() > 0.3
    assert "several times as large" in few.words


def test_people_whom_no_model_can_produce_are_left_out(result, plain, monkeypatch):
    monkeypatch.setattr("tellapart.groups.evidence.draws_for", lambda people: 100)
    plain((3, 5), (3,))
    found = result.analyse(simulate(result, 12))
    assert [(one.participant, one.reason) for one in found.left_out] == [(3, "no model can produce these data")]
    assert len(found.participants) == 11
    assert found.probabilities[found.participants == 5].tolist() == [[0.0, 1.0]]
    assert np.isfinite(found.evidence.se).all()
    plain(range(12), range(12))
    with pytest.raises(ta.DataError, match="nobody to analyse"):
        result.analyse(simulate(result, 12))


def alike(result, n, seed):
    """A group in which everybody follows one model with the same parameters."""
    study, rng = result.study, np.random.default_rng(seed)
    model = study.models[seed % len(study.models)]
    parameters = {name: np.repeat(values, n) for name, values in sample_priors(model.parameters, 1, rng).items()}
    return model.simulate(parameters, at(result, n), rng, study.task)


def test_predictive_checks_find_a_stranger_and_rarely_a_friend(result):
    """Of groups of the study's own models, unlike or all alike, 1 in 100 raises an alarm; of people who choose by a bias nearly all do.

    The limits are exceeded once in 10,000 times if 2 in 100 do. A p-value is a rank among the groups that are drawn, which are treated
    as the group is: with fewer of them alarms are as rare.
    """
    groups, where = 12, at(result, 20)
    predictor = Predictor(result.found.estimator, where, np.ones((20, 2, 10), bool), n=1200)
    for people in (simulate, alike):
        friends = [predictor.predict(people(result, 20, seed), where, seed) for seed in range(groups)]
        assert sum(one.alarm for one in friends) <= binom.ppf(1 - 1e-4, groups, 0.02)
        assert np.mean([one.group.p for one in friends]) > 0.2  # 0.5 for p-values that keep their word; 3.6 standard errors below
        assert people is alike or np.mean(np.concatenate([one.person_p for one in friends]) <= 0.1) < 0.2
    biased = find_part("model", "biased-random")()
    strangers = [predictor.predict(simulate(result, 20, seed, [biased]), where, seed) for seed in range(5)]
    assert sum(one.alarm for one in strangers) >= 4


def test_those_who_judge_are_drawn_by_other_numbers_than_those_who_are_judged_by(result, monkeypatch):
    """Nor by those of `np.random.default_rng(seed)`, with which the people at hand may have been simulated."""
    streams, default = [], np.random.default_rng

    def noted(seed):
        streams.append(str(seed))
        return default(seed)

    people, where = simulate(result, 6), at(result, 6)
    monkeypatch.setattr("tellapart.groups.predictive.np.random.default_rng", noted)
    Predictor(result.found.estimator, where, np.ones((6, 2, 10), bool), n=60, seed=5).predict(people, where, 5)
    assert len(streams) == len({*streams, "5"}) - 1 == 2


def test_one_person(result):
    found = result.analyse(simulate(result, 1), settings=QUICK)
    assert conclusion(found).startswith("1 person does not say which model")
    assert "(90 % interval " in conclusion(found)
    assert described(found).startswith("Nothing speaks against the models as a description of the group")
    assert found.effects.people == 1
    assert (found.effects.high - found.effects.low > 0.5).all()


def test_a_person_without_trials_and_one_with_three(result):
    people = simulate(result, 8)
    mask = people.mask.copy()
    mask[2], mask[4, 1:], mask[4, 0, 3:] = False, False, False
    mask[5, :, ::2], mask[5, 0] = False, False
    found = result.analyse(ta.Behavior(people.fields, mask, people.participants), settings=QUICK)
    assert [one.participant for one in found.left_out] == [2]
    assert found.trials[found.participants == 4].tolist() == [3]
    assert any("are there of 2: 4 (stopped after 3 of 20), 5 (5)." in warning for warning in found.warnings)
    assert found.missed.sum() == 17 + 15


def test_groups_at_different_designs_are_compared_and_small_ones_are_not(result):
    people, other = simulate(result, 12), np.full((2, 3), 0.5)
    designs = np.where((np.arange(12) < 6)[:, None, None], result.design, other)
    understood = Understanding(people, (), designs, {"group": np.array(["a"] * 10 + ["b"] * 2, object)})
    found = result.analyse(understood, settings=QUICK)
    compared = {one.name: one for one in found.comparisons}
    assert compared["design"].frequencies is not None
    said = methods(found, "1")
    assert f"own ones have the probability {compared['design'].frequencies.probability:.3f}" in said
    assert said.count("6 participants: wslts ") == 2
    assert "5 or more people, not a 10, b 2" in compared["group"].not_compared


def test_data_of_another_design_are_not_blamed_on_the_models(result):
    """People who won every time, where the design gives no more than one reward in five."""
    poor, study = np.full((2, 3), 0.2), result.study
    rich = ta.simulate_models(study.task, study.models, np.full((2, 3), 0.95), 20, np.random.default_rng(1)).behavior
    found = result.analyse(rich, poor, QUICK)
    assert found.prediction.alarm
    assert any("run at another design" in warning for warning in found.warnings)


def test_prior_counts_change_what_they_should(result):
    people = simulate(result, 10)
    tight = result.analyse(people, settings=ta.AnalysisSettings(amortized=True, prior_counts="one each"))
    loose = result.analyse(people, settings=QUICK)
    assert (tight.effects.frequencies.max() < loose.effects.frequencies.max()) or loose.effects.frequencies.max() < 0.55
    assert "one for each model" in methods(tight, "1")


@pytest.mark.parametrize(
    ("value", "told"), [(0.0, "0.000"), (0.3456, "0.346"), (-12.5, "-12.500"), (0.01234, "0.0123"), (0.00021, "0.00021"), (-3e-7, "-3e-07")]
)
def test_numbers_in_small_units_are_told_with_their_digits(value, told):
    assert rounded(value, 3) == told


def test_a_small_parameter_is_not_told_as_nothing():
    prior, ones = ta.LogNormal(-8.0, 0.1), np.ones((4, 20, 1))
    group = GroupParameters("m", {"k": prior}, 0 * ones, 0.5 * ones, np.ones(3), np.zeros((2, 3, 1)), np.full(3, 1e3), np.arange(3))
    told = conclusion(SimpleNamespace(participants=range(3), effects=None, parameters={"m": group}, models=("m",)))
    assert "k 0.00034 (0.00034 to 0.00034)" in told


def test_many_models_under_several_conditions_leave_out_one_comparison_only():
    """Four models under three conditions make 64 tuples: who changes the model is then not asked, and everything else is."""
    question = SimpleNamespace(models=range(4), names=tuple("abcd"), parameters=lambda m: {"x": ta.Uniform()} if m == 0 else {})
    people = ta.Behavior({"choice": np.zeros((6, 3, 2), int)})
    rng = np.random.default_rng(0)

    def evidence_of(part, who):
        return PeopleEvidence(np.zeros((6, 4)), np.zeros((6, 4)), {"a": rng.standard_normal((6, 50, 1))})

    found = by_conditions("load", np.tile(["low", "middle", "high"], (6, 1)), question, people, evidence_of, "1/K each", 0)
    assert found.same is None
    assert "64" in found.not_compared
    assert len(found.parameters) == 3


def test_who_is_not_compared_is_said():
    """Somebody who was observed under one condition alone, and a group that is too small beside two that are not."""
    question = SimpleNamespace(models=range(2), names=("a", "b"), parameters=lambda m: {})
    people = ta.Behavior({"choice": np.zeros((7, 2, 2), int)})
    people.mask[3, 1] = False

    def evidence_of(part, who):
        return PeopleEvidence(np.zeros((len(part), 2)), np.zeros((len(part), 2)))

    paired = by_conditions("load", np.tile(["low", "high"], (7, 1)), question, people, evidence_of, "1/K each", 0)
    assert paired.same.people == 6
    assert paired.not_compared == "1 participant without trials under one of the conditions"
    question.models, groups = (SimpleNamespace(name="a"), SimpleNamespace(name="b")), np.repeat(["old", "young", "both"], [5, 6, 2])
    evidence = PeopleEvidence(np.zeros((13, 2)), np.zeros((13, 2)))
    apart = by_groups("age", groups, question, evidence, object(), "1/K each", 0)
    assert set(apart.frequencies.groups) == {"old", "young"}
    assert apart.not_compared == "groups of fewer than 5 people: both (2)"


@ta.agent(name="aeg", parameters={"epsilon": ta.Uniform()}, resets=False)
class CarriesOn:
    def start(self, arms):
        return np.full(arms, 0.5)

    def choose(self, state):
        return ta.softmax(self.epsilon * state)

    def learn(self, state, choice, reward):
        state[choice] += 0.5 * (reward - state[choice])


def test_conditions_are_not_compared_if_memory_goes_on_from_one_to_the_other(result, monkeypatch):
    question, conditions = result.study.question, {"load": np.tile(["low", "high"], (6, 1))}
    estimator, people, where = result.found.estimator, simulate(result, 6), at(result, 6)
    assert not analyse(estimator, people, where, QUICK, conditions=conditions).comparisons[0].not_compared
    remembering = ta.Question((ta.WSLTS(), ta.with_priors(CarriesOn(), epsilon="beta(2, 2)")), question.goal, about=question.about)
    monkeypatch.setattr(estimator, "question", remembering)
    (compared,) = analyse(estimator, people, where, QUICK, conditions=conditions).comparisons
    assert "'aeg' carries memory from block to block (resets=False)" in compared.not_compared
    assert "resets=True" in compared.not_compared
    assert not compared.parameters
    assert compared.same is None


def test_parameters_at_the_edge_of_the_prior_are_not_to_be_believed(result):
    """By a network, whose posterior is bounded there; by likelihoods only if few draws carry the weight. Of models that people follow."""
    question, rng = result.study.question, np.random.default_rng(0)
    centres = np.array([0.0, 3.0, -5.0, 5.0])
    z = centres[:, None, None] + 0.3 * rng.standard_normal((4, 1000, 1))
    log_evidence = np.array([[0.0, 5.0]] * 3 + [[5.0, 0.0]])  # the last one follows the other model, wslts
    network, refined, exact = (
        PeopleEvidence(log_evidence, np.zeros((4, 2)), {"aeg": z}, route) for route in ("network", "refined network", "likelihoods")
    )
    for one in (network, refined):
        assert one.doubtful(question).tolist() == ["", "", "aeg.epsilon beyond 3.5 standard deviations of the prior", ""]
    assert exact.doubtful(question).tolist() == [""] * 4
    repeated = PeopleEvidence(log_evidence, np.zeros((4, 2)), {"aeg": z[:, np.repeat(np.arange(20), 50)]}, "likelihoods")
    assert repeated.doubtful(question).tolist() == ["aeg: 20 draws carry the weight"] * 3 + [""]
    found = replace(result.analyse(simulate(result, 4), settings=QUICK), doubtful=network.doubtful(question))
    said = [one for one in warnings_of(found) if "not to be believed" in one]
    assert said[0].startswith("Parameters are not to be believed of 1 participant: 2 (aeg.epsilon beyond 3.5")
    assert people_columns(found)["doubtful"][2].startswith("aeg.epsilon")


def test_the_posterior_names_parameters_at_the_edge_of_the_prior(result, monkeypatch):
    monkeypatch.setattr("tellapart.posterior.EDGE", 0.0)
    table = result.posterior(simulate(result, 3), draws=20).to_table()
    followed = table["probability.aeg"] >= 0.1
    assert (table["doubtful"].str.startswith("aeg.epsilon beyond") == followed).all()


def test_the_same_data_twice_are_named(result):
    people = simulate(result, 6)
    copied = people[[0, 1, 2, 3, 4, 5, 2, 2]]
    copied = ta.Behavior(copied.fields, copied.mask, np.arange(8))
    said = [one for one in result.analyse(copied, settings=QUICK).warnings if "the same to the last trial" in one]
    assert said == ["The data of 3 people are the same to the last trial: 2, 6, 7. Was somebody's file copied? Each is counted."]


def test_groups_that_are_not_compared_are_counted(result):
    """All of them if there are too many to list, and people who are in none."""
    evidence, question = PeopleEvidence(np.random.default_rng(0).normal(size=(45, 2)), np.zeros((45, 2))), result.study.question
    effects = ta.random_effects(evidence.log_evidence, question.names)

    def compared(labels):
        return by_groups("g", np.array(labels, object), question, evidence, effects, "1/K each", 0).not_compared

    assert compared([f"g{n % 9}" for n in range(45)]).endswith("not g0 5, g1 5, g2 5, g3 5, g4 5, g5 5, g6 5, g7 5, … (9 in all)")
    assert compared(["a"] * 20 + ["b"] * 20 + ["c"] * 2 + [""] * 3) == "groups of fewer than 5 people: c (2); 3 participants in no group"


class Sure(ta.AEG):
    """Its likelihood counts everything twice: too sure of itself."""

    def log_likelihood(self, *given):
        return 2 * super().log_likelihood(*given)


@pytest.mark.parametrize("use", ["analyse", "validate"])
def test_likelihoods_that_are_not_those_of_the_simulators_judge_nobody(result, tmp_path, use, monkeypatch):
    monkeypatch.setattr("tellapart.testing.likelihoods.PEOPLE", 600)
    people = result.study.question.simulate(result.study.task, result.design, 4, np.random.default_rng(0)).behavior
    study = ta.Study(result.study.task, [ta.WSLTS(), Sure()], "both", about=["aeg.epsilon"], search=result.study.search)
    wrong = replace(result, study=study, folder=RunFolder(tmp_path))
    with pytest.raises(ta.ModelError, match="The likelihood of 'aeg' contradicts its simulator"):
        wrong.analyse(people) if use == "analyse" else wrong.validate(n=100)
    assert not list(tmp_path.iterdir())
    assert len(wrong.analyse(people, settings=QUICK).participants) == 4


def test_likelihoods_are_looked_at_once(result, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("tellapart.testing.likelihoods.check_likelihoods", lambda *_, **how: asked.append(how["most"]))
    monkeypatch.setattr("tellapart.groups.evidence.draws_for", lambda people: 100)
    people = result.study.question.simulate(result.study.task, result.design, 4, np.random.default_rng(0)).behavior
    again = replace(result, folder=RunFolder(tmp_path))
    for _ in range(2):
        again.analyse(people)
    assert asked == [60 * result.study.search.batch // 8]


@pytest.mark.parametrize("remembers", [True, False])
def test_models_that_may_remember_are_given_blocks_in_the_order_of_play(result, monkeypatch, remembers):
    monkeypatch.setattr("tellapart.result.read_in_order", lambda *_: remembers)
    behavior, turned = simulate(result, 2), np.array([[0, 1], [1, 0]])
    people, designs = result._people(Understanding(behavior, (), positions=turned), None)
    second = slice(None, None, -1 if remembers else 1)
    for name, values in behavior.fields.items():
        np.testing.assert_array_equal(people.behavior.fields[name], [values[0], values[1][second]])
    np.testing.assert_array_equal(np.broadcast_to(designs, (2, *result.design.shape)), [result.design, result.design[second]])


def test_orders_of_the_same_blocks_are_no_groups_to_compare(result):
    """Unless somebody of a group had another order, or another design."""
    behavior, designs = simulate(result, 4), np.broadcast_to(result.design, (4, *result.design.shape))
    groups = {"condition": np.array(["A", "A", "B", "B"], object), "age": np.array(["old", "new", "old", "new"], object)}
    turned = np.array([[0, 1], [0, 1], [1, 0], [1, 0]])
    people = Understanding(behavior, (), designs, groups, positions=turned)
    assert people.orders() == ("condition",)
    assert replace(people, designs=None).orders() == ()
    assert replace(people, positions=None).orders() == ()
    assert replace(people, designs=np.concatenate([designs[:2], designs[2:][:, ::-1]])).orders() == ()
    settings = QUICK
    assert [one.name for one in result.analyse(people, settings=settings).comparisons] == ["age"]


def test_a_table_that_does_not_say_the_design_is_warned_of(result):
    behavior, settings = simulate(result, 4), QUICK
    designs = np.broadcast_to(result.design, (4, *result.design.shape))
    assert ASSUMED in result.analyse(Understanding(behavior, ()), settings=settings).warnings
    for people, where in ((Understanding(behavior, (), designs), None), (Understanding(behavior, ()), result.design), (behavior, None)):
        assert ASSUMED not in result.analyse(people, where, settings).warnings


def test_what_each_model_expects_is_possible_also_of_people_unlike_it(result):
    """Shares of choices sum to 1, and what lies between 0 and 1 stays there, also of those who always do the same."""
    study = result.study
    people = study.question.simulate(study.task, result.design, 6, np.random.default_rng(3)).behavior
    stubborn = np.zeros_like(people.fields["choice"])
    people.fields["choice"][:3], people.fields["reward"][:3] = stubborn[:3], 0
    designs = np.broadcast_to(result.design, (6, *result.design.shape))
    found = Predictor(result.found.estimator, designs, people.mask, 600).predict(people, designs)
    shares = [s for s, name in enumerate(found.names) if name.startswith("share of choice")]
    assert len(shares) == 3
    np.testing.assert_allclose(found.predicted[:, :, shares].sum(2), 1.0, atol=1e-9)
    whole = [s for s, name in enumerate(found.names) if not name.startswith("log")]
    assert ((found.predicted[:, :, whole] >= 0) & (found.predicted[:, :, whole] <= 1)).all()


def test_of_a_block_that_nobody_played_nothing_is_said(result):
    people = result.study.question.simulate(result.study.task, result.design, 6, np.random.default_rng(3)).behavior.until(1)
    designs = np.broadcast_to(result.design, (6, *result.design.shape))
    found = Predictor(result.found.estimator, designs, people.mask, 600).predict(people, designs)
    assert not any("block 2" in name for name in found.names)
    assert np.isfinite(found.group.observed).all()
    assert np.isfinite(found.group.p)
