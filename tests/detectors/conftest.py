"""Let the tests import the slow twins: ``from twins.adwin import SlowADWIN``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
