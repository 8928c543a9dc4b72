"""A learned likelihood corrects a posterior: whatever the two are, the bound holds; with the true likelihood it is tight.

Where a test compares with a random spread it does so at 4.5 standard errors: 1 of 100,000 draws of the seeds would fail.
"""

import math
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
import torch
from known_law import BOTH, DESIGN, ONE, TASK, TWO, Readings, estimator, silence
from scipy import stats

import tellapart as ta
from tellapart.estimators import likelihood
from tellapart.estimators.base import Tilt
from tellapart.information.exact import exact_pointwise
from tellapart.models.hidden_number import HiddenNumber
from tellapart.tasks.readings import NoisyReadings
from tellapart.training import with_missing


@pytest.mark.parametrize("question", [ONE, TWO, BOTH])
def test_with_the_true_law_the_bound_is_tight(question):
    made, n = estimator(question), 3000
    with torch.no_grad():
        ours = made.pointwise(made.simulate(DESIGN, n, np.random.default_rng(1)))
    exact = exact_pointwise(TASK, question, DESIGN, n, np.random.default_rng(1))
    difference = exact.minus(ours)
    assert difference.nats - 4.5 * difference.se < 0.02
    assert difference.nats + 4.5 * difference.se > 0.0


def test_the_posterior_sees_parameters_in_its_own_order():
    @ta.model(name="three", parameters={name: ta.Normal() for name in "abc"}, vectorised=True)
    def three(values, designs, rng, task):
        return {"reading": (values["a"] + values["c"])[:, None, None] + rng.standard_normal((len(designs), task.blocks, task.trials))}

    question = ta.Question((HiddenNumber(), three()), "both", about=("three.b",))
    made = estimator(question)
    simulations = question.simulate(TASK, DESIGN, 40, np.random.default_rng(1))
    batch, posterior = made.prepare(simulations), ta.PosteriorEstimator(question, ta.SequenceEncoder(TASK, 16, 16, 4, 1, 1, 8))
    np.testing.assert_array_equal(made._for_posterior(batch).v.numpy(), posterior.code(simulations))


@pytest.mark.parametrize("question", [ONE, TWO, BOTH])
def test_without_the_law_it_is_the_posterior_bound(question):
    made = estimator(question, trust=0.0)
    simulations = question.simulate(TASK, DESIGN, 50, np.random.default_rng(1))
    with torch.no_grad():
        ours = made.pointwise(made.prepare(simulations)).values
        plain = made.posterior.pointwise(made.posterior.prepare(simulations)).values
    np.testing.assert_allclose(ours, plain, atol=1e-4)


@pytest.mark.parametrize("question", [ONE, TWO, BOTH])
def test_a_tilt_by_what_the_law_says_is_a_correction_by_the_law(question):
    """Of the posterior alone, whole; none of it changes nothing."""
    plain, lawful = estimator(question, trust=0.0), estimator(question, trust=1.0)
    batch = plain.simulate(DESIGN, 50, np.random.default_rng(1))
    with torch.no_grad():
        summaries = plain.encoder(batch.inputs)
        log_q = [one.log_model_probabilities(batch.inputs) if question.about_models else None for one in (plain, lawful)]

        def parameters(m, chosen, z):
            ratio = plain.posterior.head(m).information(z, summaries[chosen])
            return torch.stack([lawful.law(batch.inputs[chosen], one, None) for one in z]) - ratio

        models = log_q[1] - log_q[0] if question.about_models else None
        none, half, whole = plain.tilted(batch, Tilt(torch.tensor([0.0, 0.5, 1.0]), models, parameters))
        np.testing.assert_allclose(none, plain.bound(batch), atol=1e-5)
        np.testing.assert_allclose(whole, lawful.bound(batch), atol=1e-4)
    assert none.mean() < half.mean() < whole.mean()


def test_a_tilted_density_is_normalised_whatever_the_share():
    """Summed over a fine grid of the one parameter that there is."""
    torch.manual_seed(3)
    made = ta.PosteriorEstimator(ONE, ta.SequenceEncoder(TASK, 16, 16, 4, 1, 1, 8)).eval()
    z, step = np.linspace(-6, 6, 1201), 0.01
    batch = made.simulate(DESIGN, 1, np.random.default_rng(1))[torch.zeros(len(z), dtype=torch.int64)]
    batch = replace(batch, v=torch.from_numpy(z.astype(np.float32))[:, None])

    def parameters(m, chosen, v):
        log_r = -0.5 * (v[:, 0] - 1).square() / 0.25 - math.log(0.5 * math.sqrt(2 * math.pi))
        return log_r - made.flow(batch.inputs[chosen], m).log_prob(v)

    with torch.no_grad():
        tilted = made.tilted(batch, Tilt(torch.tensor([0.0, 0.3, 1.0]), None, parameters)).double().numpy()
        np.testing.assert_allclose(tilted[0], made.bound(batch), atol=1e-5)
    total = (np.exp(tilted) * stats.norm.pdf(z)).sum(1) * step
    np.testing.assert_allclose(total, 1.0, atol=1e-3)


