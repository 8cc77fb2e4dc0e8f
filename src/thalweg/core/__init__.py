"""Schema, chunks, labels, the door every input passes, the protocols and the one abstract Classifier."""
