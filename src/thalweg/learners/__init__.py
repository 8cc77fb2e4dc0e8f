"""The learners, a room for each family."""
