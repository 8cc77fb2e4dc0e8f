"""What runs longer than a test: mutations of saved models, fuzzed calls, kills, endurance. ``make soak`` runs all."""