def test_a_correction_that_is_measured_on_some_holds_for_all(monkeypatch):
    """The same average on all participants and with some of them corrected, and a standard error that knows of it."""
    made = estimator(BOTH)
    batch, found = made.simulate(DESIGN, 400, np.random.default_rng(6)), {}
    for corrected in (400, 200, 40):
        monkeypatch.setattr("tellapart.estimators.likelihood.CORRECTED", corrected)
        found[corrected] = made.pointwise(batch).estimate()
    assert found[400].se < found[200].se < found[40].se
    assert abs(found[40].nats - found[400].nats) < 4.5 * np.hypot(found[40].se, found[400].se)
    over = [made.pointwise(made.simulate(DESIGN, 400, np.random.default_rng([7, i]))).estimate() for i in range(30)]
    spread, stated = np.std([one.nats for one in over], ddof=1), np.mean([one.se for one in over])
    assert 0.45 < spread / stated < 1.7  # chi-squared with 29 degrees of freedom, false alarm 1e-4


@pytest.mark.parametrize("scale", [-1.0, 0.0, 3.0])
def test_a_wrong_law_gives_a_bound_all_the_same(scale):
    made, n = estimator(ONE), 3000
    made.law = Readings(made.encoder.own, scale)
    with torch.no_grad():
        ours = made.pointwise(made.simulate(DESIGN, n, np.random.default_rng(1)))
    assert ours.minus(exact_pointwise(TASK, ONE, DESIGN, n, np.random.default_rng(1))).nats < 0


def test_draws_are_those_of_the_exact_posterior():
    """The law is true and the proposals are near the prior: all draws follow the posterior, not the first of them alone."""
    made = estimator(ONE)
    behavior = ta.Behavior({"reading": np.full((1, 1, 2), 0.8)})
    z = made.draws(made.inputs(behavior, DESIGN).repeat(400, 1, 1, 1), 0, 30, np.random.default_rng(3))[..., 0]
    mean, variance = HiddenNumber().posterior_moments(behavior, DESIGN[None], TASK)
    any_one = np.random.default_rng(4).permuted(z, axis=1)[:, 0]
    assert stats.kstest(any_one, stats.norm(mean[0], np.sqrt(variance[0])).cdf).pvalue > 1e-4
    assert stats.ttest_1samp(z.mean(1), mean[0]).pvalue > 1e-5


def test_however_many_draws_are_asked_for_the_law_sees_few_at_once(monkeypatch):
    monkeypatch.setattr(likelihood, "MOST", 4096)  # of two trials, with one option each
    made, sizes = estimator(ONE), []
    made.law.register_forward_hook(lambda law, given, log_p: sizes.append(log_p.numel()))
    z = made.draws(made.inputs(ta.Behavior({"reading": np.zeros((2, 1, 2))}), DESIGN), 0, 3000, np.random.default_rng(3))
    assert z.shape == (2, 3000, 1)
    assert max(sizes) <= 2048
    assert sum(sizes) == 2 * 2 * 3000


def test_the_error_of_an_evidence_is_the_spread_of_it_over_draws():
    """30 people with the same data, who have draws of their own: chi-squared with 29 degrees of freedom, false alarm 1e-4."""
    made = estimator(TWO)
    inputs = made.inputs(ta.Behavior({"reading": np.full((30, 1, 2), 1.5)}), DESIGN)
    with torch.no_grad():
        log_odds = made.log_model_probabilities(inputs).double().numpy() @ [1, -1]
    stated = made.log_evidence_se(inputs).double().numpy()
    assert stated[:, 1].max() == 0  # it has no parameters to draw
    assert 0.45 < log_odds.std(ddof=1) / stated[:, 0].mean() < 1.7


