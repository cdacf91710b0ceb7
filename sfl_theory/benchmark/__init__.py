"""Machine-checked labels as a folder of its own: records, their checker, a data card.

`records` makes a JSON object of a claim's statement or of a mutant, `card` describes
them, and `check` replays them from the folder alone.
"""
