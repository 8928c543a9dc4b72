"""The names that people give to columns, plain: without case, spaces and signs. The best name of a thing comes first."""

from __future__ import annotations

from ..behavior import Field
from .raw import plain


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


PARTICIPANT = _names("""
    participant participantid participantlabel participantnumber subject subjectid subjid subj subjectnumber subjectnr sub subid
    prolificpid prolificid pid ppid ppt workerid userid person player respondent vp vpn id runid
""")
BLOCK = _names(
    "block blocknumber blocknum blockno blocknr blockid blockindex blocks blocksthisn game gamenumber gameid run runnumber bandit"
)
POSITION = _names("position blockposition blockorder")
"""When a block was played, beside which block of the design it is."""

TRIAL = _names("""
    trial trialnumber trialnum trialno trialnr trialn trialid trialinblock trialwithinblock trialsthisn trialsthistrialn trialindex
    t round step
""")
CHOICE = _names("""
    choice choices chosen response responses resp action decision arm chosenarm selected selectedarm selection option chosenoption
    sidechoice key keypress keyrespkeys keyresponsekeys trialkeyrespkeys answer button buttonpressed buttonresponse pick
""")
OUTCOME = _names("""
    reward rewards outcome outcomes feedback payoff observedreward obtainedreward rewardreceived rewarded points pointsearned pointswon win
    won result earned
""")
CORRECT = _names("correct iscorrect accuracy acc corr keyrespcorr choiceacc responsecorrect hit")
TIME = _names("""
    rt rts responsetime reactiontime responsetimes latency keyresprt choicert seconds rtseconds rtsec rtms time duration
""")
GROUP = _names("""
    group groups condition cond conditions treatment diagnosis patient cohort site version experiment experimentname sex gender session
""")
MARKER = _names("""
    trialtype task phase screen part stage practice ispractice practise training istraining trialkind testpart exptpart event blocktype
    section component
""")
NO_TRIAL = _names("""
    practice practise training train instruction instructions welcome consent fullscreen preload survey debrief debriefing fixation
    demographics break feedback end browsercheck callfunction loading intro tutorial example demo thanks attentioncheck
""")
"""What a marker says of rows that are no trials of the task."""


def names_of(field: Field) -> tuple[str, ...]:
    """The plain names under which a field is known."""
    name = plain(field.name)
    by_kind = TIME if field.kind == "positive" else OUTCOME if field.by == "task" else CHOICE
    chosen = next((names for names in (CHOICE, OUTCOME, CORRECT, TIME) if name in names), by_kind)
    return (name, *(one for one in chosen if one != name))
