"""Models in files: arrays with a checksum, and snapshots that continue bit for bit."""
