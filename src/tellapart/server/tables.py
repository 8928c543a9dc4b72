"""What is kept. One database holds one experiment.

Who a participant is on a recruiting platform is in a table of its own, `identities`, which no export reads. There is no column for a
network address, a browser or a name.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

experiment = Table(
    "experiment",
    metadata,
    Column("id", Integer, primary_key=True),  # always 1: the row that is locked while places are given
    Column("study", String(200), nullable=False),
    Column("fingerprint", String(16), nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("paused", Boolean, nullable=False),
    Column("declined", Integer, nullable=False),
    Column("number", Integer, nullable=False),  # participants so far, forgotten ones included: labels are never given twice
)

conditions = Table(
    "conditions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(8), nullable=False),
    Column("content", Text, nullable=False, unique=True),
)

sessions = Table(
    "sessions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("label", String(16), nullable=False, unique=True),
    Column("key", String(64), nullable=False, unique=True),  # the fingerprint of the key that the page holds
    Column("seed", BigInteger, nullable=False),
    Column("condition", ForeignKey("conditions.id"), nullable=False),
    Column("order", JSON, nullable=False),  # block of the design at each place in time
    Column("simulated", Boolean, nullable=False),
    Column("truth", JSON(none_as_null=True)),  # model and parameters of a simulated participant
    Column("status", String(16), nullable=False),  # "taking part", "finished", "screened out"
    Column("started", Double, nullable=False),  # seconds since 1970
    Column("seen", Double, nullable=False),
    Column("ended", Double),
    Column("away", Boolean, nullable=False),
    Column("position", Integer, nullable=False),  # the block being played, in order of time
    Column("attempt", Integer, nullable=False),
    Column("trial", Integer, nullable=False),  # the next trial of that block
    Column("passed", Boolean, nullable=False),  # the questions about the instructions
    Column("failures", Integer, nullable=False),  # of the questions
    Column("environment", JSON(none_as_null=True)),  # what the task's environment saved after the last trial
    Index(None, "simulated", "status"),
)

identities = Table(
    "identities",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("session", ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("platform", String(16), nullable=False),
    Column("person", String(128), nullable=False),
    Column("study", String(128)),
    Column("submission", String(128)),
    UniqueConstraint("platform", "person"),
)

blocks = Table(
    "blocks",
    metadata,
    Column("session", ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("block", Integer, nullable=False),
    Column("row", JSON, nullable=False),
    Column("trials", Integer, nullable=False),
    Column("places", JSON, nullable=False),  # category of the option at each place on the screen
    Column("stimuli", JSON, nullable=False),
    Column("source", String(16), nullable=False),
    Column("why", Text, nullable=False),
    Column("environment", JSON, nullable=False),  # at the start of the block
    Column("started", Double, nullable=False),
)

trials = Table(
    "trials",
    metadata,
    Column("session", ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("trial", Integer, primary_key=True),
    Column("answer", JSON(none_as_null=True)),  # as it was given on the screen; null if the trial was missed
    Column("seconds", Double),
    Column("responses", JSON, nullable=False),
    Column("outcomes", JSON, nullable=False),
    Column("missed", Boolean, nullable=False),
    Column("saved", Double, nullable=False),
)
