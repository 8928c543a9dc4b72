"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "conditions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=8), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_conditions")),
        sa.UniqueConstraint("content", name=op.f("uq_conditions_content")),
    )
    op.create_table(
        "experiment",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study", sa.String(length=200), nullable=False),
        sa.Column("fingerprint", sa.String(length=16), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.Column("declined", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_experiment")),
    )
    op.create_table(
        "sessions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("label", sa.String(length=16), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("condition", sa.Integer(), nullable=False),
        sa.Column("order", sa.JSON(), nullable=False),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("truth", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("started", sa.Double(), nullable=False),
        sa.Column("seen", sa.Double(), nullable=False),
        sa.Column("ended", sa.Double(), nullable=True),
        sa.Column("away", sa.Boolean(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("trial", sa.Integer(), nullable=False),
        sa.Column("passed", sa.Boolean(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("environment", sa.JSON(none_as_null=True), nullable=True),
        sa.ForeignKeyConstraint(["condition"], ["conditions.id"], name=op.f("fk_sessions_condition")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
        sa.UniqueConstraint("key", name=op.f("uq_sessions_key")),
        sa.UniqueConstraint("label", name=op.f("uq_sessions_label")),
    )
    op.create_index(op.f("ix_sessions_simulated_status"), "sessions", ["simulated", "status"], unique=False)
    op.create_table(
        "blocks",
        sa.Column("session", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("block", sa.Integer(), nullable=False),
        sa.Column("row", sa.JSON(), nullable=False),
        sa.Column("trials", sa.Integer(), nullable=False),
        sa.Column("places", sa.JSON(), nullable=False),
        sa.Column("stimuli", sa.JSON(), nullable=False),
        sa.Column("source", sa.String(length=16), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("environment", sa.JSON(), nullable=False),
        sa.Column("started", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["session"], ["sessions.id"], name=op.f("fk_blocks_session"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("session", "position", "attempt", name=op.f("pk_blocks")),
    )
    op.create_table(
        "identities",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("session", sa.Integer(), nullable=False),
        sa.Column("platform", sa.String(length=16), nullable=False),
        sa.Column("person", sa.String(length=128), nullable=False),
        sa.Column("study", sa.String(length=128), nullable=True),
        sa.Column("submission", sa.String(length=128), nullable=True),
        sa.ForeignKeyConstraint(["session"], ["sessions.id"], name=op.f("fk_identities_session"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_identities")),
        sa.UniqueConstraint("platform", "person", name=op.f("uq_identities_platform_person")),
    )
    op.create_index(op.f("ix_identities_session"), "identities", ["session"], unique=False)
    op.create_table(
        "trials",
        sa.Column("session", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("trial", sa.Integer(), nullable=False),
        sa.Column("answer", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("responses", sa.JSON(), nullable=False),
        sa.Column("outcomes", sa.JSON(), nullable=False),
        sa.Column("missed", sa.Boolean(), nullable=False),
        sa.Column("saved", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["session"], ["sessions.id"], name=op.f("fk_trials_session"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("session", "position", "attempt", "trial", name=op.f("pk_trials")),
    )


def downgrade() -> None:
    op.drop_table("trials")
    op.drop_index(op.f("ix_identities_session"), table_name="identities")
    op.drop_table("identities")
    op.drop_table("blocks")
    op.drop_index(op.f("ix_sessions_simulated_status"), table_name="sessions")
    op.drop_table("sessions")
    op.drop_table("experiment")
    op.drop_table("conditions")
