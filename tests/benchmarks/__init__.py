"""Measurements side by side, for ``make bench``. ``tests/`` goes on the path for what the tests share, as pytest puts it there."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
