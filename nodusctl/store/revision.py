"""What is to be known of the schema without SQLAlchemy, which the tables themselves need."""

REVISION = "0004"
"""The revision ``schema.METADATA`` is at."""
PASSES_KEPT = 300
"""How many passes are remembered: a day of one every five minutes."""
