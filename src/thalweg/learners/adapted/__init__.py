"""Models of other libraries as learners, and learners that begin anew at a drift."""
