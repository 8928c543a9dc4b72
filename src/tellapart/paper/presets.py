"""The settings of the paper's four experiments, by name, and which of them a question gets if none is named.

All of them: sub-networks of 64 and 32 units for each block, Adam with learning rate 1e-3, halved after 25 epochs without
improvement, 50,000 draws of which 10,000 are held out. The paper gives no batch size (512 here), no coding of v (the model
by its number 1, 2, 3 and parameters as they are, which is how the text writes them) and does not say which epoch's weights
it keeps (the last here). "generic" is for other models and tasks, where nothing was published to be compared with: it codes
categories one-hot, puts parameters on one scale and keeps the best epoch.
"""

from __future__ import annotations

from ..question import Question
from ..tasks.base import Task
from .evaluation import EvaluationSettings

PRESETS: dict[str, EvaluationSettings] = {
    "discriminate": EvaluationSettings(summaries=6, hidden=(32, 32), weight_decay=1e-3, epochs=200),
    "estimate-wslts": EvaluationSettings(summaries=8, hidden=(64, 32), weight_decay=1e-4, epochs=400),
    "estimate-aeg": EvaluationSettings(summaries=6, hidden=(64, 32), weight_decay=1e-3, epochs=300),
    "estimate-gls": EvaluationSettings(summaries=8, hidden=(64, 32), weight_decay=1e-3, epochs=300),
    "generic": EvaluationSettings(
        summaries=8, hidden=(64, 32), epochs=200, data_as="one-hot", model_as="one-hot", scale="normal", keep="best"
    ),
}


def preset_for(task: Task, question: Question) -> str:
    """The paper's preset if the question is one of the paper's, otherwise "generic"."""
    if task.name != "bernoulli-bandit" or not set(question.names) <= {"wslts", "aeg", "gls"} or question.goal == "both":
        return "generic"
    return "discriminate" if question.goal == "discriminate" else f"estimate-{question.names[0]}"
