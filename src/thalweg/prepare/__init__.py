"""Preprocessing that learns with the stream: transformers, and pipelines of them in front of a learner."""
