"""Every table, plot, picture and page."""
