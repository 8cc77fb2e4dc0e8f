"""Synthetic streams, one per file: the class people call, and beside it the compiled arithmetic.

``rng`` says where the random numbers come from. "splitmix", the default, is the library's own generator: fast, and in
the state as one number. "java" is ``java.util.Random``: with the settings of MOA the rows are MOA's, bit for bit.
"""
