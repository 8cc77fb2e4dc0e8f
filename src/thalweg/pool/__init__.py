"""Many trees in one set of tables: nodes, statistics of leaves, splits, growth."""
