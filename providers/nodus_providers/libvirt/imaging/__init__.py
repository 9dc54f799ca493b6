"""Base images made from Debian packages alone.

What goes in stands in ``recipe``, what the computer needs in ``computer``, how it is put together in ``building``.
"""
