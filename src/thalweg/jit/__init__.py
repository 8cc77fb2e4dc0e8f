"""Compiled primitives with no algorithm in them."""