def test_what_is_said_of_single_people_rests_on_more_draws():
    """300 people with the same data: eight times the draws, and errors a third as large; above half by chance once in 10^8."""
    made = estimator(TWO)
    inputs = made.inputs(ta.Behavior({"reading": np.full((300, 1, 2), 1.5)}), DESIGN)
    with torch.no_grad():
        usual, careful = (one.log_model_probabilities(inputs).exp()[:, 0].std().item() for one in (made, made.careful))
    assert 0 < careful < usual / 2
    assert (made.proposals, made.careful.proposals) == (likelihood.DRAWS, likelihood.CAREFUL)


def test_probabilities_of_models_are_the_exact_ones():
    made = estimator(TWO)
    people = TWO.simulate(TASK, DESIGN, 300, np.random.default_rng(4))
    with torch.no_grad():
        ours = made.log_model_probabilities(made.inputs(people.behavior, DESIGN)).exp().numpy()
    exact = ta.information.exact.model_probabilities(TASK, TWO, people.behavior, DESIGN)
    assert np.abs(ours - exact).mean() < 0.03


def test_how_far_the_law_is_trusted_is_chosen_after_training():
    """A true law fully, one that is upside down not at all, and one that is no better or worse by half."""
    found, asked = [], []
    for scale in (1.0, -1.0, 0.0):
        made = estimator(ONE, trust=0.5)
        made.law = Readings(made.encoder.own, scale)
        made.settle(asked.append(1) or made.simulate(DESIGN, 400, np.random.default_rng(5)) for _ in count())
        found.append(made.trust.item())
    assert found == [1.0, 0.0, 0.5]
    assert len(asked) == 6  # two batches for each, of participants that nothing was learned from


def test_of_several_laws_each_has_an_equal_say_and_learns_as_it_would_alone():
    torch.manual_seed(3)
    several = ta.LikelihoodEstimator(ONE, ta.SequenceEncoder(TASK, 16, 16, 4, 1, 1, 8), laws=2)
    first, second = several.law.laws
    batch = several.simulate(DESIGN, 50, np.random.default_rng(6))
    said = [law(batch.inputs, batch.v, batch.model) for law in (first, second)]
    assert torch.allclose(several.law(batch.inputs, batch.v, batch.model), (said[0] + said[1]) / 2)
    assert not torch.allclose(*said)
    several.law(batch.inputs, batch.v, batch.model).sum().backward()
    together = first.theta[0].weight.grad.clone()
    first.zero_grad()
    said[0].sum().backward()
    assert torch.allclose(together, first.theta[0].weight.grad / 2, atol=1e-5)
    several.law = Readings(several.encoder.own, 0.0)  # neither better nor worse
    several.settle(several.simulate(DESIGN, 400, np.random.default_rng(5)) for _ in count())
    assert several.trust.item() == pytest.approx(2 / 3)


def test_laws_go_on_from_that_of_an_estimator_that_has_one():
    """Several are learned beside it: the first begins where it is, the others anew."""
    known = ta.LikelihoodEstimator(BOTH, ta.SequenceEncoder(TASK, 16, 16, 4, 1, 1, 8))
    known.encoder.learn_scale(BOTH.simulate(TASK, DESIGN, 50, np.random.default_rng(1)).behavior)
    around = ta.LikelihoodEstimator.around(known, 3, laws=2)
    assert around.equal == pytest.approx(2 / 3)
    batch = known.simulate(DESIGN, 20, np.random.default_rng(2))
    first, second = (law(batch.inputs, batch.v, batch.model) for law in around.law.laws)
    assert torch.equal(first, known.law(batch.inputs, batch.v, batch.model))
    assert not torch.allclose(first, second)
    people = BOTH.simulate(TASK, DESIGN, 20, np.random.default_rng(2))
    assert torch.equal(around.prepare(people).inputs, batch.inputs)
    assert np.array_equal(
        around.quick.pointwise(around.quick.prepare(people)).values, known.quick.pointwise(known.quick.prepare(people)).values
    )


@pytest.mark.parametrize(("places", "count", "some"), [([4, 5, 6, 7], 2, [4, 6]), ([1, 2, 3], 9, [1, 2, 3]), ([5, 6, 7], 2, [5, 6])])
def test_whom_the_mean_correction_is_from_are_evenly_spread(places, count, some):
    assert likelihood._some(torch.tensor(places), count).tolist() == some


@ta.model(name="hidden", parameters={"a": ta.Normal(), "b": ta.Normal()}, vectorised=True)
def hidden(values, designs, rng, task):
    return {"reading": (values["a"] + values["b"])[:, None, None] + rng.standard_normal((len(designs), task.blocks, task.trials))}


