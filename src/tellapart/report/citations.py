"""What to cite: each part of a search names its sources (`Search.sources`, …) by the keys below, or as BibTeX; so do the checks."""

from __future__ import annotations

from typing import Iterable

PAPER = "valentin2021bayesian"

CHECKS = ("talts2018validating", "modrak2023simulation", "sailynoja2022graphical")
"""Of the calibration of parameters."""

SOURCES: dict[str, str] = {
    "valentin2021bayesian": """@inproceedings{valentin2021bayesian,
  title = {{Bayesian Optimal Experimental Design for Simulator Models of Cognition}},
  author = {Valentin, Simon and Kleinegesse, Steven and Bramley, Neil R. and Gutmann, Michael U. and Lucas, Christopher G.},
  booktitle = {NeurIPS 2021 Workshop on AI for Science},
  note = {arXiv:2110.15632},
  year = {2021}
}""",
    "barber2003im": """@inproceedings{barber2003im,
  title = {The {IM} Algorithm: A Variational Approach to Information Maximization},
  author = {Barber, David and Agakov, Felix},
  booktitle = {Advances in Neural Information Processing Systems 16},
  year = {2003}
}""",
    "foster2019variational": """@inproceedings{foster2019variational,
  title = {Variational {Bayesian} Optimal Experimental Design},
  author = {Foster, Adam and Jankowiak, Martin and Bingham, Eli and Horsfall, Paul and Teh, Yee Whye and Rainforth, Tom and Goodman, Noah},
  booktitle = {Advances in Neural Information Processing Systems 32},
  year = {2019}
}""",
    "foster2020unified": """@inproceedings{foster2020unified,
  title = {A Unified Stochastic Gradient Approach to Designing {Bayesian}-Optimal Experiments},
  author = {Foster, Adam and Jankowiak, Martin and O'Meara, Matthew and Teh, Yee Whye and Rainforth, Tom},
  booktitle = {Proceedings of the 23rd International Conference on Artificial Intelligence and Statistics},
  year = {2020}
}""",
    "durkan2019neural": """@inproceedings{durkan2019neural,
  title = {Neural Spline Flows},
  author = {Durkan, Conor and Bekasov, Artur and Murray, Iain and Papamakarios, George},
  booktitle = {Advances in Neural Information Processing Systems 32},
  year = {2019}
}""",
    "jordan2024muon": """@misc{jordan2024muon,
  title = {Muon: An Optimizer for Hidden Layers in Neural Networks},
  author = {Jordan, Keller and Jin, Yuchen and Boza, Vlado and You, Jiacheng and Cesista, Franz and Newhouse, Laker and Bernstein, Jeremy},
  year = {2024}
}""",
    "nguyen2010estimating": """@article{nguyen2010estimating,
  title = {Estimating Divergence Functionals and the Likelihood Ratio by Convex Risk Minimization},
  author = {Nguyen, XuanLong and Wainwright, Martin J. and Jordan, Michael I.},
  journal = {IEEE Transactions on Information Theory},
  volume = {56}, number = {11}, pages = {5847--5861},
  year = {2010}
}""",
    "oord2018representation": """@article{oord2018representation,
  title = {Representation Learning with Contrastive Predictive Coding},
  author = {van den Oord, Aaron and Li, Yazhe and Vinyals, Oriol},
  journal = {arXiv preprint arXiv:1807.03748},
  year = {2018}
}""",
    "balandat2020botorch": """@inproceedings{balandat2020botorch,
  title = {{BoTorch}: A Framework for Efficient {Monte-Carlo} {Bayesian} Optimization},
  author = {Balandat, Maximilian and Karrer, Brian and Jiang, Daniel R. and Daulton, Samuel and Letham, Benjamin and
            Wilson, Andrew Gordon and Bakshy, Eytan},
  booktitle = {Advances in Neural Information Processing Systems 33},
  year = {2020}
}""",
    "talts2018validating": """@article{talts2018validating,
  title = {Validating {Bayesian} Inference Algorithms with Simulation-Based Calibration},
  author = {Talts, Sean and Betancourt, Michael and Simpson, Daniel and Vehtari, Aki and Gelman, Andrew},
  journal = {arXiv preprint arXiv:1804.06788},
  year = {2018}
}""",
    "modrak2023simulation": """@article{modrak2023simulation,
  title = {Simulation-Based Calibration Checking for {Bayesian} Computation: The Choice of Test Quantities Shapes Sensitivity},
  author = {Modr{\\'a}k, Martin and Moon, Angie H. and Kim, Shinyoung and B{\\"u}rkner, Paul-Christian and Huurre, Niko and
            Faltejskov{\\'a}, Kate{\\v{r}}ina and Gelman, Andrew and Vehtari, Aki},
  journal = {Bayesian Analysis},
  volume = {20}, number = {2},
  year = {2023}
}""",
    "sailynoja2022graphical": """@article{sailynoja2022graphical,
  title = {Graphical Test for Discrete Uniformity and its Applications in Goodness-of-Fit Evaluation and Multiple Sample Comparison},
  author = {S{\\"a}ilynoja, Teemu and B{\\"u}rkner, Paul-Christian and Vehtari, Aki},
  journal = {Statistics and Computing},
  volume = {32}, number = {32},
  year = {2022}
}""",
}


def citations(sources: Iterable[str]) -> str:
    """The BibTeX of sources, each once, in the order given, the paper first. What is no key above is BibTeX itself."""
    return "\n\n".join(SOURCES.get(source, source) for source in dict.fromkeys([PAPER, *sources]))
