"""The one door for inputs: whatever people hold becomes C-contiguous float64 rows, or one clear sentence.

Nothing behind the door checks again, and nothing is learned before the whole input has passed. ``rows`` and ``one_row``
read plain arrays and dicts; other arrays, frames, sparse matrices, tensors and weights each have a file.
"""

from thalweg.core.door.entrance import one_row, rows, usual_row
from thalweg.core.door.frames import arrow_table, from_frame, is_text, named_record
from thalweg.core.door.nominal import nominal_codes
from thalweg.core.door.sample_weights import weights
from thalweg.core.door.sparse import Rows, is_sparse, sparse_rows, take_rows
from thalweg.core.door.tensors import MOST_MODES, grown_rows
from thalweg.core.door.texts import hashed_texts, hashed_values
from thalweg.core.door.times import stamp

__all__ = [
    "MOST_MODES",
    "Rows",
    "arrow_table",
    "from_frame",
    "grown_rows",
    "hashed_texts",
    "hashed_values",
    "is_sparse",
    "is_text",
    "named_record",
    "nominal_codes",
    "one_row",
    "rows",
    "sparse_rows",
    "stamp",
    "take_rows",
    "usual_row",
    "weights",
]
