"""Image data sets: readers of their standard files, and batches on the device."""
