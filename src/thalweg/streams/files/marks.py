"""What stands for a missing value in a text file, unless the caller says otherwise."""

MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL")
