"""What a run is: its name, its settings, its progress and its record."""