NUISANCE = ta.Question((HiddenNumber(), hidden()), "both", about=("hidden-number.theta", "hidden.b"))


def test_fewer_steps_are_needed_only_where_all_is_corrected():
    shares = [ta.LikelihoodEstimator.share_of_steps(question) for question in (ONE, TWO, BOTH, NUISANCE)]
    assert shares == [0.4, 0.4, 0.4, 1.0]
    assert ta.PosteriorEstimator.share_of_steps(ONE) == 1.0


@pytest.mark.parametrize("question", [BOTH, NUISANCE])
def test_the_loss_is_that_of_the_posterior_and_its_gradient_also_that_of_laws_and_flows(question):
    torch.manual_seed(4)
    made = ta.LikelihoodEstimator(question, ta.SequenceEncoder(TASK, 16, 16, 4, 1, 1, 8))
    people = with_missing(question.simulate(TASK, DESIGN, 30, np.random.default_rng(1)), 0.8, np.random.default_rng(2))
    batch = made.prepare(people)
    summaries = made.encoder(batch.inputs)
    posterior = made.posterior.loss_of(summaries, made._for_posterior(batch))
    read = batch[: math.ceil(0.25 * 30)]
    trials = int(people.behavior.mask[:8].sum())
    assert trials < 16
    expected = posterior - made.law(read.inputs, read.v, read.model).sum() / trials
    for m in map(int, made.nuisance):
        chosen = batch.model == m
        expected = expected - made._proposal(m).information(batch.v[chosen, : made.widths[m]], summaries[chosen]).sum() / 30
    weights = [weight for weight in made.parameters() if weight.requires_grad]
    loss = made.loss(batch)
    assert loss.item() == pytest.approx(posterior.item(), abs=1e-6)
    ours, theirs = (torch.autograd.grad(one, weights, retain_graph=True, allow_unused=True) for one in (loss, expected))
    for one, other in zip(ours, theirs, strict=True):
        assert (one is None) == (other is None)
        assert one is None or torch.allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("in_order", [True, False])
def test_where_laws_read_few_participants_improbable_models_are_among_them(in_order, monkeypatch):
    """Of 200 participants the 8 are read that are the least."""
    monkeypatch.setattr(likelihood, "TOGETHER", 1)
    question = ta.Question((HiddenNumber(), silence()), "discriminate", (0.98, 0.02))
    made = ta.LikelihoodEstimator(question, ta.SequenceEncoder(TASK, 16, 16, 4, 1, 1, 8))
    made.encoder.in_order = in_order
    read = made._read(made.simulate(DESIGN, 200, np.random.default_rng(1)))
    assert 8 <= len(read) <= 10
    assert set(read.model.tolist()) == {0, 1}


def test_laws_read_a_block_of_each_participant_before_a_second_of_anybody():
    torch.manual_seed(4)
    made = ta.LikelihoodEstimator(ONE, ta.SequenceEncoder(NoisyReadings(3, 2), 16, 16, 4, 1, 1, 8))
    batch = made.simulate(np.ones((3, 1)), 4, np.random.default_rng(1))
    for share, pairs in ((0.25, [(0, 0), (1, 1), (2, 2)]), (0.5, [(0, 0), (1, 1), (2, 2), (3, 0), (0, 1), (1, 2)])):
        made.read = share
        read = made._read(batch)
        assert read.inputs.shape[:3] == (len(pairs), 1, 2)
        for row, (who, block) in enumerate(pairs):
            assert torch.equal(read.inputs[row, 0], batch.inputs[who, block])
            assert torch.equal(read.v[row], batch.v[who])
    made.read = 1.0
    everything = made._read(batch).inputs.flatten(1).sum(1).sort().values
    assert torch.allclose(everything, batch.inputs.flatten(0, 1).flatten(1).sum(1).sort().values)


@pytest.mark.parametrize("question", [ONE, BOTH, NUISANCE])
def test_a_prior_of_which_a_share_cannot_be_simulated_is_denser(question):
    made = estimator(question)
    batch = made.simulate(DESIGN, 12, np.random.default_rng(1))
    kept = torch.log(torch.tensor([0.5, 0.25])[: len(question.models)])
    with torch.no_grad():
        change = made.bound(replace(batch, kept=kept)) - made.bound(batch)
    asked = torch.tensor([float(bool(made.asked[m])) for m in batch.model])
    np.testing.assert_allclose(change, kept[batch.model] * asked, atol=1e-5)


