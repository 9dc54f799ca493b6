"""The state on disk: records, journal, ledger, claims, sealed values. The only package that imports SQLAlchemy and Alembic.

``opening.open_state`` is the way in; ``memory`` is the same promises without a disk.
"""
