"""The tasks that the engine runs, one file each."""
