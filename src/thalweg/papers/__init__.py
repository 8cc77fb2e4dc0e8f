"""The papers' own experiments, run again, with the published numbers beside ours."""

from thalweg.papers.plan import NAMES, SCALES, read_plan
from thalweg.papers.reproduction import Reproduction, reproduce

__all__ = ["NAMES", "SCALES", "Reproduction", "read_plan", "reproduce"]
