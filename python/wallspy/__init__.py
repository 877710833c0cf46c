"""The wallspy command as a Python package, for `python -m wallspy`; there is nothing to import."""
