"""Records that are tensors: their forms, the subspaces of their flattenings, and how far apart two of them lie."""
