"""Live streams: topics, streams and tables of other programs as sources, and as places for answers."""
