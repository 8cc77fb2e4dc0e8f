"""The CSV reader: cells, numbers, times and words, in compiled code."""