def test_people_are_weighed_some_at_a_time_and_come_back_in_their_order(monkeypatch):
    made = estimator(TWO)
    people = TWO.simulate(TASK, DESIGN, 50, np.random.default_rng(4))
    inputs = made.inputs(people.behavior, DESIGN)
    exact = ta.information.exact.model_probabilities(TASK, TWO, people.behavior, DESIGN)
    sizes = []
    made.law.register_forward_hook(lambda law, given, log_p: sizes.append(log_p.shape))
    for together, drawn, size in ((2 * made.proposals * 20, 8192, 20), (1, 1, 8)):
        monkeypatch.setattr(likelihood, "TOGETHER", together)
        monkeypatch.setattr(likelihood, "DRAWN", drawn)
        sizes.clear()
        with torch.no_grad():
            made.log_model_probabilities(inputs)
            assert max(n for draws, n in sizes if draws == made.proposals) == size
            ours, se = made.log_model_probabilities(inputs).exp(), made.log_evidence_se(inputs)
            bound = made.bound(made.prepare(people))
            z = estimator(ONE).sample_theta(inputs, 0, 5, np.random.default_rng(1))
        assert (ours.shape, se.shape, bound.shape, z.shape) == ((50, 2), (50, 2), (50,), (5, 50, 1))
        assert np.abs(ours.numpy() - exact).max() < 0.2
        assert np.corrcoef(bound, np.log(exact[np.arange(50), people.model] / np.array(TWO.prior)[people.model]))[0, 1] > 0.9


def test_proposals_are_drawn_from_the_flows_of_all():
    """Of an untrained flow, which is near the prior; a model without parameters has one that is empty."""
    made = estimator(BOTH)
    behavior = ta.Behavior({"reading": np.zeros((3, 1, 2))})
    theta, nothing = made.propose(behavior, DESIGN, 400, np.random.default_rng(1))
    assert (theta.shape, nothing.shape) == ((1200, 1), (1, 0))
    again, _ = made.propose(behavior, DESIGN, 400, np.random.default_rng(1))
    np.testing.assert_array_equal(theta, again)
    assert len(np.unique(theta)) == 1200
    with torch.no_grad():
        flows = made.posterior.head(0).sample(made.encoder(made.inputs(behavior, DESIGN)), 4000, torch.Generator().manual_seed(5))
    assert stats.ks_2samp(theta[:, 0], flows.flatten().numpy()).pvalue > 1e-4


def test_around_a_trained_posterior_only_laws_and_nuisance_are_learned():
    torch.manual_seed(1)
    trained = ta.PosteriorEstimator(NUISANCE, ta.SequenceEncoder(TASK, 16, 16, 4, 1, 1, 8)).eval()
    before = torch.random.get_rng_state()
    made = ta.LikelihoodEstimator.around(trained, 3)
    assert torch.equal(before, torch.random.get_rng_state())
    learned = {name.split(".")[0] for name, weight in made.named_parameters() if weight.requires_grad}
    assert learned == {"law", "nuisance"}
    batch = trained.simulate(DESIGN, 10, np.random.default_rng(1))
    with torch.no_grad():
        assert torch.allclose(made.quick.log_model_probabilities(batch.inputs), trained.log_model_probabilities(batch.inputs))
        people = made.simulate(DESIGN, 10, np.random.default_rng(1))
        assert torch.equal(made.guess(people.inputs), trained.log_model_probabilities(batch.inputs).argmax(-1))
    again = ta.LikelihoodEstimator.around(made, 9)
    assert again is not made
    assert all(torch.equal(one, other) for one, other in zip(again.state_dict().values(), made.state_dict().values(), strict=True))
    assert ta.LikelihoodEstimator.corrects(trained)
    assert ta.LikelihoodEstimator.corrects(ta.PosteriorEstimator(ONE, trained.encoder))
    only_b = ta.Question((hidden(),), "estimate", about=("hidden.b",))
    assert not ta.LikelihoodEstimator.corrects(ta.PosteriorEstimator(only_b, trained.encoder))


@pytest.mark.parametrize("question", [ONE, BOTH, NUISANCE])
def test_the_posterior_is_given_what_it_would_code(question):
    simulations = question.simulate(TASK, DESIGN, 12, np.random.default_rng(1))
    made = estimator(question)
    np.testing.assert_array_equal(made._for_posterior(made.prepare(simulations)).v.numpy(), made.posterior.code(simulations))
