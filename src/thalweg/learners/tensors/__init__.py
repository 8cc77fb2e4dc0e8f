"""Learners of tensors: CKDT, its forest, and the four methods it is compared with."""
