"""Accuracies as the papers print them, for tests of ranks and of significance."""

import numpy as np

from thalweg.papers.plan import read_published


def _table(paper: str, file: str) -> np.ndarray:
    return np.array([list(line.values()) for line in read_published(paper, file).values()])


SDF_METHODS = ("ARF", "SRP", "LB", "OSB", "ODL", "SDF", "SDF(0.7)")
SDF = _table("sdf", "table2.csv")
"""Streaming Deep Forest, Table 2: prequential accuracy in per cent."""

COMPRESSED = _table("csknn", "table4-k5.csv")
"""Compressed kNN, Table 4, k = 5: CS-kNN, CS-samkNN, HT-kNN, PCA-kNN, kNN."""

COMPRESSED_ENSEMBLES = _table("csknn", "table7.csv")
"""Compressed kNN, Table 7: CS-kNN^LB, CSB-kNN, CS-HTree^LB, CS-ARF."""

CKDT = _table("ckdt", "table2-pacc.csv")
"""CKDT, Table 2, pACC: MDDT, LRTCR, OPOR, LRTD, CKDT; the four synthetic rows are means over 13 orders."""
