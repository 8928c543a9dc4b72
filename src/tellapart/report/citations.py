"""What to cite, by what was used."""

from __future__ import annotations

from typing import Any, Mapping

PAPER = """@inproceedings{valentin2021bayesian,
  title = {{Bayesian Optimal Experimental Design for Simulator Models of Cognition}},
  author = {Valentin, Simon and Kleinegesse, Steven and Bramley, Neil R. and Gutmann, Michael U. and Lucas, Christopher G.},
  booktitle = {NeurIPS 2021 Workshop on AI for Science},
  note = {arXiv:2110.15632},
  year = {2021}
}"""

BARBER_AGAKOV = """@inproceedings{barber2003im,
  title = {The {IM} Algorithm: A Variational Approach to Information Maximization},
  author = {Barber, David and Agakov, Felix},
  booktitle = {Advances in Neural Information Processing Systems 16},
  year = {2003}
}"""

FOSTER = """@inproceedings{foster2019variational,
  title = {Variational {Bayesian} Optimal Experimental Design},
  author = {Foster, Adam and Jankowiak, Martin and Bingham, Eli and Horsfall, Paul and Teh, Yee Whye and Rainforth, Tom and Goodman, Noah},
  booktitle = {Advances in Neural Information Processing Systems 32},
  year = {2019}
}"""

SPLINES = """@inproceedings{durkan2019neural,
  title = {Neural Spline Flows},
  author = {Durkan, Conor and Bekasov, Artur and Murray, Iain and Papamakarios, George},
  booktitle = {Advances in Neural Information Processing Systems 32},
  year = {2019}
}"""

NWJ = """@article{nguyen2010estimating,
  title = {Estimating Divergence Functionals and the Likelihood Ratio by Convex Risk Minimization},
  author = {Nguyen, XuanLong and Wainwright, Martin J. and Jordan, Michael I.},
  journal = {IEEE Transactions on Information Theory},
  volume = {56}, number = {11}, pages = {5847--5861},
  year = {2010}
}"""

INFONCE = """@article{oord2018representation,
  title = {Representation Learning with Contrastive Predictive Coding},
  author = {van den Oord, Aaron and Li, Yazhe and Vinyals, Oriol},
  journal = {arXiv preprint arXiv:1807.03748},
  year = {2018}
}"""

BOTORCH = """@inproceedings{balandat2020botorch,
  title = {{BoTorch}: A Framework for Efficient {Monte-Carlo} {Bayesian} Optimization},
  author = {Balandat, Maximilian and Karrer, Brian and Jiang, Daniel R. and Daulton, Samuel and Letham, Benjamin and
            Wilson, Andrew Gordon and Bakshy, Eytan},
  booktitle = {Advances in Neural Information Processing Systems 33},
  year = {2020}
}"""

CALIBRATION = """@article{talts2018validating,
  title = {Validating {Bayesian} Inference Algorithms with Simulation-Based Calibration},
  author = {Talts, Sean and Betancourt, Michael and Simpson, Daniel and Vehtari, Aki and Gelman, Andrew},
  journal = {arXiv preprint arXiv:1804.06788},
  year = {2018}
}

@article{sailynoja2022graphical,
  title = {Graphical Test for Discrete Uniformity and its Applications in Goodness-of-Fit Evaluation and Multiple Sample Comparison},
  author = {S{\\"a}ilynoja, Teemu and B{\\"u}rkner, Paul-Christian and Vehtari, Aki},
  journal = {Statistics and Computing},
  volume = {32}, number = {32},
  year = {2022}
}"""


def citations(settings: Mapping[str, Any], about_parameters: bool, validated: bool) -> str:
    """BibTeX of the methods that a run used.

    Arguments:
        settings: The settings of its search, with "method".
        about_parameters: Are parameters part of the goal?
        validated: Was it validated?
    """
    estimator = settings.get("estimator", settings.get("bound", "nwj" if settings.get("method") == "bayesopt" else "posterior"))
    entries = [PAPER]
    entries += {"nwj": [NWJ], "infonce": [INFONCE]}.get(str(estimator), [BARBER_AGAKOV, FOSTER])
    entries += [SPLINES] if about_parameters and estimator == "posterior" else []
    entries += [BOTORCH]
    entries += [CALIBRATION] if validated and about_parameters else []
    return "\n\n".join(entries)
