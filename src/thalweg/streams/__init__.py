"""Where records come from: generators, drift, arrays, files, data sets."""
