"""Training apart from answering: one process learns and publishes versions, others answer from the newest."""
