"""Neural networks that learn a stream row by row."""
